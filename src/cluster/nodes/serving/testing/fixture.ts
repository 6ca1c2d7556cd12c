/** A directory with one token Secret, which behaves as an API server does, replicas that serve it, and a manual clock. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { eventually } from "../../../../base/testing/eventually.js";
import { ManualClock } from "../../../../base/testing/manual-clock.js";
import { TokenStore } from "../../../ignition/server/tokens.js";
import type { KubeApi } from "../../../kube/port.js";
import { createDirectoryApi } from "../../controller/directory.js";
import type { Secret } from "../../objects.js";
import { makeTokenSecret, readTokenSecret, type TokenSecretContent } from "../../token/token-secret.js";
import { TokenController, type TokenControllerOptions } from "../token-controller.js";

export const namespace = "clusters-demo";
export const collection = `/api/v1/namespaces/${namespace}/secrets`;
export const path = `${collection}/token-workers-11111111`;
export const start = Date.parse("2031-01-01T00:00:00Z");

export const content: TokenSecretContent = {
  namespace,
  pool: { namespace: "clusters", name: "workers" },
  hash: "11111111",
  upgradeType: "Replace",
  token: "token-0",
  releaseImage: "",
  releaseVersion: "4.18.0",
  rawConfig: "",
  pullSecretHash: "",
  trustBundleHash: "",
  configurationHash: "",
  stream: "",
};

export const named = { before: "", after: "" };

export class ServingFixture {
  readonly tokens: TokenStore;
  readonly controller: TokenController;
  readonly errors: string[] = [];
  rotations = 0;
  /** What the source makes; undefined: it cannot. */
  text: string | undefined = '{"ignition":{"version":"3.2.0"}}';

  constructor(given: { api: KubeApi; clock: ManualClock; name: string }, more: Partial<TokenControllerOptions> = {}) {
    const { api, clock, name } = given;
    let tokens = 0;
    this.tokens = new TokenStore(() => clock.date());
    this.controller = new TokenController({
      ...{ api, namespace, clock, tokens: this.tokens },
      source: async () => {
        const { text } = this;
        if (text === undefined) throw new DrawbridgeError("DB_PAYLOAD", "the pull secret does not exist yet");
        return { text, named };
      },
      newToken: () => `${name}-${++tokens}`,
      onRotated: () => this.rotations++,
      onError: (sentence) => this.errors.push(sentence),
      ...more,
    });
  }

  knows(...tokens: readonly string[]): boolean[] {
    return tokens.map((token) => this.tokens.find(token) !== undefined);
  }
}

export class TokenFixture {
  readonly clock = new ManualClock(start);
  readonly #directory = mkdtempSync(join(tmpdir(), "drawbridge-serving-"));
  readonly api: KubeApi = createDirectoryApi({ directory: this.#directory });
  readonly #replicas: ServingFixture[] = [];

  static async open(change: Partial<TokenSecretContent> = {}): Promise<TokenFixture> {
    const fixture = new TokenFixture();
    await fixture.api.create(collection, makeTokenSecret({ ...content, ...change }, start));
    return fixture;
  }

  replica(name: string, more?: Partial<TokenControllerOptions>): ServingFixture {
    const replica = new ServingFixture({ api: this.api, clock: this.clock, name }, more);
    this.#replicas.push(replica);
    return replica;
  }

  /** As a watch would tell them. */
  async see(...who: readonly ServingFixture[]): Promise<void> {
    const { items } = await this.api.list<Secret>(collection);
    const seen = new Map(items.map((secret) => [`${namespace}/${secret.metadata?.name}`, secret]));
    for (const one of who) one.controller.changed(seen);
  }

  /** As time passes every replica looks once a minute and sees what others did. */
  async pass(ms: number, ...who: readonly ServingFixture[]): Promise<void> {
    const resting = () => eventually(() => expect(this.clock.waiting.length).toBe(who.length));
    await resting();
    this.clock.advance(ms);
    await resting();
    await this.see(...who);
    await resting();
  }

  stored(): Promise<Secret> {
    return this.api.get<Secret>(path);
  }

  async outcome() {
    return readTokenSecret(await this.stored()).outcome;
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.splice(0).map(({ controller }) => controller.stop()));
    rmSync(this.#directory, { recursive: true });
  }
}
