/** The kubeconfig that machines join with: when it is made, renewed and left alone, by a clock of the test's own. */
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { type CredentialAnswer, credentialData, readCredential } from "../credential/credential.js";
import { tokenFor } from "../credential/testing/joined-api.js";
import { defaultPolicy } from "../csr/request-context.js";
import { annotation, BOOTSTRAP_SECRET, type ConfigMap, type Secret } from "../objects.js";
import type { View } from "../pool/input.js";
import { createMemoryApi } from "../testing/memory-api.js";
import { credentialIssuer, keepCredential } from "./bootstrap.js";
import { Writer } from "./controller.js";
import { controllerMetrics, failureEvents } from "./run.js";
import { clusterMap, makePool, namespace, PoolFixture } from "./testing/fixture.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LIFE_MS = 7 * DAY_MS;
const START = Date.parse("2031-01-01T00:00:00Z");

let pem: string;
let otherPem: string;
beforeAll(async () => {
  pem = (await createAuthority({ commonName: "kubernetes" })).certificatePem;
  otherPem = (await createAuthority({ commonName: "other" })).certificatePem;
});

const accepted: CredentialAnswer = {
  outcome: "accepted",
  identity: { username: defaultPolicy.bootstrapUser, groups: defaultPolicy.bootstrapGroups },
  mayRequest: true,
};
const failing = (outcome: "refused" | "server" | "untried"): CredentialAnswer => ({
  outcome,
  error: new KubeApiError("its words", { status: outcome === "refused" ? 401 : 0 }),
});

let api: KubeApi;
let now: number;
let issued: string[];
let complaints: string[];
let answers: CredentialAnswer[];
let tokens: number;

beforeEach(async () => {
  api = createMemoryApi();
  [now, issued, complaints, answers, tokens] = [START, [], [], [], 0];
  await api.create(collectionPath("ConfigMap", namespace), clusterOf({}));
});

const clusterOf = (change: Readonly<Record<string, string>>, name = "demo"): ConfigMap => ({
  ...clusterMap,
  metadata: { ...clusterMap.metadata, name },
  data: { ...clusterMap.data, apiServerCA: pem, ...change },
});

const issuer = {
  token: async () => {
    tokens += 1;
    return tokenFor(now, now + LIFE_MS);
  },
  attempt: async () => answers.shift() ?? accepted,
};

async function view(): Promise<View> {
  const byPath = async <T extends KubeObject>(kind: "ConfigMap" | "Secret") => {
    const { items } = await api.list<T>(collectionPath(kind, namespace));
    return new Map(items.map((item) => [`${namespace}/${item.metadata?.name}`, item]));
  };
  return {
    pools: new Map(),
    configMaps: await byPath<ConfigMap>("ConfigMap"),
    secrets: await byPath<Secret>("Secret"),
  };
}

async function look(change: Partial<Parameters<typeof keepCredential>[0]> = {}) {
  return keepCredential({
    ...{ view: await view(), namespace, issuer, writer: new Writer(api, () => true), now: () => now },
    onIssued: (sentence) => issued.push(sentence),
    onError: (sentence) => complaints.push(sentence),
    ...change,
  });
}

const path = namedPath("Secret", { namespace, name: BOOTSTRAP_SECRET });
const stored = () => api.get<Secret>(path);
const credential = async () => readCredential(await stored());
const publish = (map: ConfigMap) => api.update(namedPath("ConfigMap", { namespace, name: "demo" }), map);
const byHand = (labels?: Readonly<Record<string, string>>): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: BOOTSTRAP_SECRET, namespace, ...(labels && { labels }) },
  data: credentialData(
    { cluster: "mine", server: "https://old.example", authorityPem: pem },
    tokenFor(now, now + 30 * DAY_MS),
  ),
});

describe("the bootstrap kubeconfig", () => {
  test("is made of the cluster's ConfigMap and a token, and looked at again at half of the token's life", async () => {
    expect(await look()).toBe(START + LIFE_MS / 2);
    expect(await credential()).toMatchObject({
      ...{ server: "https://api.example:6443", authorityPem: pem, user: defaultPolicy.bootstrapUser },
      life: { from: START, until: START + LIFE_MS },
    });
    expect((await stored()).metadata?.labels).toEqual({ "app.kubernetes.io/managed-by": "drawbridge" });
    expect([issued, complaints]).toEqual([
      ["the bootstrap kubeconfig was made, until 2031-01-08T00:00:00.000Z: there is none that can be used"],
      [],
    ]);
  });

  test("stays as it is until half of its life has passed, and is then made again", async () => {
    await look();
    now = START + LIFE_MS / 2 - 1;
    expect(await look()).toBe(START + LIFE_MS / 2);
    expect(tokens).toBe(1);
    now += 1;
    expect(await look()).toBe(now + LIFE_MS / 2);
    expect((await credential()).life?.from).toBe(now);
    expect(issued.at(-1)).toContain("half of its life has passed");
  });

  test.each([
    ["another API server", () => ({ apiServer: "https://new.example:6443/" }), "another API server"],
    ["another authority", () => ({ apiServerCA: otherPem }), "another authority"],
  ])("is made again when the cluster names %s", async (_, change, why) => {
    await look();
    await publish(clusterOf(change()));
    await look();
    expect([tokens, issued.at(-1)]).toEqual([2, expect.stringContaining(why)]);
    await look();
    expect(tokens).toBe(2);
  });

  test("is made again when its API server refuses it, but not one that is younger than a minute", async () => {
    await look();
    answers = [failing("refused")];
    expect(await look()).toBe(START + 60_000);
    now += 60_000;
    answers = [failing("refused")];
    await look();
    expect([tokens, issued.at(-1)]).toEqual([2, expect.stringContaining("refuses the former one")]);
  });

  test("is made where the API server cannot be tried from here: machines may reach it", async () => {
    answers = [failing("untried")];
    await look();
    expect([(await credential()).server, complaints]).toEqual(["https://api.example:6443", []]);
  });

  test("is not replaced by one that its API server refuses, and the remedy is named", async () => {
    await look();
    await publish(clusterOf({ apiServer: "https://another-cluster.example" }));
    answers = [failing("refused")];
    expect(await look()).toBe(START + 60_000);
    expect((await credential()).server).toBe("https://api.example:6443");
    expect(complaints).toEqual([expect.stringContaining("machines join another cluster")]);
    expect(complaints[0]).toContain("--hosted-kubeconfig");
  });

  test.each([
    ["the authority is not that of the API server", failing("server"), "cannot join at https://api.example:6443"],
    ["its user may not ask for certificates", { ...accepted, mayRequest: false }, "drawbridge nodepool install"],
  ])("is complained of when %s", async (_, answer, words) => {
    answers = [answer as CredentialAnswer];
    await look();
    expect(complaints).toEqual([expect.stringContaining(words)]);
  });

  test.each([
    ["has no API server yet", { apiServer: "" }, undefined],
    ["has no authority", { apiServerCA: "" }, "apiServerCA of the ConfigMap clusters/demo holds no certificate"],
    [
      "has an API server without TLS",
      { apiServer: "http://a" },
      "apiServer of the ConfigMap clusters/demo is not a URL",
    ],
  ])("is not made while the cluster %s", async (_, change, why) => {
    await publish(clusterOf(change));
    const outcome = await look().catch((reason: Error) => reason.message);
    expect(outcome).toEqual(why === undefined ? "wait" : expect.stringContaining(why));
    expect(tokens).toBe(0);
  });

  test("is not made for two clusters that differ, and is made for two that do not", async () => {
    const other = (change: Readonly<Record<string, string>>) => clusterOf(change, "other");
    await api.create(collectionPath("ConfigMap", namespace), other({ apiServer: "https://b.example" }));
    await expect(look()).rejects.toThrow("the clusters demo and other have different API servers");
    await api.update(namedPath("ConfigMap", { namespace, name: "other" }), other({}));
    await look();
    expect(tokens).toBe(1);
  });

  test.each([
    ["does not say when it ends", () => "opaque"],
    ["has ended by this controller's clock", () => tokenFor(START - LIFE_MS, START - 1)],
  ])("is not written with a token that %s", async (_, token) => {
    await expect(look({ issuer: { ...issuer, token: async () => token() } })).rejects.toThrow(
      "see that the clocks are right",
    );
    await expect(stored()).rejects.toMatchObject({ status: 404 });
  });
});

describe("a bootstrap kubeconfig that a person made", () => {
  test("is left alone, and that is said; a week before its end also when it ends", async () => {
    const secret = await api.create(collectionPath("Secret", namespace), byHand());
    expect(await look()).toBe(START + 23 * DAY_MS);
    now = START + 25 * DAY_MS;
    expect(await look()).toBe("wait");
    now = START + 31 * DAY_MS;
    await look();
    expect(await stored()).toEqual(secret);
    expect([tokens, complaints]).toEqual([
      0,
      [
        "the Secret clusters/bootstrap-kubeconfig was not made by drawbridge, so it stays as it is; give it the label app.kubernetes.io/managed-by=drawbridge, or delete it, to have it made and renewed",
        expect.stringContaining("though it ends on 2031-01-31T00:00:00.000Z"),
        expect.stringContaining("though it ended on 2031-01-31T00:00:00.000Z"),
      ],
    ]);
  });

  test("is taken over when it gets the label", async () => {
    await api.create(collectionPath("Secret", namespace), byHand({ "app.kubernetes.io/managed-by": "drawbridge" }));
    await look();
    expect([(await credential()).server, tokens, complaints]).toEqual(["https://api.example:6443", 1, []]);
  });
});

describe("the token of a bootstrap kubeconfig", () => {
  test("is asked of the one ServiceAccount, for the API server's own audience", async () => {
    const asked: [string, KubeObject][] = [];
    const create = async (at: string, object: KubeObject) => {
      asked.push([at, object]);
      return { status: { token: "t" } } as KubeObject;
    };
    expect(await credentialIssuer({ ...api, create } as KubeApi).token()).toBe("t");
    expect(asked).toEqual([
      [
        "/api/v1/namespaces/openshift-machine-config-operator/serviceaccounts/node-bootstrapper/token",
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7 * 24 * 3600 } },
      ],
    ]);
  });

  test.each([403, 404])("that is answered with %i names who can help", async (status) => {
    const create = async () => {
      throw new KubeApiError("the API's words", { status });
    };
    await expect(credentialIssuer({ ...api, create } as KubeApi).token()).rejects.toMatchObject({
      ...{ code: "DB_NODE_CREDENTIAL", message: expect.stringContaining("the API's words") },
      remedy: expect.stringContaining("drawbridge nodepool install"),
    });
  });
});

describe("a controller that makes the bootstrap kubeconfig", () => {
  let fixture: PoolFixture;
  beforeEach(() => {
    fixture = new PoolFixture();
  });
  afterEach(() => fixture.close());

  const soon = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 10_000, interval: 20 });
  const itsCredential = async () => readCredential(await fixture.api.get<Secret>(path));
  const itsIssuer = {
    ...issuer,
    token: async () => tokenFor(fixture.clock.date(), fixture.clock.date() + LIFE_MS),
  };
  const hash = async () => (await fixture.pool()).metadata?.annotations?.[annotation.currentConfigVersion];

  async function start(change: Parameters<PoolFixture["start"]>[0] = {}) {
    await fixture.addObjects(makePool());
    await fixture.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), clusterOf({}));
    return fixture.start({ credentialIssuer: itsIssuer, resyncMs: 50, ...change });
  }

  test("renews it in time, and says its end as a metric; pools keep their hash and user data", async () => {
    const controller = await start();
    const first = await soon(itsCredential);
    await soon(async () => expect((await fixture.pool()).status?.version).toBe("4.18.0"));
    const [before, userData] = [await hash(), await fixture.secrets("user-data-")];
    fixture.aheadMs = LIFE_MS / 2 + HOUR_MS;
    const second = await soon(async () => {
      const found = await itsCredential();
      expect(found.life?.from).toBeGreaterThan(first.life?.from ?? 0);
      return found;
    });
    expect([await hash(), await fixture.secrets("user-data-")]).toEqual([before, userData]);
    const text = () => controllerMetrics(() => controller).registry.text();
    await soon(async () =>
      expect(text()).toContain(
        `drawbridge_nodepool_bootstrap_credential_expiry_seconds ${(second.life?.until ?? 0) / 1000}\n`,
      ),
    );
    expect(fixture.errors).toEqual([]);
  });

  test("reports what is wrong with it once, as an event of the cluster's ConfigMap", async () => {
    const events: KubeObject[] = [];
    const create = async (_: string, event: KubeObject) => {
      events.push(event);
      return event;
    };
    fixture.pace = 20;
    const refusing = { ...itsIssuer, token: () => Promise.reject(new Error("no token today")) };
    await start({
      credentialIssuer: refusing,
      onFailure: failureEvents({ ...fixture.api, create } as KubeApi, namespace, () => {}),
    });
    await soon(async () =>
      expect(fixture.passes.filter((key) => key === "bootstrap-credential").length).toBeGreaterThan(3),
    );
    expect(events).toMatchObject([
      {
        ...{ reason: "BootstrapCredential", message: "no token today" },
        involvedObject: { kind: "ConfigMap", name: "demo" },
      },
    ]);
    expect(fixture.errors.filter((sentence) => sentence === "no token today")).toHaveLength(1);
  });
});
