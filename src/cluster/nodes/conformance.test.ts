/**
 * What a replacement of HyperShift's part in the bootstrap of workers has to do, one test an item. Item 16 needs Ignition's
 * own Go module: test/interop/ignition/conformance.test.ts. docs/conformance.md lists them all.
 */
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { makePayload, TokenStore } from "../ignition/server/tokens.js";
import { namedPath } from "../kube/paths.js";
import type { KubeApi } from "../kube/port.js";
import { clusterMap, makePool, PoolFixture, namespace as poolNamespace } from "./controller/testing/fixture.js";
import { decide } from "./csr/decide.js";
import { Networks } from "./csr/names.js";
import { type ClusterState, defaultPolicy } from "./csr/request-context.js";
import type { RequestKind } from "./csr/signing-request.js";
import {
  configurationHash,
  fnv1a,
  globalConfig,
  poolHashes,
  pullSecretHash,
  rawConfig,
  trustBundleHash,
} from "./hash/pool-hash.js";
import { globalConfigVectors, inputVectors, poolVectors } from "./hash/testing/vectors.js";
import {
  annotation,
  type ConfigMap,
  encoded,
  SERVING_CERTIFICATE_SECRET,
  type Secret,
  secretNames,
  secretText,
} from "./objects.js";
import { bootstrapKubeconfig, pullSecret } from "./payload/testing/inputs.js";
import { type PassInput, type PoolCluster, poolTargetOf } from "./pool/input.js";
import { reconcile } from "./pool/reconcile.js";
import { payloadSource } from "./serving/payload.js";
import { collection, namespace, TokenFixture } from "./serving/testing/fixture.js";
import { bearer, startIgnition } from "./testing/ignition-server.js";
import { afterWrites, cluster, makeInput, poolWith, startTime } from "./testing/pools.js";
import {
  approvedRecord,
  clusterState,
  inventoryOf,
  nodeOf,
  pool,
  type RequestChange,
  signingRequest,
  worker,
} from "./testing/requests.js";
import { cleanUpWrites, pack, ROTATE_AFTER_MS, readTokenSecret, unpack, withExpiry } from "./token/token-secret.js";
import { pointerConfig } from "./token/user-data.js";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const soon = <T>(check: () => Promise<T> | T): Promise<T> => vi.waitFor(check, { timeout: 10_000, interval: 20 });

async function tokenHouse(...content: Parameters<typeof TokenFixture.open>): Promise<TokenFixture> {
  const fixture = await TokenFixture.open(...content);
  closing.push(() => fixture.close());
  return fixture;
}

function fixture(): PoolFixture {
  const made = new PoolFixture();
  closing.push(() => made.close());
  return made;
}

async function door(tokens: TokenStore, api: KubeApi, secret: (name: string) => Secret | undefined) {
  const opened = await startIgnition({ tokens, api, namespace, secret });
  closing.push(() => opened.close());
  return opened;
}

test("1 hashes are HyperShift's", () => {
  expect(["", "a", "foobar"].map((text) => fnv1a(text))).toEqual(["811c9dc5", "e40c292c", "bf9cf968"]);
  for (const vector of poolVectors) {
    const { config, full, pullSecret: name = "pull-secret", stream, trustBundle, version, withoutVersion } = vector;
    const ofVector: PoolCluster = {
      ...{ ...cluster, pullSecret: { ...cluster.pullSecret, name } },
      trustBundle: trustBundle === undefined ? undefined : { name: trustBundle, content: "" },
    };
    const pool = poolWith(stream === undefined ? {} : { osImageStream: { name: stream } });
    const configs = config === undefined ? [] : [{ where: "config-1", text: config }];
    const { hashes } = poolTargetOf(makeInput({ pool, configs }), ofVector, version);
    expect([vector, hashes]).toEqual([vector, { full, withoutVersion }]);
  }
  for (const [input, full, withoutVersion] of inputVectors) expect(poolHashes(input)).toEqual({ full, withoutVersion });
  for (const [of, version, text] of globalConfigVectors) expect(globalConfig(of, {}, version)).toBe(text);
  expect(pullSecretHash(Buffer.from('{"auths":{"example.com":{"auth":"dGVzdDp0ZXN0"}}}'))).toBe("2e24ad6f");
  expect(["", "test-ca-bundle"].map(trustBundleHash)).toEqual(["811c9dc5", "196fecff"]);
  expect(configurationHash(undefined)).toBe("77074ba4");
});

test("2 the same configs in any order are the same configuration", () => {
  const text = (name: string) =>
    `apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: ${name}}\nspec: {config: {ignition: {version: 3.2.0}}}\n`;
  const of = (...texts: readonly string[]) => rawConfig(texts.map((each) => ({ where: "it", text: each })));
  const [a, b, c] = ["a", "b", "c"].map(text) as [string, string, string];
  const wanted = of(a, b, c);
  expect(wanted.split("\n---\n").length).toBe(3);
  for (const order of [of(c, b, a), of(b, c, a), of(`${c}---\n${a}`, b), of(`---\n${b}---\n\n---\n${a}`, c)]) {
    expect(order).toBe(wanted);
  }
  expect(of(a, b)).not.toBe(wanted);
});

test("3 a configuration survives gzip and base64, and none stays none", () => {
  const text = `kind: MachineConfig\n${"ü".repeat(1000)}\n`;
  expect(unpack(pack(text))).toBe(text);
  expect(gunzipSync(Buffer.from(pack(text), "base64")).toString()).toBe(text);
  expect([pack(""), unpack("")]).toEqual(["", ""]);
});

test("4 user data has HyperShift's members in HyperShift's order, a proxy only if there is one", () => {
  const content = {
    ...{ pool: { namespace: "clusters", name: "workers" }, hash: "83935368", token: "t" },
    ...{ ignitionEndpoint: "ignition.example:30443", ignitionCaPem: "PEM\n" },
  };
  const head =
    '{"ignition":{"config":{"merge":[{"httpHeaders":[{"name":"Authorization","value":"Bearer dA=="},{"name":"NodePool","value":"clusters/workers"},{"name":"TargetConfigVersionHash","value":"83935368"}],"source":"https://ignition.example:30443/ignition"}]},';
  const tail =
    '"security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;base64,UEVNCg=="}]}},"version":"3.2.0"}}';
  expect(pointerConfig(content)).toBe(`${head}${tail}`);
  const proxy = { httpProxy: "http://p?a&b", noProxy: [".svc", "localhost"] };
  expect(pointerConfig({ ...content, proxy })).toBe(
    `${head}"proxy":{"httpProxy":"http://p?a\\u0026b","noProxy":[".svc","localhost"]},${tail}`,
  );
});

test("5 tokens are rotated at five and a half hours; the old one stays valid, and the third revokes the first", async () => {
  const tokens = await tokenHouse();
  const one = tokens.replica("a");
  await tokens.see(one);
  await tokens.pass(5.5 * 3_600_000 - 1, one);
  expect([one.rotations, one.knows("token-0")]).toEqual([0, [true]]);
  await tokens.pass(60_000, one);
  expect([one.rotations, one.knows("token-0", "a-1")]).toEqual([1, [true, true]]);
  await tokens.pass(5.5 * 3_600_000, one);
  expect(one.knows("token-0", "a-1", "a-2")).toEqual([false, true, true]);
});

test("6 a change ends the old token in two hours, once; user data is replaced, and what is in force never ends", () => {
  const first = afterWrites(makeInput(), reconcile(makeInput(), startTime));
  const release = { version: "4.18.1", arch: "multi" };
  const changed = { ...first, release, cluster: { ...cluster, version: "4.18.1" } };
  const ends = ({ secrets }: PassInput) =>
    Object.fromEntries(
      secrets.map(({ metadata }) => [metadata?.name, metadata?.annotations?.[annotation.tokenExpires]]),
    );
  const second = afterWrites(changed, reconcile(changed, startTime));
  const { full } = poolHashes({
    ...{ rawConfig: "", pullSecretName: "pull-secret", trustBundleName: "", stream: "", releaseVersion: "4.18.1" },
    globalConfig: globalConfig(undefined, undefined, "4.18.1"),
  });
  const wanted = {
    "token-workers-83935368": "2031-01-01T02:00:00Z",
    [`token-workers-${full}`]: undefined,
    [`user-data-workers-${full}`]: undefined,
  };
  expect(ends(second)).toEqual(wanted);
  const hourLater = startTime + 3_600_000;
  expect(ends(afterWrites(second, reconcile(second, hourLater)))).toEqual(wanted);
  const back = { ...second, release: { version: "4.18.0", arch: "multi" }, cluster };
  expect(ends(afterWrites(back, reconcile(back, hourLater)))["token-workers-83935368"]).toBeUndefined();
});

test("7 the clean-up deletes, ends or keeps the Secrets that nothing refers to", () => {
  const of = (name: string): Secret => ({
    metadata: { name, resourceVersion: "1", annotations: { [annotation.nodePool]: "clusters/workers" } },
  });
  const current = secretNames("w", "2");
  const verdicts = ["token-w-1", "user-data-w-1", "token-w-2", "user-data-w-2", "pull-secret"].map((name) =>
    (["no pool", [], current] as const).map((wanted) => cleanUpWrites(of(name), wanted, startTime)[0]?.verb ?? "keep"),
  );
  expect(verdicts).toEqual([
    ["delete", "update", "update"],
    ["delete", "delete", "delete"],
    ["delete", "update", "keep"],
    ["delete", "delete", "keep"],
    ["keep", "keep", "keep"],
  ]);
  const ended = withExpiry(of("token-w-1"), startTime)!;
  expect(ended.metadata?.annotations?.[annotation.tokenExpires]).toBe("2031-01-01T02:00:00Z");
  expect(cleanUpWrites(ended, current, startTime + 1)).toEqual([]);
});

test("8 every request gets HyperShift's status, body and event", async () => {
  const config = '{"ignition":{"version":"3.2.0"}}';
  const name = "token-workers-11111111";
  const tokens = new TokenStore();
  const granted = (text: string) => ({ payload: () => makePayload(text), secret: name, pool: "clusters/workers" });
  tokens.admit("good", granted(config));
  tokens.admit("broken", granted("{}"));
  const { api } = await tokenHouse();
  const { ask, events } = await door(tokens, api, () => ({ metadata: { uid: "u" } }));
  const who = { nodepool: "clusters/workers", targetconfigversionhash: "11111111" };
  const plain = "text/plain; charset=utf-8";
  const noPage = [404, plain, "404 page not found\n", []];
  const refused = (why: string) => [`Warning GetPayloadFailed "${why}" ${name}`];
  const unauthorized = (why: string) => [401, plain, "Unauthorized\n", refused(why)];
  const served = [200, "application/json; charset=utf-8", config, [`Normal GetPayload "" ${name}`]];
  const rows: readonly [target: string, headers: Record<string, string>, method: string, answer: unknown[]][] = [
    ["/healthz", {}, "GET", [200, undefined, "", []]],
    ["/", bearer("good"), "GET", noPage],
    ["/ignition/", bearer("good"), "GET", noPage],
    ["/ignition", {}, "GET", unauthorized("Bad header")],
    ["/ignition", { authorization: bearer("good").authorization!.toLowerCase() }, "GET", unauthorized("Bad header")],
    ["/ignition", { authorization: "Bearer a-b_" }, "GET", unauthorized("Token invalid")],
    ["/ignition", { authorization: "Bearer " }, "GET", unauthorized("Bad header")],
    ["/ignition", bearer("stranger"), "GET", [511, plain, "Token not found\n", refused("Token not found in cache")]],
    ["/ignition", bearer("broken"), "GET", [500, plain, "Invalid ignition payload\n", []]],
    ["/ignition", bearer("good"), "GET", served],
    ["/ignition", bearer("good"), "POST", served],
    // HyperShift records this as a fetch, too; a machine that asked only for the head has no configuration to claim with.
    ["/ignition", bearer("good"), "HEAD", served.with(2, "").with(3, [])],
    ["/ignition?x", bearer("good"), "GET", served],
    ["/ignitionX", bearer("good"), "GET", served],
  ];
  for (const [target, headers, method, answer] of rows) {
    const { body, status, type } = await ask(target, { ...who, ...headers }, method);
    expect([method, target, headers, status, type, body]).toEqual([method, target, headers, ...answer.slice(0, 3)]);
    // A machine has its answer before the record of it is made.
    await eventually(() => expect(events()).toEqual(answer[3]));
  }
});

test("9 a machine gets 511 until its payload is made, then 200", async () => {
  const tokens = await tokenHouse();
  const one = tokens.replica("a");
  one.text = undefined;
  const { ask } = await door(one.tokens, tokens.api, (name) => one.controller.secret(name));
  await tokens.see(one);
  await eventually(() => expect(one.errors.length).toBe(1));
  expect((await ask("/ignition", bearer("token-0"))).status).toBe(511);
  one.text = '{"ignition":{"version":"3.2.0"}}';
  await tokens.pass(1_000, one);
  expect(await ask("/ignition", bearer("token-0"))).toMatchObject({ status: 200, body: one.text });
});

test("10 with wrong headers the payload is served, and its Secret is not marked as reached", async () => {
  const tokens = await tokenHouse();
  const one = tokens.replica("a");
  await tokens.see(one);
  await eventually(() => expect(one.knows("token-0")).toEqual([true]));
  const reached = async (headers: Record<string, string>) => {
    const { ask, close } = await startIgnition({
      ...{ tokens: one.tokens, api: tokens.api, namespace, secret: (name) => one.controller.secret(name) },
    });
    expect((await ask("/ignition", { ...bearer("token-0"), ...headers })).status).toBe(200);
    await close();
    return readTokenSecret(await tokens.stored()).reached;
  };
  expect(await reached({})).toBe(false);
  expect(await reached({ nodepool: "other/workers", targetconfigversionhash: "11111111" })).toBe(false);
  expect(await reached({ nodepool: "clusters/workers", targetconfigversionhash: "00000000" })).toBe(false);
  expect(await reached({ nodepool: "clusters/workers", targetconfigversionhash: "11111111" })).toBe(true);
});

test("11 after a restart both tokens work again", async () => {
  const tokens = await tokenHouse();
  const one = tokens.replica("a");
  await tokens.see(one);
  await tokens.pass(ROTATE_AFTER_MS, one);
  await one.controller.stop();
  const again = tokens.replica("b");
  await tokens.see(again);
  await eventually(() => expect(again.knows("token-0", "a-1", "")).toEqual([true, true, false]));
});

test("12 of two replicas one rotates, and the other takes the token over", async () => {
  const tokens = await tokenHouse();
  const [one, two] = [tokens.replica("a"), tokens.replica("b")];
  await tokens.see(one, two);
  await eventually(() => expect([...one.knows("token-0"), ...two.knows("token-0")]).toEqual([true, true]));
  await tokens.pass(ROTATE_AFTER_MS, one, two);
  const { oldToken, token = "" } = readTokenSecret(await tokens.stored());
  expect([one.rotations + two.rotations, oldToken]).toEqual([1, "token-0"]);
  for (const replica of [one, two]) expect(replica.knows("token-0", token)).toEqual([true, true]);
});

test("13 a pull secret that is not the one of the hash gives InvalidConfig, and a payload once it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "drawbridge-conformance-"));
  closing.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "payload.yaml"), "profile: kubelet\n");
  const tokens = await tokenHouse({ pullSecretHash: pullSecretHash(Buffer.from(pullSecret)) });
  const { api } = tokens;
  const secret = (name: string, key: string, text: string): Secret => ({
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data: { [key]: encoded(text) } },
  });
  await api.create(collection, secret("bootstrap-kubeconfig", "kubeconfig", bootstrapKubeconfig));
  await api.create(collection, secret("pull-secret", ".dockerconfigjson", "{}"));
  const one = tokens.replica("a", { source: payloadSource(api, namespace, join(folder, "payload.yaml")) });
  await tokens.see(one);
  await soon(async () => expect((await tokens.outcome())?.reason).toBe("InvalidConfig"));
  expect([(await tokens.outcome())?.message, one.knows("token-0")]).toEqual([
    expect.stringContaining("the pull secret clusters-demo/pull-secret is not the one the token was made for"),
    [false],
  ]);
  await api.update(`${collection}/pull-secret`, secret("pull-secret", ".dockerconfigjson", pullSecret));
  await tokens.pass(1_000, one);
  await soon(async () => expect((await tokens.outcome())?.reason).toBe("AsExpected"));
  expect(one.knows("token-0")).toEqual([true]);
});

test("14 every condition has HyperShift's status and reason, and a pass ends where HyperShift's does", () => {
  const withCluster = (change: Partial<PoolCluster>): Partial<PassInput> => ({ cluster: { ...cluster, ...change } });
  const withPool = (change: Parameters<typeof poolWith>[0]): Partial<PassInput> => ({ pool: poolWith(change) });
  const named = (text: string | undefined): Partial<PassInput> => ({
    configs: [{ where: "ConfigMap a/b", text }],
  });
  const made = afterWrites(makeInput(), reconcile(makeInput(), startTime));
  const told = (data: Record<string, string>, annotations: Record<string, string> = {}): Partial<PassInput> => ({
    ...made,
    secrets: made.secrets.map((secret) => ({
      ...secret,
      metadata: { ...secret.metadata, annotations: { ...secret.metadata?.annotations, ...annotations } },
      data: { ...secret.data, ...Object.fromEntries(Object.entries(data).map(([k, v]) => [k, encoded(v)])) },
    })),
  });
  const rows: readonly [Partial<PassInput>, condition: string, end: "goes on" | "waits" | "retries"][] = [
    [{}, "AutoscalingEnabled False AsExpected", "goes on"],
    [withPool({ autoScaling: { min: 1, max: 2 } }), "AutoscalingEnabled False ValidationFailed", "goes on"],
    [{}, "UpdateManagementEnabled True AsExpected", "goes on"],
    [withPool({ management: { upgradeType: "x" } }), "UpdateManagementEnabled False ValidationFailed", "waits"],
    [{}, "no ValidReleaseImage", "goes on"],
    [{ release: { problem: "none" } }, "ValidReleaseImage False ValidationFailed", "retries"],
    [{}, "no IgnitionEndpointAvailable", "goes on"],
    [withCluster({ ignitionEndpoint: "" }), "IgnitionEndpointAvailable False IgnitionEndpointMissing", "waits"],
    [withCluster({ ignitionCaPem: "" }), "IgnitionEndpointAvailable False IgnitionCACertMissing", "waits"],
    [{}, "ValidArchPlatform True AsExpected", "goes on"],
    [withPool({ arch: "s390x" }), "ValidArchPlatform False InvalidArchPlatform", "waits"],
    [{ release: { version: "4.18.0", arch: "arm64" } }, "ValidArchPlatform False InvalidArchPlatform", "retries"],
    [{}, "ReconciliationActive True ReconciliationActive", "goes on"],
    [withPool({ pausedUntil: "true" }), "ReconciliationActive False ReconciliationPaused", "goes on"],
    [withPool({ pausedUntil: "later" }), "ReconciliationActive True InvalidPausedUntilValue", "goes on"],
    [{}, "ValidMachineConfig True AsExpected", "goes on"],
    [named("kind: Pod\nmetadata: {name: x}"), "ValidMachineConfig False ValidationFailed", "retries"],
    [named(undefined), "ValidMachineConfig False ValidationFailed", "retries"],
    [withCluster({ kubeconfigReady: false }), "no ValidMachineConfig", "waits"],
    [{}, "UpdatingConfig True AsExpected", "goes on"],
    [made, "UpdatingConfig False AsExpected", "goes on"],
    [{}, "UpdatingVersion True AsExpected", "goes on"],
    [made, "UpdatingVersion False AsExpected", "goes on"],
    [{}, "ValidGeneratedPayload False NotFound", "goes on"],
    [made, "ValidGeneratedPayload Unknown ", "goes on"],
    [told({ reason: "AsExpected", message: "" }), "ValidGeneratedPayload True AsExpected", "goes on"],
    [told({ reason: "InvalidConfig", message: "" }), "ValidGeneratedPayload False InvalidConfig", "goes on"],
    [{}, "ReachedIgnitionEndpoint False NotFound", "goes on"],
    [made, "ReachedIgnitionEndpoint False ignitionNotReached", "goes on"],
    [told({}, { [annotation.ignitionReached]: "True" }), "ReachedIgnitionEndpoint True AsExpected", "goes on"],
    [{}, "ValidPlatformConfig True AsExpected", "goes on"],
    [{ cluster: undefined }, "no AutoscalingEnabled", "retries"],
    [withCluster({ pullSecret: { name: "p", content: undefined } }), "ValidPlatformConfig True AsExpected", "retries"],
    [withCluster({ trustBundle: { name: "t", content: undefined } }), "ValidPlatformConfig True AsExpected", "retries"],
  ];
  for (const [change, condition, end] of rows) {
    const { conditions, stopped, writes } = reconcile(makeInput(change), startTime);
    const found = conditions.map(({ reason, status, type }) => `${type} ${status} ${reason}`);
    const absent = /^no (\w+)$/.exec(condition)?.[1];
    if (absent === undefined) expect(found).toContain(condition);
    else expect(conditions.map(({ type }) => type)).not.toContain(absent);
    expect([condition, stopped === undefined ? "goes on" : stopped.retry ? "retries" : "waits"]).toEqual([
      condition,
      end,
    ]);
    if (end !== "goes on" || condition.endsWith("ReconciliationPaused")) expect(writes).toEqual([]);
  }
});

test("15 each rule for certificate requests, broken once; repetitions, renewals and floods", async () => {
  const names = (...values: readonly [type: "dns" | "ip" | "email", value: string][]): RequestChange => ({
    names: values.map(([type, value]) => ({ type, value })),
  });
  const subject = (cn: string, ...groups: readonly string[]): RequestChange => ({
    subject: [...groups.map((group) => ({ O: [group] })), { CN: [cn] }],
  });
  const remembering = (change: object): Partial<ClusterState> => ({
    memory: new Map([["w0", { ...approvedRecord, ...change }]]),
  });
  const stranger = "system:node:stranger";
  const now = startTime + 600_000;
  const had = (...list: readonly string[]) => remembering({ serving: { request: "x", at: startTime, names: list } });
  const selfReported: Partial<ClusterState> = {
    inventory: inventoryOf([{ ...worker, ips: [] }]),
    policy: { ...defaultPolicy, nodeNetworks: new Networks(["10.0.0.0/24"]) },
  };
  const full = inventoryOf([worker], { pools: new Map([[pool, { replicas: 0, workers: 1 }]]) });
  const rows: readonly [RequestKind, RequestChange, Partial<ClusterState>, verdict: string | undefined][] = [
    ["client", {}, {}, "approve all"],
    ["renewal", {}, {}, "approve all"],
    ["serving", {}, {}, "approve all"],
    ["client", { spec: { signerName: "example.com/other" } }, {}, undefined],
    ["client", subject("system:node:w0", "system:nodes", "system:masters"), {}, "deny subject-group"],
    ["client", subject("system:node:w0"), {}, "leave subject-group"],
    ["client", subject("w0", "system:nodes"), {}, "leave subject-name"],
    ["client", subject("system:node:", "system:nodes"), {}, "leave subject-name"],
    ["client", names(["dns", "w0"]), {}, "leave client-names"],
    ["client", names(["email", "a@b"]), {}, "leave client-names"],
    ["client", names(["ip", "10.0.0.10"]), {}, "leave client-names"],
    ["client", { spec: { usages: ["digital signature", "server auth"] } }, {}, "leave usages"],
    ["client", { spec: { username: "system:admin" } }, {}, "leave bootstrap-identity"],
    ["client", { spec: { groups: [...defaultPolicy.bootstrapGroups, "x"] } }, {}, "leave bootstrap-identity"],
    ["client", subject(stranger, "system:nodes"), {}, "leave expected"],
    ["client", { createdAt: worker.notBefore - 10_000 }, {}, "leave window"],
    ["client", { createdAt: worker.deadline }, {}, "leave window"],
    ["client", {}, { nodes: new Map([["w0", nodeOf("w0")]]) }, "leave node-absent"],
    ["client", {}, remembering({ joinedAt: startTime }), "leave not-joined"],
    ["client", { name: "second" }, remembering({}), "leave single-client"],
    ["client", { name: "second" }, { ...remembering({}), now: startTime + 16 * 60_000 }, "approve all"],
    ["client", {}, { inventory: full }, "leave pool-size"],
    ["client", {}, { policy: { ...defaultPolicy, poolRate: 0 } }, "leave pool-rate"],
    ["client", {}, { policy: { ...defaultPolicy, needsClaim: true } }, "leave claim"],
    ["client", subject("system:node:kubernetes", "system:nodes"), {}, "leave name-reserved"],
    ["client", {}, { recentPending: 102 }, "leave brake"],
    ["serving", {}, { recentPending: 102 }, "leave brake"],
    ["serving", { spec: { username: "system:node:w1" } }, {}, "deny node-identity"],
    ["serving", { spec: { groups: ["system:authenticated"] } }, {}, "leave node-identity"],
    ["serving", {}, { nodes: new Map() }, "leave node-present"],
    ["serving", {}, { memory: new Map() }, "leave known-node"],
    ["serving", { names: [] }, {}, "leave serving-names"],
    ["serving", names(["dns", "w0"], ["email", "a@b"]), {}, "leave serving-names"],
    ["serving", names(["dns", "w1"]), {}, "leave serving-dns"],
    ["serving", names(["ip", "10.0.0.11"]), {}, "leave serving-ips"],
    [
      "serving",
      names(["dns", "w1"]),
      { inventory: inventoryOf([worker, { ...worker, name: "w1" }]) },
      "leave serving-owner",
    ],
    ["serving", {}, { apiServer: new Set(["10.0.0.10"]) }, "leave serving-ip-foreign"],
    [
      ...(["serving", names(["ip", "127.0.0.1"])] as const),
      { inventory: inventoryOf([{ ...worker, ips: ["127.0.0.1"] }]) },
      "leave serving-ip-foreign",
    ],
    ["serving", {}, { ...had("DNS:w0", "IP:10.0.0.10"), now }, "approve all"],
    // As machine-approver: other names than before are approved if the machine's object has all of them.
    ["serving", {}, { ...had("DNS:w0"), now }, "approve all"],
    ["serving", names(["ip", "10.0.0.10"], ["ip", "10.0.0.11"]), { ...had("IP:10.0.0.10"), now }, "leave serving-ips"],
    ["serving", {}, { ...had("DNS:w0"), now, ...selfReported }, "leave serving-same"],
    ["renewal", names(["dns", "w0"]), {}, "leave client-names"],
    ["renewal", {}, { memory: new Map() }, "leave known-node"],
    ["renewal", {}, { ...remembering({ renewal: { request: "x", at: now - 1 } }), now }, "leave node-pace"],
  ];
  for (const [kind, request, around, verdict] of rows) {
    const made = await decide(await signingRequest(kind, request), clusterState(kind, around));
    expect([kind, request, made && `${made.action} ${made.rule}`]).toEqual([kind, request, verdict]);
  }
});

test("17 the Ignition server's certificate is for the published address, also when that changes", async () => {
  const pools = fixture();
  await pools.addObjects(makePool());
  const { ignitionCA: _, ...data } = clusterMap.data ?? {};
  const publish = (ignitionEndpoint: string) =>
    pools.api.update(namedPath("ConfigMap", { namespace: poolNamespace, name: "demo" }), {
      ...clusterMap,
      data: { ...data, ignitionEndpoint },
    } as ConfigMap);
  const names = async () => {
    const at = namedPath("Secret", { namespace: poolNamespace, name: SERVING_CERTIFICATE_SECRET });
    return new X509Certificate(secretText(await pools.api.get<Secret>(at), "tls.crt") ?? "").subjectAltName;
  };
  await publish("ignition.example:443");
  pools.start({ issuesCertificate: true });
  await soon(async () => expect(await names()).toBe("DNS:ignition.example"));
  await publish("10.0.0.5:30080");
  await soon(async () => expect(await names()).toBe("IP Address:10.0.0.5"));
});

test("18 with a pool all its Secrets go; with a cluster tokens get their end, and user data goes", async () => {
  const pools = fixture();
  await pools.addObjects(makePool("first"), makePool("second"));
  pools.start();
  const left = async () =>
    [...(await pools.secrets("token-")), ...(await pools.secrets("user-data-"))].map((secret) => [
      secret.metadata?.name?.replace(/-[0-9a-f]{8}$/, ""),
      readTokenSecret(secret).expiresAt !== undefined,
    ]);
  await soon(async () => expect((await left()).length).toBe(4));
  await pools.api.delete(namedPath("NodePool", { namespace: poolNamespace, name: "first" }));
  await soon(async () =>
    expect(await left()).toEqual([
      ["token-second", false],
      ["user-data-second", false],
    ]),
  );
  await pools.api.delete(namedPath("ConfigMap", { namespace: poolNamespace, name: "demo" }));
  await soon(async () => expect(await left()).toEqual([["token-second", true]]));
});
