/** `drawbridge ignition serve` in two replicas, with a real kube-apiserver; curl and the real ignition ask it. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { requirePeer } from "../../peers/index.js";
import { createDirectoryApi } from "../../src/cluster/nodes/controller/directory.js";
import { readInventory } from "../../src/cluster/nodes/csr/inventory.js";
import {
  annotation,
  encoded,
  SERVING_CERTIFICATE_SECRET,
  type Secret,
  secretText,
} from "../../src/cluster/nodes/objects.js";
import { bootstrapKubeconfig, sshMachineConfig } from "../../src/cluster/nodes/payload/testing/inputs.js";
import { WORKER_TOKENS_ANNOTATION } from "../../src/cluster/nodes/serving/worker-tokens.js";
import { ROTATE_AFTER_MS, readTokenSecret, withExpiry } from "../../src/cluster/nodes/token/token-secret.js";
import { pointerConfig, readUserData } from "../../src/cluster/nodes/token/user-data.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import type { KubeApiServer } from "../support/lab/kube-apiserver.js";
import type { Kubectl } from "../support/lab/kubectl.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { LabProcess } from "../support/lab/process.js";
import { must, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import {
  bearer,
  CLAIMS,
  IgnitionLab,
  ingredientObjects,
  NAMESPACE,
  type Replica,
  tokenSecret,
} from "./ignition-lab.js";
import { complaintsWithout, serverRights } from "./ignition-permissions.js";
import { isAbout, titleOf } from "./rights.js";

const ignition = requirePeer("ignition");
const validator = requirePeer("ignition-validate");
const ready = (await equipped({ controlPlane: true })) && ignition !== undefined && validator !== undefined;

const SOON = 60_000;
const TOKEN = "0b8ad9c5-7c77-4a31-8c55-2d0a5f1c9e10";
const UNAUTHORIZED = [401, "text/plain; charset=utf-8", "Unauthorized\n"] as const;
const NO_PAGE = [404, "text/plain; charset=utf-8", "404 page not found\n"] as const;

describe.skipIf(!ready)("the Ignition server", () => {
  const scope = new Scope("ignition");
  let plane: ControlPlane;
  let lab: IgnitionLab;
  let admin: Kubectl;
  let apiServer: KubeApiServer;
  let access: readonly string[];
  let one: Replica;
  let two: Replica;
  /** Every token there was: none may be seen anywhere. */
  const tokens = new Set<string>([TOKEN]);

  const secretOf = (name: string) => admin.json<Secret>(["get", "secret", "-n", NAMESPACE, name]);
  const put = (...secrets: readonly Secret[]) => admin.apply(...secrets);
  const served = (replica: Replica, token: string) =>
    until("the payload", SOON, async () => {
      const answer = await replica.ask("/ignition", [bearer(token)]);
      return answer.status === 200 && answer;
    });
  const contentOf = (body: string, path: string) => {
    const { storage } = JSON.parse(body) as { storage: { files: { path: string; contents: { source: string } }[] } };
    const source = storage.files.find((file) => file.path === path)?.contents.source;
    return source && Buffer.from(source.slice(source.indexOf(",") + 1), "base64").toString();
  };
  const accepted = async (body: string) => (await run([validator!, "-"], { input: body })).code === 0;

  beforeAll(async () => {
    plane = await startOnLoopback(scope);
    lab = new IgnitionLab(scope);
    access = await lab.joinCluster(plane);
    admin = plane.admin;
    apiServer = plane.apiServer;
    await put(tokenSecret("11111111", TOKEN));
    [one, two] = (await Promise.all(["one", "two"].map((name) => lab.serve(name, "kubelet.yaml", access)))) as [
      Replica,
      Replica,
    ];
  });
  afterAll(() => scope.close());

  test("answers curl by the table, in either replica", async () => {
    const good = await served(one, TOKEN);
    expect([good.type, await accepted(good.body)]).toEqual(["application/json; charset=utf-8", true]);
    expect((await served(two, TOKEN)).body).toBe(good.body);
    const rows: readonly [string, readonly string[], number, string, string][] = [
      ["/healthz", [], 200, "", ""],
      ["/", [], ...NO_PAGE],
      ["/ignition/", [bearer(TOKEN)], ...NO_PAGE],
      ["/ignition", [], ...UNAUTHORIZED],
      ["/ignition", [bearer(TOKEN).replace("Bearer", "bearer")], ...UNAUTHORIZED],
      ["/ignition", ["Authorization: Bearer a-b_"], ...UNAUTHORIZED],
      ["/ignition", ["Authorization: Bearer "], ...UNAUTHORIZED],
      ["/ignition", [bearer("stranger")], 511, "text/plain; charset=utf-8", "Token not found\n"],
      ["/ignition?x", [bearer(TOKEN)], 200, good.type, good.body],
      ["/ignitionX", [bearer(TOKEN)], 200, good.type, good.body],
    ];
    for (const [path, headers, status, type, body] of rows) {
      expect([path, headers, await one.ask(path, headers)]).toEqual([path, headers, { status, type, body }]);
    }
    expect((await one.ask("/ignition", [bearer(TOKEN)], ["-X", "POST"])).body).toBe(good.body);
    expect((await one.ask("/ignition", [bearer(TOKEN)], ["--compressed"])).body).toBe(good.body);
    expect((await one.ask("/ignition", [bearer(TOKEN)], ["-I"])).status).toBe(200);
  });

  test("the result of a fetch is recorded in the token's Secret; wrong headers leave the rest as it is, right ones do not", async () => {
    const name = "token-workers-11111111";
    const secret = await secretOf(name);
    expect(readTokenSecret(secret).outcome).toEqual({
      reason: "AsExpected",
      message: "Payload generated successfully",
    });
    expect(secretText(secret, "payload")).toBeDefined();
    await one.ask("/ignition", [bearer(TOKEN), "NodePool: other/workers", "TargetConfigVersionHash: 11111111"]);
    const right = ["NodePool: clusters/workers", "TargetConfigVersionHash: 11111111"];
    await two.ask("/ignition", [bearer("stranger"), ...right]);
    expect(readTokenSecret(await secretOf(name)).reached).toBe(false);
    await two.ask("/ignition", [bearer(TOKEN), ...right]);
    await until("the mark", SOON, async () => readTokenSecret(await secretOf(name)).reached);
    const reasons = async () => {
      const { items } = await admin.json<{ items: { reason: string; involvedObject: { name: string } }[] }>([
        ...["get", "events", "-n", NAMESPACE],
      ]);
      return new Set(items.filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason));
    };
    await until("both events", SOON, async () => (await reasons()).size === 2);
    expect(await reasons()).toEqual(new Set(["GetPayload", "GetPayloadFailed"]));
  });

  test("the real ignition waits at 511, gets its payload once there is one, and writes it", async () => {
    const token = "e3f7c0a4-2b43-4a8b-94b1-77c2f0d0e011";
    tokens.add(token);
    for (const folder of ["machine", "machine/root", "machine/run"]) mkdirSync(scope.file(folder));
    const root = scope.file("machine/root");
    const pool = { namespace: "clusters", name: "workers" };
    const ignitionCaPem = readFileSync(lab.ca.cert, "utf8");
    const pointer = pointerConfig({ pool, hash: "22222222", token, ignitionEndpoint: two.endpoint, ignitionCaPem });
    writeFileSync(scope.file("machine/user.ign"), pointer);
    const files = ["config-cache", "state-file", "neednet"].map(
      (file) => `--${file}=${scope.file(`machine/run/${file}`)}`,
    );
    const stage = (name: string): [string, ...string[]] => [
      ...([ignition!, "--platform=file", `--stage=${name}`, `--root=${root}`, "--log-to-stdout"] as const),
      ...files,
    ];
    const env = { IGNITION_CONFIG_FILE: scope.file("machine/user.ign") };
    const fetching = LabProcess.start(scope, { name: "ignition-fetch", command: stage("fetch"), env });
    const refusals = () => lab.audit().filter(({ saidHash }) => saidHash === "22222222");
    await until("two answers of 511", SOON, () => refusals().length >= 2);
    expect([fetching.alive, new Set(refusals().map(({ outcome }) => outcome))]).toEqual([true, new Set(["refused"])]);

    await put(tokenSecret("22222222", token, { upgradeType: "Replace" }));
    await until("the end of the fetch", SOON, () => !fetching.alive);
    await must(stage("files"), { env });
    const written = (path: string) => readFileSync(`${root}${path}`, "utf8");
    expect(parse(written("/etc/kubernetes/kubelet.yaml"))).toMatchObject({ serverTLSBootstrap: true });
    expect(written("/etc/kubernetes/bootstrap-kubeconfig")).toBe(bootstrapKubeconfig);
    expect(statSync(`${root}/etc/kubernetes/bootstrap-kubeconfig`).mode & 0o777).toBe(0o600);
    expect(written("/etc/systemd/system-preset/20-ignition.preset")).toContain("enable kubelet.service");
    await until("the mark", SOON, async () => readTokenSecret(await secretOf("token-workers-22222222")).reached);
    expect(refusals().at(-1)).toMatchObject({ outcome: "served", secret: "token-workers-22222222" });
  });

  test("a worker's own token gives it its name, and its claim the name, too", async () => {
    const token = "of-worker-3-8d5b1f7a9c";
    tokens.add(token);
    await put({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: "workers",
        namespace: NAMESPACE,
        annotations: { [WORKER_TOKENS_ANNOTATION]: "true", [annotation.nodePool]: "clusters/workers" },
      },
      data: { "worker-3": encoded(token) },
    });
    const { body } = await served(one, token);
    expect([contentOf(body, "/etc/hostname"), await accepted(body)]).toEqual(["worker-3\n", true]);
    await until("the claim", SOON, async () => {
      const map = await admin.json<{ data: { claims: string } }>([
        ...["get", "configmap", "-n", CLAIMS.namespace, CLAIMS.name],
      ]);
      const { claims } = readInventory([{ where: "it", text: map.data.claims }]);
      return claims.some(({ pool, worker }) => pool === "clusters/workers" && worker === "worker-3");
    });
  });

  test("tokens that are due are rotated once, by either replica, and both stay good in both", async () => {
    const hashes = ["a", "b", "c", "d", "e", "f"].map((digit) => digit.repeat(8));
    const rotations = async () =>
      (await one.metric("ign_server_token_rotation_total")) + (await two.metric("ign_server_token_rotation_total"));
    const before = await rotations();
    const sixHoursAgo = Date.now() - 6 * 3_600_000;
    await put(...hashes.map((hash) => tokenSecret(hash, `first-of-${hash}`, { upgradeType: "Replace" }, sixHoursAgo)));
    for (const hash of hashes) {
      const { token, oldToken } = await until(`the rotation of ${hash}`, SOON, async () => {
        const view = readTokenSecret(await secretOf(`token-workers-${hash}`));
        return view.oldToken !== undefined && view;
      });
      expect(oldToken).toBe(`first-of-${hash}`);
      for (const each of [token!, `first-of-${hash}`]) {
        tokens.add(each);
        await Promise.all([served(one, each), served(two, each)]);
      }
    }
    // Counted once the API has answered, which may be later than others see what was written.
    await until("the count", SOON, async () => (await rotations()) >= before + hashes.length);
    expect((await rotations()) - before).toBe(hashes.length);
    expect(await one.metric('ign_server_get_request{nodePool="clusters/workers"}')).toBeGreaterThan(hashes.length);
    expect(await one.metric("ign_server_payload_cache_total")).toBeGreaterThan(2 * hashes.length);
  });

  test("a payload that cannot be made is reported in its Secret, and made as soon as it can be", async () => {
    const token = "c1f1d8e2-7a52-4b19-8a2f-6f0e7d3b4a55";
    tokens.add(token);
    await put(tokenSecret("33333333", token, { pullSecretHash: "00000000" }));
    const outcome = async () => readTokenSecret(await secretOf("token-workers-33333333")).outcome;
    const { reason, message } = await until("the outcome", SOON, outcome);
    expect([reason, message]).toEqual([
      "InvalidConfig",
      expect.stringContaining("the pull secret clusters-demo/pull-secret is not"),
    ]);
    expect((await one.ask("/ignition", [bearer(token)])).status).toBe(511);
    await put(tokenSecret("33333333", token));
    await served(one, token);
    await until("the outcome", SOON, async () => (await outcome())?.reason === "AsExpected");
  });

  test("a Secret at its end is deleted, and its token is worth nothing", async () => {
    const token = "d2a2e9f3-1b63-4c20-9b30-7a1f8e4c5b66";
    tokens.add(token);
    const threeHoursAgo = Date.now() - 3 * 3_600_000;
    await put(withExpiry(tokenSecret("44444444", token), threeHoursAgo)!);
    const get = ["get", "secret", "-n", NAMESPACE, "token-workers-44444444"];
    await until("its deletion", SOON, async () => (await admin.try(get)).code !== 0);
    // Either replica deletes it; the other one hears of it.
    await until("the refusal", SOON, async () => (await one.ask("/ignition", [bearer(token)])).status === 511);
  });

  test("a restart forgets nothing, and the other profile's payload is as good", async () => {
    const rawConfig = sshMachineConfig;
    const token = "f4c4a1b5-3d85-4e42-8d52-9c3b0a6e7d88";
    tokens.add(token);
    await put(tokenSecret("55555555", token, { rawConfig }));
    await two.process.kill();
    two = await lab.serve("two-again", "rhcos.yaml", access);
    const { token: rotated = "" } = readTokenSecret(await secretOf("token-workers-aaaaaaaa"));
    for (const each of [TOKEN, "first-of-aaaaaaaa", rotated]) await served(two, each);
    const { body } = await served(two, token);
    expect([contentOf(body, "/etc/kubernetes/kubeconfig"), await accepted(body)]).toEqual([bootstrapKubeconfig, true]);
    expect(body).toContain("ssh-rsa AAAA");
  });

  test("a certificate that a Secret holds is waited for, and another one is shown as soon as it is written", async () => {
    const flags = [...access, `--namespace=${NAMESPACE}`, "--cert-secret=of-three"];
    const three = await lab.start("three", "kubelet.yaml", flags);
    const healthy = () => three.ask("/healthz").then(({ status }) => status === 200 && "well", String);
    await until("it waits", SOON, () => three.process.log().includes("waiting for the certificate"));
    const hold = (file: string, ips: readonly string[]) => {
      const { cert, key } = lab.ca.issue({ file, name: "ignition-server", use: "server", ips });
      const data = { "tls.crt": encoded(readFileSync(cert, "utf8")), "tls.key": encoded(readFileSync(key, "utf8")) };
      const metadata = { name: "of-three", namespace: NAMESPACE };
      return put({ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata, data });
    };
    await hold("three-1", ["127.0.0.1"]);
    await until("it answers", SOON, async () => (await healthy()) === "well");
    await hold("three-2", ["127.0.0.2"]);
    await until("it is somebody else", SOON, async () => /alternative|subject/i.test(String(await healthy())));
    await hold("three-3", ["127.0.0.1"]);
    await until("it is itself again", SOON, async () => (await healthy()) === "well");
    await three.process.stop();
  });

  test("while the API is away machines are served; a token that falls due meanwhile is rotated when the API is back", async () => {
    const token = "a5d5b2c6-4e96-4f53-9e63-0d4c1b7f8e99";
    tokens.add(token);
    const due = Date.now() + 4_000;
    await put(tokenSecret("66666666", token, { upgradeType: "Replace" }, due - ROTATE_AFTER_MS));
    await Promise.all([served(one, token), served(two, token)]);
    await apiServer.stop();
    await until("its time", SOON, () => Date.now() > due + 500);
    for (const replica of [one, two]) {
      for (const each of [TOKEN, token]) expect((await replica.ask("/ignition", [bearer(each)])).status).toBe(200);
    }
    await apiServer.start();
    const rotated = await until("the rotation", SOON, async () => {
      const view = readTokenSecret(await secretOf("token-workers-66666666"));
      return view.oldToken === token && view.token;
    });
    tokens.add(rotated);
    for (const each of [token, rotated]) await Promise.all([served(one, each), served(two, each)]);
  });

  test("no token is in any log", () => {
    const logs = ["one.log", "two.log", "two-again.log", "audit.jsonl"].map((file) =>
      readFileSync(scope.file(file), "utf8"),
    );
    expect(tokens.size).toBeGreaterThan(15);
    for (const token of tokens) {
      for (const log of logs) expect([log.includes(token), log.includes(encoded(token))]).toEqual([false, false]);
    }
    for (const log of logs.slice(0, 3)) expect(log).toContain("ignition server is up");
  });

  test("the Ignition server needs exactly the rights that install gives it", async () => {
    const fixture = { scope, plane, recipe: scope.file("kubelet.yaml") };
    expect(await complaintsWithout(fixture, undefined)).toEqual([]);
    const complaints = await Promise.all(serverRights.map((right) => complaintsWithout(fixture, right)));
    for (const [index, right] of serverRights.entries()) {
      expect([titleOf(right), complaints[index]!.some((complaint) => isAbout(complaint, right))]).toEqual([
        titleOf(right),
        true,
      ]);
    }
  });

  test("the Ignition server ends on SIGTERM", async () => {
    await one.process.stop();
    expect(one.process.log()).toContain("shutting down");
  });
});

describe.skipIf(!(await equipped({})))("without a cluster", () => {
  const scope = new Scope("ignition-objects");
  afterAll(() => scope.close());

  test("the same server runs on a directory of objects: 511, then the payload, claims and tokens in files", async () => {
    const lab = new IgnitionLab(scope);
    const objects = scope.file("objects");
    mkdirSync(objects);
    for (const [index, object] of ingredientObjects.entries()) {
      writeFileSync(`${objects}/${index}.yaml`, JSON.stringify(object));
    }
    const workers = scope.file("workers.yaml");
    const own = "of-worker-7-0123456789";
    writeFileSync(workers, `pool: clusters/workers\nworkers: {worker-7: ${own}}\n`, { mode: 0o600 });
    const claims = scope.file("claims.yaml");
    const server = await lab.serve("server", "kubelet.yaml", [
      ...[`--directory=${objects}`, `--worker-tokens=${workers}`, `--claims-file=${claims}`],
    ]);
    expect((await server.ask("/ignition", [bearer(TOKEN)])).status).toBe(511);
    writeFileSync(`${objects}/token.yaml`, JSON.stringify(tokenSecret("11111111", TOKEN)), { mode: 0o600 });
    for (const token of [TOKEN, own]) {
      await until("the payload", SOON, async () => (await server.ask("/ignition", [bearer(token)])).status === 200);
    }
    await until("the outcome", SOON, () =>
      readFileSync(`${objects}/token.yaml`, "utf8").includes(encoded("AsExpected")),
    );
    await until("the claims", SOON, () => {
      const found = readInventory([{ where: claims, text: readFileSync(claims, "utf8") }]).claims;
      return new Set(found.map(({ worker }) => worker)).size === 2;
    });
    await server.process.stop();
  });

  test("a pool on a directory needs no certificate of ours: its user data leads to a server that it trusts, wherever that is", async () => {
    const lab = new IgnitionLab(scope);
    const objects = scope.file("pool");
    mkdirSync(objects);
    const [namespace, access] = ["drawbridge", [`--directory=${objects}`, "--namespace=drawbridge"]];
    const server = await lab.start("issued", "kubelet.yaml", [
      ...access,
      `--cert-secret=${SERVING_CERTIFICATE_SECRET}`,
    ]);
    const port = server.endpoint.split(":")[1];
    const put = (name: string, object: object) => writeFileSync(`${objects}/${name}.yaml`, JSON.stringify(object));
    const publish = (ignitionEndpoint: string) =>
      put("cluster", {
        ...{ apiVersion: "v1", kind: "ConfigMap" },
        metadata: { name: "demo", namespace, labels: { "drawbridge/cluster": "true" } },
        data: { apiServer: "https://api.example:6443", version: "4.18.0", ignitionEndpoint },
      });
    publish(`127.0.0.1:${port}`);
    const kubeconfig = { kubeconfig: encoded(bootstrapKubeconfig) };
    put("kubeconfig", {
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "bootstrap-kubeconfig", namespace }, data: kubeconfig },
    });
    put("workers", {
      ...{ apiVersion: "hypershift.openshift.io/v1beta1", kind: "NodePool", metadata: { name: "workers", namespace } },
      spec: {
        ...{ clusterName: "demo", release: { image: "registry.example/r" }, platform: { type: "None" } },
        management: { upgradeType: "InPlace" },
      },
    });
    const controller = [ours("drawbridge"), "nodepool", "controller", "--issue-certificate", ...access] as const;
    LabProcess.start(scope, { name: "pool-controller", command: [...controller] });

    /** As a machine with the user data of now would, which knows nothing else. */
    const fetched = async (host: string) => {
      const { items } = await createDirectoryApi({ directory: objects }).list<Secret>(
        `/api/v1/namespaces/${namespace}/secrets`,
      );
      const found = items.find(({ metadata }) => metadata?.name?.startsWith("user-data-"));
      if (found === undefined) return false;
      const { ignition: pointer } = JSON.parse(readUserData(found));
      const [{ httpHeaders, source }] = pointer.config.merge;
      if (!source.startsWith(`https://${host}:`)) return false;
      const ca = scope.file("pointer-ca.crt");
      const [{ source: authority }] = pointer.security.tls.certificateAuthorities;
      writeFileSync(ca, Buffer.from(authority.split(",")[1], "base64"));
      const headers = httpHeaders.map(({ name, value }: Record<string, string>) => `header = "${name}: ${value}"\n`);
      const curl = ["curl", "-sS", "--max-time", "10", "--cacert", ca, "--config", "-", "-w", "\n%{http_code}", source];
      const { stdout } = await run(curl as [string, ...string[]], { input: headers.join("") });
      return stdout.endsWith("\n200") && stdout;
    };
    expect(await until("the payload", SOON, () => fetched("127.0.0.1"))).toContain("kubelet.service");
    publish(`localhost:${port}`);
    expect(await until("the payload at the other address", SOON, () => fetched("localhost"))).toContain("kubelet");
    await expect(server.ask("/healthz")).rejects.toThrow(/certificate|SSL/i);
    expect(server.process.log()).toContain("waiting for the certificate");
  });
});
