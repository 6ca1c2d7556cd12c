/** drawbridge doctor where it is meant to run: beside real servers and agents, with faults that are really there. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Finding } from "../../src/base/finding.js";
import type { DoctorRole } from "../../src/insight/diagnosis/programs.js";
import { certificatesFor, writePki } from "../../src/tunnel/pki/write-pki.js";
import { type ControlPlane, makeControlPlane } from "../support/lab/control-plane.js";
import { controlPlaneExecutables, equipped, underTest } from "../support/lab/equipment.js";
import { grpcOverUds, writeEgressConfig } from "../support/lab/frontends.js";
import { get } from "../support/lab/http.js";
import { LabProcess } from "../support/lab/process.js";
import { must, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { address, makeTopology, type Place, type Topology } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";

const drawbridge = fileURLToPath(new URL("../../dist/bin/drawbridge", import.meta.url));
const ready = await equipped({ namespaces: true });
const withApi = await equipped({ namespaces: true, controlPlane: true });

interface Report {
  readonly role: DoctorRole;
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

async function doctor(netns: string, ...words: string[]): Promise<Report & { code: number }> {
  const { code, stdout, stderr } = await run([drawbridge, "doctor", "--output", "json", ...words], { netns });
  expect(stderr).toBe("");
  const report = JSON.parse(stdout) as Report;
  expect(code).toBe(report.ok ? 0 : 1);
  return { ...report, code };
}

/** `state id` of everything that is not in order. */
const complaints = ({ findings }: Report): string[] =>
  findings
    .filter(({ state }) => state === "failed" || state === "warning")
    .map(({ state, check }) => `${state} ${check}`);

const of = ({ findings }: Report, id: string): Finding => {
  const found = findings.find(({ check }) => check === id);
  if (found === undefined)
    throw new Error(`${id} was not asked; asked were ${findings.map(({ check }) => check).join(", ")}`);
  return found;
};

describe.skipIf(!ready)("drawbridge doctor beside server and agent", () => {
  let lab: Scope;
  let scope: Scope;
  let topology: Topology;
  let pki: string;
  /** Short: a socket's path must fit, and lab folders are deep. */
  let runtime: string;

  beforeAll(async () => {
    lab = new Scope("doctor");
    topology = await makeTopology(lab);
  });
  afterAll(() => lab?.close());
  beforeEach(async () => {
    scope = new Scope("doctor-case");
    pki = scope.file("pki");
    runtime = mkdtempSync(join(tmpdir(), "db-run-"));
    mkdirSync(join(runtime, "s"), { mode: 0o770 });
    scope.defer(() => rmSync(runtime, { recursive: true, force: true }));
    await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: [address.bs] }));
  });
  afterEach(() => scope.close());

  const socket = () => join(runtime, "s", "k.sock");

  async function startServer(certificates = pki, ...flags: string[]): Promise<LabProcess> {
    const server = LabProcess.start(scope, {
      name: "server",
      netns: topology.bs,
      command: [
        underTest("proxy-server"),
        ...["--mode=grpc", `--uds-name=${socket()}`, "--server-port=0", "--agent-port=8091"],
        ...["--health-port=2041", "--admin-port=8095", "--proxy-strategies=defaultRoute"],
        `--cluster-cert=${certificates}/server.crt`,
        `--cluster-key=${certificates}/server.key`,
        `--cluster-ca-cert=${certificates}/ca.crt`,
        ...flags,
      ],
    });
    await server.ready(
      "healthy",
      60_000,
      async () => (await get("http://127.0.0.1:2041/healthz", topology.bs)).status === 200,
    );
    return server;
  }

  async function startAgent(place: Place): Promise<LabProcess> {
    const agent = LabProcess.start(scope, {
      name: `agent-${place}`,
      netns: topology[place],
      command: [
        underTest("proxy-agent"),
        ...[`--proxy-server-host=${address.bs}`, "--proxy-server-port=8091", `--ca-cert=${pki}/ca.crt`],
        ...[`--agent-cert=${pki}/agent.crt`, `--agent-key=${pki}/agent.key`, "--agent-identifiers=default-route=true"],
        ...["--health-server-port=2042", "--admin-server-port=8094", "--sync-interval=500ms", "--sync-interval-cap=1s"],
      ],
    });
    await agent.ready(
      "healthy",
      60_000,
      async () => (await get("http://127.0.0.1:2042/healthz", topology[place])).status === 200,
    );
    return agent;
  }

  const onServer = (...more: string[]) =>
    doctor(
      topology.bs,
      "--pki",
      pki,
      "--socket",
      socket(),
      "--address",
      address.bs,
      "--pod-network",
      "10.128.0.0/14",
      "--service-network",
      "172.30.0.0/16",
      ...more,
    );
  const onAgent = (...more: string[]) => doctor(topology.n1, "--pki", pki, ...more);

  test("finds nothing wrong where all is well, and where it is", async () => {
    await startServer();
    await startAgent("n1");
    const connected = async () => (await get("http://127.0.0.1:2041/readyz", topology.bs)).status === 200;
    await until("the agent to be connected", 60_000, connected);
    const frontendPlace = { socket: socket(), host: "", port: 0, caFile: "", client: { cert: "", key: "" } };
    const egress = writeEgressConfig(scope.file("egress.json"), grpcOverUds, frontendPlace);
    const server = await onServer("--egress-config", egress);
    expect({ role: server.role, complaints: complaints(server) }).toEqual({ role: "server", complaints: [] });
    for (const id of [
      "network-overlap",
      "route-to-pods",
      "address",
      "ports",
      "socket",
      "certificates",
      "egress-config",
      "health",
      "server-reachable",
    ])
      expect(of(server, id)).toMatchObject({ state: "ok" });
    expect(of(server, "address").evidence[0]).toBe("chosen: --address is 192.168.66.10.");
    expect(of(server, "ports").message).toMatch(/TCP 8091 \(agents\) is the server's/);
    const agent = await onAgent();
    expect({ role: agent.role, complaints: complaints(agent) }).toEqual({ role: "agent", complaints: [] });
    expect(of(agent, "server-reachable").message).toBe(
      "the server at 192.168.66.10:8091 takes the agent's connection, and the agent trusts it",
    );
    const elsewhere = await doctor(topology.infra);
    expect({ role: elsewhere.role, complaints: complaints(elsewhere) }).toEqual({
      role: "workstation",
      complaints: [],
    });
  });

  test("F1: a dropped port is told from a closed one, on the agent's side", async () => {
    await startAgent("n1");
    const closed = await onAgent();
    expect(complaints(closed)).toEqual(["failed health", "failed server-reachable"]);
    expect(of(closed, "server-reachable").message).toMatch(
      /^cannot connect to 192\.168\.66\.10:8091: connection refused .* nothing listens there, or a firewall rejects it/,
    );
    await startServer();
    const rule = ["INPUT", "-p", "tcp", "--dport", "8091", "-j", "DROP"];
    await must(["iptables", "-I", ...rule], { netns: topology.bs });
    try {
      const dropped = await doctor(topology.n2, "--role", "agent", "--address", address.bs, "--pki", pki);
      expect(of(dropped, "server-reachable")).toMatchObject({
        state: "failed",
        message: expect.stringMatching(/^cannot connect to 192\.168\.66\.10:8091: no answer in time/),
        remedy: expect.stringMatching(/firewall/),
      });
    } finally {
      await must(["iptables", "-D", ...rule], { netns: topology.bs });
    }
  });

  test("a certificate for another address, as agents see it and as the server's host sees it", async () => {
    const other = scope.file("other");
    await writePki(other, await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.77"] }));
    await startServer(other);
    const agent = await doctor(topology.n1, "--role", "agent", "--address", address.bs, "--pki", other);
    expect(of(agent, "server-reachable").message).toMatch(
      /^the certificate of the server at 192\.168\.66\.10:8091 .* is not for 192\.168\.66\.10, which was dialled, but for 192\.168\.66\.77/,
    );
    const server = await doctor(topology.bs, "--pki", other, "--socket", socket(), "--address", address.bs);
    expect(complaints(server)).toEqual(["failed certificates", "failed health", "failed server-reachable"]);
  });

  test("certificates of a shifted clock", async () => {
    const early = scope.file("early");
    await writePki(
      early,
      await certificatesFor("bootstrap", { ipAddresses: [address.bs] }, new Date(Date.now() + 30 * 3_600_000)),
    );
    await startServer(early);
    const agent = await doctor(topology.n1, "--role", "agent", "--address", address.bs, "--pki", early);
    expect(of(agent, "server-reachable")).toMatchObject({
      message: expect.stringMatching(/is not valid yet, only in 1 d/),
      remedy: expect.stringMatching(/chronyc/),
    });
  });

  test("somebody else on the port, a socket for everybody, networks that overlap, a route that is already there", async () => {
    const listen = `require("node:net").createServer().listen(8091, () => console.log("up"))`;
    const squatter = LabProcess.start(scope, {
      name: "squatter",
      netns: topology.bs,
      command: [process.execPath, "-e", listen],
    });
    await squatter.ready("listening", 10_000, () => squatter.log().includes("up"));
    mkdirSync(join(runtime, "open"), { mode: 0o777 });
    await must(["chmod", "777", join(runtime, "open")]);
    await must(["ip", "-n", topology.bs, "route", "add", "10.132.0.0/24", "via", address.n1]);
    try {
      const report = await doctor(
        topology.bs,
        ...["--role", "server", "--pki", pki, "--socket", join(runtime, "open", "k.sock"), "--address", address.bs],
        ...["--pod-network", "10.132.0.0/14", "--machine-network", "10.133.0.0/16,192.168.66.0/24"],
      );
      expect(complaints(report)).toEqual([
        "failed network-overlap",
        "warning route-to-pods",
        "failed ports",
        "failed socket",
        "warning health",
      ]);
      expect(of(report, "ports")).toMatchObject({
        message: `TCP 8091 (agents) is taken by process ${squatter.pid}, which is no proxy-server`,
        remedy: expect.stringMatching(/--agent-port/),
      });
      expect(of(report, "route-to-pods").evidence).toEqual(["10.132.0.0/24 via 192.168.66.11 dev eth0"]);
      expect(of(report, "network-overlap").message).toMatch(
        /10\.133\.0\.0\/16 and the pod network 10\.132\.0\.0\/14 overlap/,
      );
    } finally {
      await must(["ip", "-n", topology.bs, "route", "del", "10.132.0.0/24"]);
    }
  });

  test("no default route: no address to give to agents", async () => {
    await must(["ip", "-n", topology.n2, "route", "del", "default"]);
    const report = await doctor(topology.n2, "--role", "server", "--pki", pki, "--socket", socket());
    expect(of(report, "address")).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/^This host has no address that agents could dial/),
    });
    await must(["ip", "-n", topology.n2, "route", "add", "default", "via", address.infra]);
  });

  test("prints for people, failed checks first", async () => {
    const { code, stdout } = await run([drawbridge, "doctor", "--role", "agent", "--address", address.bs], {
      netns: topology.n1,
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Checks for an agent's host \(--role agent\).*\.\n(?:.*\n)?\nFAILED {3}server-reachable \(DB_CONNECT_REFUSED\): Cannot connect to .*: connection refused .*\n {9}Do: Start the server/,
    );
    expect(stdout).toMatch(/\n1 failed, \d warnings?, \d ok, \d skipped\.\n$/);
    expect((await run([drawbridge, "doctor", "--role", "nurse"])).code).toBe(2);
  });
});

describe.skipIf(!withApi)("drawbridge doctor with a real kube-apiserver", () => {
  let scope: Scope;
  let topology: Topology;
  let plane: ControlPlane;

  beforeAll(async () => {
    scope = new Scope("doctor-api");
    topology = await makeTopology(scope);
    plane = await makeControlPlane(scope, {
      executables: controlPlaneExecutables(),
      netns: topology.bs,
      host: address.bs,
    });
    await plane.apiServer.start();
  });
  afterAll(() => scope?.close());

  test("an administrator may do everything, and the clocks agree", async () => {
    const report = await doctor(topology.n1, "--role", "workstation", "--kubeconfig", plane.adminConfig);
    expect(complaints(report)).toEqual([]);
    expect(of(report, "kubeconfig").message).toMatch(/^the API at https:\/\/192\.168\.66\.10:6443 answers \(v1\./);
    expect(of(report, "permissions").state).toBe("ok");
    expect(of(report, "clock").message).toBe("this host's clock agrees with the API server's");
  });

  test("somebody else may not, and is told what is missing", async () => {
    const kubeconfig = plane.kubeconfig("jane");
    const report = await doctor(topology.n1, "--role", "workstation", "--kubeconfig", kubeconfig, "--for", "openshift");
    expect(complaints(report)).toEqual(["failed permissions"]);
    expect(of(report, "permissions").message).toMatch(
      /may not create namespaces, .*create daemonsets -n openshift-bootstrap-konnectivity/,
    );
  });

  test("a kubeconfig that is none, and an API that is gone", async () => {
    const none = await doctor(topology.n1, "--role", "workstation", "--kubeconfig", scope.file("nothing"));
    expect(of(none, "kubeconfig")).toMatchObject({ state: "failed", message: expect.stringMatching(/cannot be read/) });
    await plane.apiServer.stop();
    const gone = await doctor(topology.n1, "--role", "workstation", "--kubeconfig", plane.adminConfig);
    expect(of(gone, "kubeconfig")).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/did not answer GET \/version/),
    });
  });
});
