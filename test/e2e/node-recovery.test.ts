/** Everything that `drawbridge workers doctor` knows, caused on real clusters, seen, mended, and gone; and machines played beside real Ignition. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { requirePeer } from "../../peers/index.js";
import { annotation, encoded, type Secret, secretText } from "../../src/cluster/nodes/objects.js";
import { readTokenSecret } from "../../src/cluster/nodes/token/token-secret.js";
import {
  failedMount,
  konnectivitySecret,
  kubeconfigSecret,
  networkDeployment,
  networkPod,
  networkService,
  rootCaSecret,
  waitingStatus,
} from "../../src/insight/diagnosis/testing/cluster-network.js";
import { equipped } from "../support/lab/equipment.js";
import { get } from "../support/lab/http.js";
import { run } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { freePort } from "../support/processes/ports.js";
import { CONTROL_PLANE, type Finding, RecoveryLab, SOON } from "./node-recovery-lab.js";

const ignition = requirePeer("ignition");
const ready = (await equipped({ controlPlane: true, controllers: true })) && ignition !== undefined;

describe.skipIf(!ready)("machines that do not become nodes", () => {
  const lab = new RecoveryLab();
  beforeAll(() => lab.start());
  afterAll(() => lab.stop());

  /** The finding of that code; fails with everything there is. */
  function found(findings: readonly Finding[], code: string): Finding {
    const one = findings.find((finding) => finding.code === code);
    if (one === undefined) throw new Error(`no ${code} among ${JSON.stringify(findings, undefined, 1)}`);
    return one;
  }
  const codes = (findings: readonly Finding[]) => [...new Set(findings.flatMap(({ code }) => code ?? []))].sort();
  const healthy = (what: string) =>
    until(what, SOON, async () => {
      const { findings, code, ok } = await lab.doctor();
      if (!ok) throw new Error(codes(findings).join());
      return ok && code === 0;
    });

  test("511: no controller, no server, an ingredient that is missing; each is told, and it ends when they come", async () => {
    await lab.installPool();
    const nothing = await lab.doctor();
    expect([nothing.code, found(nothing.findings, "DB_NODE_PAYLOAD").message]).toEqual([
      1,
      "pool drawbridge/workers has no configuration yet",
    ]);
    lab.startController();
    await until("user data", SOON, async () => (await lab.hash()) !== "");
    const unserved = await until("no server", SOON, async () => {
      const { findings } = await lab.doctor();
      return codes(findings).includes("DB_NODE_IGNITION_UNREACHABLE") && findings;
    });
    expect(found(unserved, "DB_NODE_PAYLOAD").message).toContain("no Ignition server has made the payload");
    lab.startIgnition();
    const why = "the Secret drawbridge/bootstrap-kubeconfig does not exist yet";
    await until("the server's complaint", SOON, async () => {
      const { findings } = await lab.doctor();
      return (
        found(findings, "DB_NODE_PAYLOAD").message.includes(why) &&
        !codes(findings).includes("DB_NODE_IGNITION_UNREACHABLE")
      );
    });
    await lab.management.admin.apply(await lab.bootstrapSecret());
    await healthy("the payload");
  });

  test("a credential that the API server refuses, whose authority is another, or that may not ask is told as machines would see it", async () => {
    const good = await lab.bootstrapSecret();
    const judged = async (cluster: object, user: object = {}) => {
      const kubeconfig = parse(secretText(good, "kubeconfig") ?? "");
      Object.assign(kubeconfig.clusters[0].cluster, cluster);
      Object.assign(kubeconfig.users[0].user, user);
      await lab.management.admin.apply({ ...good, data: { kubeconfig: encoded(stringify(kubeconfig)) } } as Secret);
      return (await lab.doctor()).findings.filter(({ check }) => check === "bootstrap-credential");
    };
    expect(await judged({})).toMatchObject([{ state: "ok" }]);
    expect(await judged({}, { token: "made.up.token" })).toMatchObject([
      { state: "failed", code: "DB_NODE_CREDENTIAL_REFUSED" },
    ]);
    const other = encoded(readFileSync(lab.management.ca.cert, "utf8"));
    expect(await judged({ "certificate-authority-data": other })).toMatchObject([
      { state: "failed", code: "DB_NODE_CREDENTIAL_SERVER" },
    ]);
    const metadata = { name: "powerless", namespace: "default" };
    await lab.hosted.admin.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata });
    const token = await lab.hosted.admin.run(["create", "token", "powerless", "-n", "default", "--duration=720h"]);
    const powerless = await judged({}, { token: token.trim() });
    expect(powerless.map(({ code, message }) => [code, message])).toEqual([
      ["DB_NODE_CREDENTIAL_REFUSED", expect.stringContaining("may not create certificatesigningrequests")],
      ["DB_NODE_CREDENTIAL_REFUSED", expect.stringContaining("join as system:serviceaccount:default:powerless")],
    ]);
    expect(await judged({})).toMatchObject([{ state: "ok" }]);
    await healthy("the payload");
  });

  test("401: user data that was changed on its way; --fix writes it again, once, and on the record", async () => {
    await lab.createWorkers(2, "w", "--own-token=false");
    const good = lab.userData("w-0");
    const bad = good.replace("Bearer ", "bearer ");
    lab.writeUserData("w-0", bad);
    const boot = await lab.boot("w-0", "refused");
    expect([boot.code, boot.stderr]).toEqual([1, expect.stringContaining("answered 401")]);
    const failing = await lab.doctor();
    expect(found(failing.findings, "DB_NODE_USER_DATA")).toMatchObject({ subject: "w-0", state: "failed" });
    const dryRun = await lab.doctor("--fix", "--dry-run");
    expect(dryRun.fixes).toMatchObject([{ code: "DB_NODE_USER_DATA", outcome: "would be done" }]);
    expect(lab.userData("w-0")).toBe(bad);
    const fixed = await lab.doctor("--fix", "w-0");
    expect(fixed).toMatchObject({ code: 0, fixes: [{ outcome: "done" }] });
    expect(lab.userData("w-0")).toBe(good);
    expect((await lab.doctor("--fix")).fixes).toEqual([]);
    const log = readFileSync(join(lab.state, "fixes.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(log.map(({ code, outcome, subject }) => [code, outcome, subject])).toEqual([
      ["DB_NODE_USER_DATA", "begun", "w-0"],
      ["DB_NODE_USER_DATA", "done", "w-0"],
    ]);
  });

  test("a simulated machine has the files that real Ignition makes of the same user data", async () => {
    const { code, stderr } = await lab.boot("w-1", "simulated");
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^GET https:.*: 200, served\n$/)]);
    const real = lab.scope.file("real");
    mkdirSync(real);
    for (const stage of ["fetch", "files"]) {
      const places = ["config-cache", "state-file", "neednet"].map(
        (name) => `--${name}=${lab.scope.file(`real-${name}`)}`,
      );
      const flags = ["--platform=file", `--stage=${stage}`, `--root=${real}`, "--log-to-stdout", ...places];
      const env = { IGNITION_CONFIG_FILE: `${lab.state}/w-1.ign` };
      expect((await run([ignition!, ...flags], { env })).code).toBe(0);
    }
    const theirs = treeOf(real).filter(([path]) => path !== "/etc/.ignition-result.json");
    expect(treeOf(lab.scope.file("simulated"))).toEqual(theirs);
    expect(theirs.length).toBeGreaterThan(15);
  });

  test("tokens: rotated once is a warning, rotated twice is nobody's, and a former configuration's ends", async () => {
    await lab.must(...lab.doctorFlags("--fix"));
    const rotate = async () => {
      const secret = await lab.tokenSecret();
      const before = readTokenSecret(secret).token;
      await lab.annotate(secret, annotation.tokenGenerated, new Date(Date.now() - 6 * 3_600_000).toISOString());
      await until("the rotation", SOON, async () => readTokenSecret(await lab.tokenSecret()).token !== before);
    };
    await rotate();
    const once = await lab.doctor("w-0");
    expect([once.code, found(once.findings, "DB_NODE_USER_DATA_OLD").state]).toEqual([0, "warning"]);
    await rotate();
    const twice = await lab.doctor("w-0");
    expect([twice.code, found(twice.findings, "DB_NODE_TOKEN_UNKNOWN").subject]).toEqual([1, "w-0"]);
    const boot = await lab.boot("w-0", "unknown", "--timeout=4s");
    expect([boot.code, boot.stderr]).toEqual([1, expect.stringContaining("511")]);
    expect(codes((await lab.doctor("--fix", "w-0", "w-1")).findings)).toEqual([]);

    const former = await lab.hash();
    await lab.management.admin.apply(lab.poolConfig("second"));
    await until("another configuration", SOON, async () => (await lab.hash()) !== former);
    const changed = await until("the change is seen", SOON, async () => {
      const { findings } = await lab.doctor("w-0");
      return codes(findings).includes("DB_NODE_USER_DATA_OLD") && findings;
    });
    expect(found(changed, "DB_NODE_USER_DATA_OLD").message).toMatch(/former configuration, and ends at 2/);
    await lab.annotate(await lab.tokenSecret(former), annotation.tokenExpires, "2020-01-01T00:00:00Z");
    const ended = await until("its end", SOON, async () => {
      const { findings } = await lab.doctor("w-0");
      return codes(findings).includes("DB_NODE_TOKEN_EXPIRED") && findings;
    });
    expect(found(ended, "DB_NODE_TOKEN_EXPIRED").fix).toContain("w-0.ign");
    await lab.doctor("--fix");
    await healthy("fresh user data");
    expect((await lab.boot("w-0", "fresh")).code).toBe(0);
  });

  test("a certificate for another address than machines are given; issued again for it, that is over", async () => {
    const address = `127.0.0.2:${lab.ignitionPort}`;
    await lab.createWorkers(1, "far", `--ignition-address=${address}`);
    const { findings, code } = await lab.doctor("far-0");
    const { evidence, message } = found(findings, "DB_NODE_IGNITION_NAME");
    expect([code, message]).toEqual([
      1,
      expect.stringContaining(`https://${address}/ignition is not for that address`),
    ]);
    expect(evidence).toContain("its certificate is for IP Address:127.0.0.1");
    await lab.management.admin.apply(lab.cluster({ ignitionAddresses: "127.0.0.2" }));
    await healthy("a certificate with the address");
  });

  test("requests that wait: explained, approved where every rule is kept, left where one is not; then NotReady", async () => {
    const boot = lab.boot("far-0", "node", "--csr", "--address=10.0.0.9", "--timeout=100s");
    const stranger = lab.boot("w-1", "stranger", "--csr", "--name=intruder", "--timeout=3s");
    const waiting = async (kind: string) =>
      until(`a ${kind} request`, SOON, async () => {
        const { findings } = await lab.doctor();
        return findings.find(
          ({ message, subject }) => subject === "far-0" && message.includes(`for a ${kind} certificate`),
        );
      });
    expect(await waiting("client")).toMatchObject({
      code: "DB_NODE_CSR_PENDING",
      evidence: [expect.stringMatching(/./)],
    });
    const refused = await until("the stranger", SOON, async () =>
      (await lab.doctor()).findings.find(({ subject }) => subject === "intruder"),
    );
    expect(refused).toMatchObject({ message: expect.stringContaining("nobody expects intruder") });
    expect(refused.fix).toBeUndefined();
    await lab.doctor("--fix", "far-0");
    await waiting("serving");
    await lab.doctor("--fix", "far-0");
    const { code, stderr, stdout } = await boot;
    expect([code, stderr]).toEqual([0, expect.stringContaining("is approved and signed")]);
    const pem = readFileSync(join(lab.scope.file("node"), "var/lib/kubelet/pki/kubelet-server-current.pem"), "utf8");
    expect(pem).toMatch(/BEGIN CERTIFICATE[\s\S]*BEGIN PRIVATE KEY/);
    expect(stdout + stderr).not.toMatch(/PRIVATE KEY|eyJ/);
    const idle = await lab.doctor("far-0");
    expect(found(idle.findings, "DB_NODE_NOT_READY").evidence).toEqual([
      "its kubelet has reported nothing yet",
      "no pod on it provides a network: none mounts a directory of CNI",
    ]);
    await lab.setReady("far-0", "True");
    expect(await lab.doctor("far-0")).toMatchObject({ code: 0 });
    expect(await stranger).toMatchObject({ code: 1, stderr: expect.stringContaining("neither approved nor denied") });
    await lab.hosted.admin.run(["delete", "csr", "--all"]);
  });

  test("Secrets that the cluster network mounts beside the control plane and misses are issued from root-ca, once", async () => {
    const { admin } = lab.management;
    const names = ["ovnkube-control-plane", "network-node-identity"] as const;
    const wanted = ["network-node-identity-secret", "ovn-control-plane-metrics-cert"];
    const pods = names.map((name) => networkPod(name, CONTROL_PLANE));
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default", namespace: CONTROL_PLANE },
    };
    await admin.apply(
      ...[
        account,
        kubeconfigSecret(CONTROL_PLANE),
        konnectivitySecret(CONTROL_PLANE),
        await rootCaSecret(CONTROL_PLANE),
      ],
      ...["ovn-kubernetes-control-plane", "network-node-identity"].map((name) => networkService(name, CONTROL_PLANE)),
      ...[...names.map((name) => networkDeployment(name, CONTROL_PLANE)), ...pods],
      failedMount(pods[0]!, wanted[1]!, wanted[1]!),
    );
    for (const [index, name] of names.entries()) {
      const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status: waitingStatus(name) })];
      await admin.run(["patch", "pod", "-n", CONTROL_PLANE, pods[index]!.metadata!.name!, ...patch]);
    }
    const network = (findings: readonly Finding[]) => findings.filter(({ code }) => code === "DB_NODE_OVN_CERT");
    const young = await lab.doctor();
    expect(network(young.findings).map(({ fix, state }) => [state, fix])).toEqual([
      ["warning", undefined],
      ["warning", undefined],
    ]);
    const failing = await until("HyperShift had its time", SOON, async () => {
      const findings = network((await lab.doctor()).findings);
      return findings.every(({ state }) => state === "failed") ? findings : undefined;
    });
    expect(failing.flatMap(({ evidence }) => evidence)).toContain(
      `pod ${CONTROL_PLANE}/${pods[0]!.metadata!.name}: FailedMount (14 times): MountVolume.SetUp failed for volume "${wanted[1]}" : secret "${wanted[1]}" not found`,
    );
    await lab.doctor("--fix", "--dry-run");
    const there = (name: string) => ["get", "secret", "-n", CONTROL_PLANE, name];
    for (const name of wanted) expect((await admin.try(there(name))).code).not.toBe(0);
    const fixed = await lab.doctor("--fix");
    expect(fixed.fixes.map(({ code, outcome, result }) => [code, outcome, result])).toEqual(
      pods.map(() => ["DB_NODE_OVN_CERT", "done", expect.stringContaining("deleted to be made again")]),
    );
    const everything = `${fixed.text}${readFileSync(join(lab.state, "fixes.jsonl"), "utf8")}`;
    for (const name of wanted) {
      const { data, type } = await admin.json<Secret>(there(name));
      expect([type, Object.keys(data ?? {}).sort()]).toEqual(["kubernetes.io/tls", ["ca.crt", "tls.crt", "tls.key"]]);
      expect(everything).not.toContain(data!["tls.key"]);
    }
    expect(fixed.code).toBe(0);
    expect((await lab.doctor("--fix")).fixes).toEqual([]);
    await admin.run(["delete", "deployments,pods", "--all", "-n", CONTROL_PLANE, "--force", "--grace-period=0"]);
  });

  test("the rights to look are enough to see all of it, and no others are needed", async () => {
    const [seen, all] = [await lab.look(), await lab.doctor()];
    expect(codes(seen.findings)).toEqual(codes(all.findings));
    expect(codes(seen.findings)).not.toContain("DB_NODE_UNCHECKED");
  });

  test("workers doctor --watch --fix repairs what happens and reports it in its log and in metrics", async () => {
    const port = await freePort();
    const flags = ["--watch", "--fix", "--interval=300ms", `--health-port=${port}`, "--health-bind-address=127.0.0.1"];
    const watch = lab.process("watch", ...lab.doctorFlags(...flags));
    const metrics = async () => (await get(`http://127.0.0.1:${port}/metrics`)).body;
    await watch.ready("it has looked", SOON, async () => (await get(`http://127.0.0.1:${port}/readyz`)).status === 200);
    lab.writeUserData("w-1", "{}");
    await until("the fix is counted", SOON, async () =>
      (await metrics()).includes('fixes_total{code="DB_NODE_USER_DATA",outcome="done"} 1'),
    );
    expect(lab.userData("w-1")).toContain("Bearer ");
    const gauge = 'findings{code="DB_NODE_NOT_READY",pool="drawbridge/workers",state="failed",subject="far-0"} 1';
    await lab.setReady("far-0", "False");
    await until("the node's trouble is measured", SOON, async () => (await metrics()).includes(gauge));
    await lab.setReady("far-0", "True");
    await until("it is over", SOON, async () => !(await metrics()).includes(gauge));
    await watch.stop();
    expect(watch.log()).toContain("shutting down");
    expect(watch.log()).toMatch(/write .*w-1\.ign again/);
    expect(watch.log()).toMatch(/node far-0 is not Ready[\s\S]*no longer so.*DB_NODE_NOT_READY/);
  });

  test("no token is in anything the doctor, the machines or the controller said", async () => {
    const { oldToken = "?", token = "?" } = readTokenSecret(await lab.tokenSecret());
    const { text } = await lab.doctor();
    const said = [
      text,
      ...["watch.log", "controller.log", "ignition.log"].map((file) => readFileSync(lab.scope.file(file), "utf8")),
    ];
    for (const each of [token, oldToken]) {
      for (const one of said) expect([one.includes(each), one.includes(encoded(each))]).toEqual([false, false]);
    }
  });
});

/** Every entry below a directory, with what makes it what it is. */
function treeOf(root: string, at = "/"): [path: string, what: string][] {
  return readdirSync(join(root, at))
    .sort()
    .flatMap((name): [string, string][] => {
      const path = join(at, name);
      const place = join(root, path);
      const status = lstatSync(place);
      const mode = (status.mode & 0o7777).toString(8);
      if (status.isSymbolicLink()) return [[path, `link to ${readlinkSync(place)}`]];
      if (status.isDirectory()) return [[path, `directory ${mode}`], ...treeOf(root, path)];
      return [[path, `file ${mode} ${readFileSync(place).toString("base64")}`]];
    });
}
