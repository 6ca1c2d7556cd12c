/** drawbridge doctor and drawbridge support beside real processes of every tunnel role, healthy and broken. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../src/base/finding.js";
import type { DoctorRole } from "../../src/insight/diagnosis/programs.js";
import type { SupportManifest } from "../../src/insight/support/bundle.js";
import { certificatesFor, writePki } from "../../src/tunnel/pki/write-pki.js";
import { equipped, underTest } from "../support/lab/equipment.js";
import { get } from "../support/lab/http.js";
import { LabProcess } from "../support/lab/process.js";
import { run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { address, makeTopology, type Place, type Topology } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";

const drawbridge = fileURLToPath(new URL("../../dist/bin/drawbridge", import.meta.url));
const ready = await equipped({ namespaces: true });

const TOKEN = "planted-admin-token-0123456789abcdef";
const PASSWORD = "planted-password-of-the-proxy";
const BEARER = "planted-bearer-0123456789";

interface Report {
  readonly role: DoctorRole;
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

describe.skipIf(!ready)("server, agent, sidecar and Ignition server, each in a network of its own", () => {
  let scope: Scope;
  let topology: Topology;
  let pki: string;
  let tokenFile: string;
  let agent: LabProcess;
  let server: LabProcess;

  beforeAll(async () => {
    scope = new Scope("support");
    topology = await makeTopology(scope);
    pki = scope.file("pki");
    tokenFile = scope.file("admin-token");
    writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
    await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: [address.bs] }));
    server = await startServer();
    agent = start("agent", "n1", [
      underTest("proxy-agent"),
      ...[`--proxy-server-host=${address.bs}`, "--proxy-server-port=8091", `--ca-cert=${pki}/ca.crt`],
      ...[`--agent-cert=${pki}/agent.crt`, `--agent-key=${pki}/agent.key`, `--admin-token-file=${tokenFile}`],
      ...["--health-server-port=2042", "--sync-interval=500ms", "--sync-interval-cap=1s"],
    ]);
    // A probe that came before the agent would stand among the refusals.
    await until("the agent to be connected", 60_000, () => isReady("bs", 2041));
    start("sidecar", "n2", [
      drawbridge,
      ...["sidecar", `--frontend=http-connect+tcp:${address.bs}:8090`, `--ca-cert-path=${pki}/ca.crt`],
      ...[`--tls-cert-path=${pki}/agent.crt`, `--tls-key-path=${pki}/agent.key`, "--probe-interval=300ms"],
      ...["--health-port=2043", "--admin-port=8096", `--admin-token-file=${tokenFile}`],
      `--https-proxy=http://jane:${PASSWORD}@proxy.example:3128`,
    ]);
    await until("the sidecar's probe to get through", 60_000, () => isReady("n2", 2043));
  });
  afterAll(() => scope?.close());

  const start = (name: string, place: Place, command: [string, ...string[]]) =>
    LabProcess.start(scope, { name, netns: topology[place], command });

  const isReady = async (place: Place, port: number) =>
    (await get(`http://127.0.0.1:${port}/readyz`, topology[place])).status === 200;

  async function startServer(): Promise<LabProcess> {
    const started = start("server", "bs", [
      underTest("proxy-server"),
      ...["--mode=http-connect", "--server-port=8090", "--agent-port=8091", "--health-port=2041"],
      ...[`--cluster-cert=${pki}/server.crt`, `--cluster-key=${pki}/server.key`, `--cluster-ca-cert=${pki}/ca.crt`],
      ...[`--server-cert=${pki}/server.crt`, `--server-key=${pki}/server.key`, `--server-ca-cert=${pki}/ca.crt`],
      `--admin-token-file=${tokenFile}`,
    ]);
    const isUp = async () => (await get("http://127.0.0.1:2041/healthz", topology.bs)).status === 200;
    await started.ready("healthy", 60_000, isUp);
    return started;
  }

  async function doctor(place: Place, ...words: string[]): Promise<Report> {
    const command = [drawbridge, "doctor", "--output=json", ...words];
    const { code, stdout, stderr } = await run(command, { netns: topology[place] });
    expect(stderr).toBe("");
    const report = JSON.parse(stdout) as Report;
    expect(code).toBe(report.ok ? 0 : 1);
    expect(stdout).not.toContain(TOKEN);
    return report;
  }
  const onServer = () => doctor("bs", "--pki", pki, "--address", address.bs);
  const onAgent = () => doctor("n1", "--pki", pki);

  const complaints = ({ findings }: Report): string[] =>
    findings
      .filter(({ state }) => state === "failed" || state === "warning")
      .map(({ check, message }) => `${check}: ${message}`);
  const fine = ({ findings }: Report): string[] =>
    findings.filter(({ state }) => state === "ok").map(({ check }) => check);

  test("healthy: every role is found out and all is fine", async () => {
    const reports = [await onServer(), await onAgent(), await doctor("n2")];
    expect(reports.map(({ role }) => role)).toEqual(["server", "agent", "sidecar"]);
    expect(reports.map(complaints)).toEqual([[], [], []]);
    const [atServer = [], atAgent = [], atSidecar = []] = reports.map(fine);
    const everywhere = ["health", "admin-api", "certificates-in-use", "listeners", "refusals"];
    for (const ids of [atServer, atAgent, atSidecar]) expect(ids).toEqual(expect.arrayContaining(everywhere));
    expect(atServer).toEqual(expect.arrayContaining(["agents-connected", "ports", "certificates", "server-reachable"]));
    expect(atAgent).toEqual(expect.arrayContaining(["servers-connected", "server-reachable"]));
    expect(atSidecar).toEqual(expect.arrayContaining(["frontend", "resolution", "path"]));
  });

  test("a bundle has all of it, for its owner only, and no secret", async () => {
    const out = scope.file("support.tar.gz");
    const log = scope.file("proxy.log");
    const key = readFileSync(`${pki}/agent.key`, "utf8");
    writeFileSync(
      log,
      [
        `up`,
        `Authorization: Bearer ${BEARER}`,
        `the token is ${TOKEN}`,
        key,
        `http://jane:${PASSWORD}@proxy.example:3128`,
        "last line",
      ].join("\n"),
    );
    const config = scope.file("values.yaml");
    writeFileSync(
      config,
      `proxy:\n  url: http://jane:${PASSWORD}@proxy.example\n  adminToken: ${TOKEN}\nreplicas: 3\n`,
    );
    const { code, stdout, stderr } = await run(
      [
        ...[drawbridge, "support", `--out=${out}`, "--output=json", "--pki", pki, "--address", address.bs],
        ...["--admin=http://127.0.0.1:8095", "--admin=http://127.0.0.1:1", `--token-file=${tokenFile}`],
        ...[`--log-file=${log}`, `--config-file=${config}`, `--config-file=${pki}/agent.key`],
      ],
      { netns: topology.bs },
    );
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const manifest = JSON.parse(stdout) as SupportManifest & { out: string };
    const paths = manifest.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        ...["platform.json", "doctor.json", "doctor.txt", "processes.txt", "logs/proxy.log", "config/values.yaml"],
        ...["admin/127.0.0.1_8095/dump.json", "admin/127.0.0.1_8095/metrics.txt"],
        "admin/127.0.0.1_8095/flight/links.json",
      ]),
    );
    expect(manifest.leftOut.map(({ path }) => path)).toEqual(["config/agent.key"]);
    expect(manifest.missing.map(({ name }) => name)).toEqual(
      ["dump", "metrics", "flight recorder"].map((what) => `${what} of 127.0.0.1:1`),
    );
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const packed = readFileSync(out);
    const bytes = gunzipSync(packed).toString("latin1");
    const keyLine = key.split("\n")[1] ?? "";
    expect(keyLine.length).toBeGreaterThan(30);
    for (const secret of [TOKEN, BEARER, PASSWORD, keyLine]) {
      expect(bytes.includes(secret), secret).toBe(false);
      expect(packed.includes(secret)).toBe(false);
    }
    for (const text of ["last line", "replicas: 3", '"role": "server"', "konnectivity_network_proxy_server"]) {
      expect(bytes, text).toContain(text);
    }
    // The list that is printed is the one within.
    const { out: _, ...within } = manifest;
    expect(bytes).toContain(JSON.stringify(within, null, 2));
    const ofItsOwn = ["--admin=http://127.0.0.1:8096", `--token-file=${tokenFile}`];
    const beside = await run([drawbridge, "support", `--out=${scope.file("sidecar.tar.gz")}`, ...ofItsOwn], {
      netns: topology.n2,
    });
    expect(beside).toMatchObject({ code: 0, stdout: expect.stringContaining("processes.txt") });
    // A sidecar has no links whose packets could be remembered.
    expect(beside.stdout).not.toContain("flight");
    const ofSidecar = gunzipSync(readFileSync(scope.file("sidecar.tar.gz"))).toString("latin1");
    expect(ofSidecar).toContain("http://[removed]@proxy.example:3128");
    expect(ofSidecar).not.toContain(PASSWORD);
  });

  test("a bundle that cannot be written is refused with one sentence and leaves nothing behind", async () => {
    const said = async (...words: string[]) => {
      const { code, stderr } = await run([drawbridge, "support", ...words], { netns: topology.infra });
      return [code, /\((DB_\w+): /.exec(stderr)?.[1], stderr.trim().split("\n").length];
    };
    expect(await said("--out=x.tar.gz", "--admin=http://127.0.0.1:1")).toEqual([2, "DB_FLAG_MISSING", 1]);
    expect(await said("--out=x.tar.gz", "--admin=http://a:b@127.0.0.1:1")).toEqual([2, "DB_FLAG_VALUE", 1]);
    expect(await said(`--out=${scope.file("absent")}/x.tar.gz`)).toEqual([1, "DB_SUPPORT", 1]);
  });

  test("an Ignition server whose certificate is for another name, and that has nothing to serve", async () => {
    const directory = scope.file("objects");
    mkdirSync(directory);
    writeFileSync(
      `${directory}/cluster.yaml`,
      [
        "apiVersion: v1",
        "kind: ConfigMap",
        'metadata: {name: demo, namespace: pools, labels: {drawbridge/cluster: "true"}}',
        "data: {ignitionEndpoint: ignition.example:22624}",
        "",
      ].join("\n"),
    );
    const payload = scope.file("payload.yaml");
    writeFileSync(payload, "profile: kubelet\nkubelet: {clusterDns: [10.96.0.10]}\n");
    const ignition = start("ignition", "wh", [
      drawbridge,
      ...["ignition", "serve", "--addr=127.0.0.1:9090", "--metrics-addr=127.0.0.1:8080", "--namespace=pools"],
      ...[`--directory=${directory}`, `--payload=${payload}`],
      ...[`--cert-file=${pki}/server.crt`, `--key-file=${pki}/server.key`],
      ...["--admin-addr=127.0.0.1:8095", `--admin-token-file=${tokenFile}`],
    ]);
    await ignition.ready("up", 60_000, () => ignition.log().includes("ignition server is up"));
    const report = await doctor("wh");
    expect(report.role).toBe("ignition");
    expect(complaints(report)).toEqual([
      "ignition-certificate: the Ignition server's certificate is not for ignition.example, so machines that are given that address retry for ever",
      "ignition-tokens: no pool has a token Secret in pools, so every machine gets 511",
    ]);
    expect(fine(report)).toEqual(expect.arrayContaining(["health", "admin-api", "certificates-in-use", "listeners"]));
  });

  test("a pool controller that leads, and the pool it complains of", async () => {
    const directory = scope.file("pools");
    mkdirSync(directory);
    const controller = start("controller", "ag", [
      drawbridge,
      ...["nodepool", "controller", `--directory=${directory}`, "--namespace=pools", "--health-port=2044"],
    ]);
    await until("the controller to lead", 60_000, () => controller.log().includes("this replica looks after"));
    const idle = await doctor("ag");
    expect({ role: idle.role, complaints: complaints(idle) }).toEqual({ role: "nodepool", complaints: [] });
    expect(fine(idle)).toEqual(expect.arrayContaining(["health", "lease", "pools"]));
    writeFileSync(
      `${directory}/pool.yaml`,
      [
        "apiVersion: hypershift.openshift.io/v1beta1",
        "kind: NodePool",
        "metadata: {name: workers, namespace: pools}",
        "spec: {clusterName: nobody, replicas: 1, release: {image: x}, platform: {type: None}, management: {upgradeType: Replace}}",
        "",
      ].join("\n"),
    );
    // Its cluster is not there, so the controller that leads cannot do anything for it.
    expect(complaints(await doctor("ag"))).toEqual(["pools: no controller has handled pool pools/workers"]);
    await controller.stop();
    const stopped = await doctor("ag", "--role=nodepool");
    expect(complaints(stopped)[0]).toBe("health: no pool controller runs in this network");
  });

  test("the agent killed: the server's side and the sidecar's side name it", async () => {
    await agent.kill();
    await until("the server to notice", 60_000, async () => !(await isReady("bs", 2041)));
    await until("the sidecar to notice", 60_000, async () => !(await isReady("n2", 2043)));
    const reported = complaints(await onServer());
    expect(reported).toContain("health: the proxy-server is not ready");
    expect(reported).toContain("agents-connected: no agent is connected, so no dial can be served");
    const beside = complaints(await doctor("n2"));
    expect(beside).toContain("health: the sidecar is not ready");
    expect(beside.some((text) => text.startsWith("path: bytes do not get through"))).toBe(true);
    expect(beside.some((text) => text.startsWith("frontend:"))).toBe(false);
    expect(complaints(await doctor("n1", "--role", "agent", "--pki", pki, "--address", address.bs))).toEqual([
      "health: no proxy-agent runs in this network",
    ]);
  });

  test("the server's certificate for another name, then the frontend gone", async () => {
    await server.kill();
    const gone = complaints(await doctor("n2"));
    expect(gone).toContainEqual(expect.stringMatching(/^frontend: .*192\.168\.66\.10:8090: connection refused /));
    pki = scope.file("other");
    await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.77"] }));
    await startServer();
    const other = complaints(await doctor("n2"));
    expect(other).toContainEqual(expect.stringMatching(/^frontend: the certificate of .*192\.168\.66\.10:8090 /));
    expect(complaints(await onServer())).toContainEqual(
      expect.stringMatching(/^server-reachable: .* is not for 192\.168\.66\.10, /),
    );
  });
});
