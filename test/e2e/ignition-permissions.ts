/** An Ignition server that lacks one right, from the first look at its Secrets to what fetches leave behind. */
import { readFileSync } from "node:fs";
import { TokenStore } from "../../src/cluster/ignition/server/tokens.js";
import { createKubeApi } from "../../src/cluster/kube/client.js";
import { ListWatch } from "../../src/cluster/kube/list-watch.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { WorkerObjects } from "../../src/cluster/nodes/csr/inventory-workers.js";
import { CLAIMS_CONFIG_MAP, ignitionServerRules } from "../../src/cluster/nodes/install/render.js";
import type { Secret } from "../../src/cluster/nodes/objects.js";
import { payloadSource } from "../../src/cluster/nodes/serving/payload.js";
import { claimsInConfigMap, Recorder } from "../../src/cluster/nodes/serving/recorder.js";
import { TokenController } from "../../src/cluster/nodes/serving/token-controller.js";
import { withExpiry } from "../../src/cluster/nodes/token/token-secret.js";
import { workerResource } from "../../src/cluster/nodes/workers/resource.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import type { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ingredientObjects, tokenSecret } from "./ignition-lab.js";
import { isAbout, isAllowed, oneByOne, type Right, ruleOf, titleOf } from "./rights.js";

const SOON = 60_000;
const HASH = "11111111";
const POOL = "clusters/workers";
const rbac = "rbac.authorization.k8s.io";

export const serverRights: readonly Right[] = ignitionServerRules.flatMap(oneByOne);

export interface PermissionFixture {
  readonly scope: Scope;
  readonly plane: ControlPlane;
  /** Of --payload. */
  readonly recipe: string;
}

/** In a namespace of its own; resolves to what it complained of. Without a right to miss it does all its work first. */
export async function complaintsWithout(fixture: PermissionFixture, missing: Right | undefined): Promise<string[]> {
  const index = missing === undefined ? "none" : String(serverRights.indexOf(missing));
  const [namespace, user] = [`without-${index}`, `server-${index}`];
  const granted = serverRights.filter((right) => right !== missing);
  await fixture.plane.admin.apply(workerResource, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  await fixture.plane.admin.apply(...objectsIn(namespace, user, granted));
  const api = playedBy(user, fixture);
  for (const right of granted) await until(titleOf(right), SOON, () => isAllowed(api, right, namespace), 20);
  const server = new Server(api, namespace, fixture.recipe);
  try {
    await server.liveUntil((errors) => missing !== undefined && errors.some((error) => isAbout(error, missing)));
  } finally {
    await server.stop();
    api.close();
  }
  return server.errors;
}

/** As `drawbridge ignition serve` has them, but for the port that machines come to. */
class Server {
  readonly errors: string[] = [];
  readonly #api: KubeApi;
  readonly #namespace: string;
  readonly #controller: TokenController;
  readonly #recorder: Recorder;
  readonly #secrets: ListWatch<Secret>;
  readonly #workers: WorkerObjects;
  #served = 0;

  constructor(api: KubeApi, namespace: string, recipe: string) {
    const onError = (sentence: string) => this.errors.push(sentence);
    const book = new TokenStore();
    this.#api = api;
    this.#namespace = namespace;
    this.#workers = new WorkerObjects(api, namespace);
    this.#controller = new TokenController({
      ...{ api, namespace, tokens: book, onError },
      source: payloadSource(api, namespace, recipe),
    });
    this.#recorder = new Recorder({
      ...{ api, namespace, onError, makesEvents: true, audit: () => {} },
      claims: [claimsInConfigMap(api, { namespace, name: CLAIMS_CONFIG_MAP })],
      secret: (name) => this.#controller.secret(name),
    });
    this.#secrets = new ListWatch<Secret>({
      api,
      path: `/api/v1/namespaces/${namespace}/secrets`,
      onChange: (items) => this.#controller.changed(items),
      onError: (reason) => onError((reason as Error).message),
    });
  }

  /** Until a complaint, or until there is nothing more that it could do. */
  async liveUntil(isEnough: (errors: readonly string[]) => boolean): Promise<void> {
    this.#secrets.start();
    const onError = (reason: unknown) => void this.errors.push((reason as Error).message);
    this.#workers.start({ onChange: () => {}, onError });
    try {
      await until("an end of the server's work", SOON, async () => {
        if (isEnough(this.errors)) return true;
        this.#serve();
        return this.errors.length === 0 && this.#workers.synced && (await this.#isDone());
      });
    } catch (reason) {
      throw new Error(`${(reason as Error).message}; it complained: ${this.errors.join("; ")}`, { cause: reason });
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#secrets.stop(), this.#workers.stop(), this.#controller.stop()]);
    await this.#recorder.close();
  }

  /** A machine that fetched, as soon as its Secret is known. */
  #serve(): void {
    const secret = `token-workers-${HASH}`;
    if (this.#controller.secret(secret) === undefined) return;
    const claimed = { pool: POOL, targetConfigVersion: HASH };
    // Each by another worker: every claim is one more to be written down.
    const worker = `worker-${++this.#served}`;
    this.#recorder.served({ at: Date.now(), remote: "192.0.2.1", pool: POOL, secret, worker, claimed });
  }

  /** Payload made, mark set, old Secret gone, several claims written one after the other, an event. */
  async #isDone(): Promise<boolean> {
    const read = <T extends KubeObject>(path: string) =>
      this.#api.get<T & { data?: Record<string, string> }>(`/api/v1/namespaces/${this.#namespace}/${path}`);
    const secret = await read<Secret>(`secrets/token-workers-${HASH}`);
    const claims = (await read(`configmaps/${CLAIMS_CONFIG_MAP}`)).data?.claims ?? "";
    const isReached = JSON.stringify(secret.metadata?.annotations).includes("ignition-reached");
    const isOldGone = this.#controller.secret("token-workers-44444444") === undefined;
    return isReached && secret.data?.payload !== undefined && isOldGone && claims.split("worker:").length > 10;
  }
}

function objectsIn(namespace: string, user: string, granted: readonly Right[]): KubeObject[] {
  const name = "ignition-server";
  const threeHoursAgo = Date.now() - 3 * 3_600_000;
  return [
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata: { name, namespace }, rules: granted.map(ruleOf) } as KubeObject,
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: { name, namespace },
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [{ apiGroup: rbac, kind: "User", name: user }],
    } as KubeObject,
    ...ingredientObjects.map((object) => ({ ...object, metadata: { ...object.metadata, namespace } })),
    tokenSecret(HASH, "0b8ad9c5-7c77-4a31-8c55-2d0a5f1c9e10", { namespace }),
    withExpiry(tokenSecret("44444444", "d2a2e9f3-1b63-4c20-9b30-7a1f8e4c5b66", { namespace }), threeHoursAgo)!,
  ];
}

/** By an administrator, who is let do what that user may. */
function playedBy(user: string, { plane, scope }: PermissionFixture): KubeApi {
  const read = (file: string) => readFileSync(scope.file(file), "utf8");
  const tls = { ca: readFileSync(plane.ca.cert, "utf8"), cert: read("admin.crt"), key: read("admin.key") };
  const headers = { "impersonate-user": user };
  return createKubeApi({ server: plane.api.url, credentials: async () => ({ headers, tls }) }, { qps: -1 });
}
