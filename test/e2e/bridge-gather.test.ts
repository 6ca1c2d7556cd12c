/**
 * F1, L1, L2: faults that really happen in the lab, gathered and named. Servers and agents run in network namespaces,
 * ours and upstream's; the bootstrap host is reached over a real sshd; agents as pods are asked through a real API.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Finding } from "../../src/base/finding.js";
import { inject } from "../../src/cluster/bootstrap/inject/inject.js";
import type { Analysis } from "../../src/insight/diagnosis/analyze.js";
import { certificatesFor, writePki } from "../../src/tunnel/pki/write-pki.js";
import { BootstrapHost } from "../support/ignition-fixtures/host/bootstrap-host.js";
import { bootstrapIgnition } from "../support/ignition-fixtures/ignition.js";
import { shapes } from "../support/ignition-fixtures/releases.js";
import { hasTools } from "../support/ignition-fixtures/tools.js";
import { AGENTS, BridgeByHand } from "../support/lab/bridge/by-hand.js";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import { equipped } from "../support/lab/equipment.js";
import { get } from "../support/lab/http.js";
import { LabProcess } from "../support/lab/process.js";
import { must, type Outcome, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { address, makeTopology, type Topology } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";
import { executable, type Origin } from "../support/processes/executables.js";
import { hasSshd, SshHost, Workstation } from "./bridge-ssh-host.js";

const drawbridge = fileURLToPath(new URL("../../dist/bin/drawbridge", import.meta.url));
const hour = 3_600_000;

const inNamespaces = await equipped({ namespaces: true, upstream: true });
const onHost =
  (await equipped({ controlPlane: true, namespaces: true })) && hasTools("bash", "ip", "jq", "openssl") && hasSshd();
const withPods = await equipped({ bridge: true });

async function analyzed(archive: string): Promise<Analysis> {
  const { stdout, stderr } = await run([drawbridge, "bootstrap", "analyze", "--output", "json", archive]);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Analysis;
}

const ids = ({ findings }: Analysis): string[] => findings.map(({ likelihood, check }) => `${likelihood} ${check}`);
const fileOf = (evidence: string | undefined): string | undefined => evidence && /^[^:]+/.exec(evidence)?.[0];

/** Everything in the archive, as one text. */
const unpacked = (archive: string): string =>
  execFileSync("tar", ["-xzOf", archive], { encoding: "latin1", maxBuffer: 1e9 });

/** Searches for what may never leave: each private key given, any PEM key, tokens, credentials of kubeconfigs, Secrets. */
function expectNoSecrets(archive: string, privateKeys: readonly string[]): void {
  const text = unpacked(archive);
  expect(text.length).toBeGreaterThan(1000);
  expect(privateKeys.length).toBeGreaterThan(0);
  for (const pem of privateKeys) {
    const lines = pem.split("\n").filter((line) => line.length > 30 && !line.startsWith("-----"));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(text).not.toContain(line.slice(0, 40));
    // The same inside base64, at any of its three offsets.
    for (const offset of [0, 1, 2]) {
      const part = Buffer.from(pem.slice(offset + 40, offset + 40 + 60))
        .toString("base64")
        .slice(4, 60);
      expect(text).not.toContain(part);
    }
  }
  expect(text).not.toMatch(/-----BEGIN [A-Z ]*PRIVATE KEY-----/);
  expect(text).not.toMatch(/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/);
  expect(text).not.toMatch(/client-key-data|"kind":\s*"Secret"|^kind: Secret$/m);
  const names = execFileSync("tar", ["-tzf", archive], { encoding: "utf8" });
  expect(names).not.toMatch(/\.key$|kubeconfig|secret/im);
}

describe.skipIf(!inNamespaces).each<Origin>(["ours", "theirs"])("faults of %s programs", (origin) => {
  let lab: Scope;
  let scope: Scope;
  let topology: Topology;
  let server: LabProcess;
  let agents: LabProcess[];

  beforeAll(async () => {
    lab = new Scope("faults");
    topology = await makeTopology(lab);
  });
  afterAll(() => lab?.close());
  beforeEach(() => {
    scope = new Scope("fault");
    agents = [];
  });
  afterEach(() => scope.close());

  async function pki(name: string, ip: string = address.bs, shiftMs = 0): Promise<string> {
    const directory = scope.file(name);
    await writePki(
      directory,
      await certificatesFor("bootstrap", { ipAddresses: [ip] }, new Date(Date.now() + shiftMs)),
    );
    return directory;
  }

  const serverArguments = (certificates: string, strategies = "defaultRoute") => [
    ...["--mode=grpc", `--uds-name=${scope.file("s.sock")}`, "--server-port=0", "--agent-port=8091"],
    ...["--health-port=2041", "--admin-port=8095", `--proxy-strategies=${strategies}`],
    `--cluster-cert=${certificates}/server.crt`,
    `--cluster-key=${certificates}/server.key`,
    `--cluster-ca-cert=${certificates}/ca.crt`,
  ];

  async function startServer(certificates: string, strategies?: string): Promise<void> {
    server = LabProcess.start(scope, {
      name: "server",
      netns: topology.bs,
      command: [executable(origin, "proxy-server"), ...serverArguments(certificates, strategies)],
    });
    const healthy = async () => (await get("http://127.0.0.1:2041/healthz", topology.bs)).status === 200;
    await server.ready("healthy", 60_000, healthy);
  }

  function startAgents(certificates: string): void {
    agents = (["n1", "ag"] as const).map((place) =>
      LabProcess.start(scope, {
        name: `agent-${place}`,
        netns: topology[place],
        command: [
          executable(origin, "proxy-agent"),
          ...[`--proxy-server-host=${address.bs}`, "--proxy-server-port=8091", `--ca-cert=${certificates}/ca.crt`],
          ...[`--agent-cert=${certificates}/agent.crt`, `--agent-key=${certificates}/agent.key`],
          ...["--agent-identifiers=default-route=true", "--sync-interval=500ms", "--sync-interval-cap=1s"],
          ...["--health-server-port=2042", "--admin-server-port=8094"],
        ],
      }),
    );
  }

  const everyAgentSays = (what: RegExp, withinMs = 30_000) =>
    until(`agents to say ${what}`, withinMs, () => agents.every((agent) => what.test(agent.log())));

  /** As somebody on the bootstrap host would, with plain files for logs. */
  async function gathered(certificates: string): Promise<{ archive: string; analysis: Analysis }> {
    const archive = scope.file("out.tar.gz");
    const logs = [
      ["--log", `konnectivity-server=${server.logFile}`],
      ...agents.map((agent) => ["--log", `konnectivity-${agent.name}=${agent.logFile}`]),
    ].flat();
    const words = [drawbridge, "bootstrap", "gather", "--out", archive, "--pki", certificates, ...logs];
    await must(words, { netns: topology.bs });
    return { archive, analysis: await analyzed(archive) };
  }

  const failed = /cannot connect once|cannot connect to server/;

  test("none: nothing is found, and no key is in the archive (L2)", async () => {
    const certificates = await pki("good");
    await startServer(certificates);
    startAgents(certificates);
    await everyAgentSays(/connected to (server|new proxy server)/);
    const { archive, analysis } = await gathered(certificates);
    expect(ids(analysis)).toEqual([]);
    expect(analysis).toMatchObject({ kind: "drawbridge" });
    expect(analysis.observations).toContain("2 of 2 agents were connected at the end of their logs.");
    expectNoSecrets(
      archive,
      ["server", "agent"].map((name) => readFileSync(`${certificates}/${name}.key`, "utf8")),
    );
    expect(statSync(archive).mode & 0o777).toBe(0o600);
  });

  test("F1: port 8091 dropped leads to the firewall; reopening heals", async () => {
    const rule = ["INPUT", "-p", "tcp", "--dport", "8091", "-j", "DROP"];
    await must(["iptables", "-A", ...rule], { netns: topology.bs });
    const certificates = await pki("good");
    try {
      await startServer(certificates);
      startAgents(certificates);
      await everyAgentSays(failed, 60_000);
      const { analysis } = await gathered(certificates);
      expect(ids(analysis)).toEqual(["likely port-blocked"]);
      const [finding] = analysis.findings;
      expect(finding?.message).toMatch(/^2 of 2 agents dial TCP 8091 .*although the server listens there/);
      expect(finding?.remedy).toMatch(/drawbridge firewall plan/);
      expect(fileOf(finding?.evidence[0])).toBe("bootstrap/containers/konnectivity-agent-n1-given.log");
    } finally {
      await must(["iptables", "-D", ...rule], { netns: topology.bs });
    }
    await everyAgentSays(/connected to (server|new proxy server)/, 60_000);
    expect(ids((await gathered(certificates)).analysis)).toEqual([]);
  });

  test.each<[string, string, number, string[]]>([
    ["a certificate for another address", "192.168.66.77", 0, ["certain certificate-san"]],
    ["certificates that have expired", address.bs, -30 * hour, ["certain certificate-expired"]],
    ["certificates of a clock that is ahead", address.bs, 30 * hour, ["certain certificate-not-yet-valid"]],
  ])("%s", async (_, ip, shiftMs, expected) => {
    const certificates = await pki("bad", ip, shiftMs);
    await startServer(certificates);
    startAgents(certificates);
    await everyAgentSays(failed);
    const { analysis } = await gathered(certificates);
    expect(ids(analysis)).toEqual(expected);
    const [finding] = analysis.findings;
    expect(finding?.evidence.map(fileOf)).toEqual(
      expect.arrayContaining(["bootstrap/containers/konnectivity-agent-n1-given.log", "bootstrap/pki/server.crt"]),
    );
    for (const line of finding!.evidence) if (fileOf(line)?.endsWith(".log")) expect(line).toMatch(/\.log:[1-9]\d*: /);
  });

  test("a server of another authority, and agents of another authority", async () => {
    const [mine, others] = [await pki("mine"), await pki("others")];
    await startServer(others);
    startAgents(mine);
    await everyAgentSays(failed);
    expect(ids((await gathered(others)).analysis)).toEqual(["certain certificate-authority"]);
    for (const running of [server, ...agents]) await running.kill();
    // The server is in order; it is the agents' certificates that it does not know.
    execFileSync("cp", [`${mine}/ca.crt`, scope.file("server-ca.crt")]);
    for (const name of ["agent.crt", "agent.key"]) execFileSync("cp", [`${others}/${name}`, `${mine}/${name}`]);
    for (const name of ["server.log", "agent-n1.log", "agent-ag.log"]) writeFileSync(scope.file(name), "");
    await startServer(mine);
    startAgents(mine);
    await everyAgentSays(failed);
    // The certificates that were gathered say it by themselves, too.
    expect(ids((await gathered(mine)).analysis)).toEqual(["likely certificate-authority", "likely agent-refused"]);
  });

  test("a server that does not start, again and again", async () => {
    const certificates = await pki("good");
    const words = [executable(origin, "proxy-server"), ...serverArguments(certificates), "--no-such-flag=1"];
    const loop = `while :; do ${words.map((word) => `'${word}'`).join(" ")}; sleep 0.2; done`;
    server = LabProcess.start(scope, { name: "server", netns: topology.bs, command: ["bash", "-c", loop] });
    startAgents(certificates);
    const complaints = () => (server.log().match(/Error: unknown flag/g) ?? []).length;
    await until("the server to have ended three times", 30_000, () => complaints() >= 3);
    await everyAgentSays(failed);
    const { analysis } = await gathered(certificates);
    expect(ids(analysis)).toEqual(["certain server-crash-loop", "possible port-closed"]);
    expect(analysis.findings[0]).toMatchObject({
      message: "the server ends again and again: unknown flag: --no-such-flag",
      evidence: [expect.stringContaining("bootstrap/containers/konnectivity-server-given.log:")],
    });
  });

  test("the strategies of OpenShift's installer, which never let the server be ready", async () => {
    const certificates = await pki("good");
    await startServer(certificates, "destHost,defaultRoute");
    startAgents(certificates);
    await everyAgentSays(/connected to (server|new proxy server)/);
    const { analysis } = await gathered(certificates);
    expect(ids(analysis)).toEqual(["certain never-ready"]);
    expect(analysis.findings[0]?.evidence.join()).toMatch(/answered 500.*defaultRoute 2/);
  });
});

describe.skipIf(!onHost)("a bootstrap host behind SSH", () => {
  let scope: Scope;
  let topology: Topology;
  let host: BootstrapHost;
  let sshd: SshHost;
  let workstation: Workstation;
  let directory: string;

  beforeAll(async () => {
    scope = new Scope("gather");
    topology = await makeTopology(scope);
    const networks = { service: ["172.30.0.0/16"], machine: ["192.168.66.0/24"] };
    const ignition = inject(bootstrapIgnition(shapes["4.18"], { networks }), {}).text;
    host = new BootstrapHost(scope, "bootstrap-host", topology.bs, ignition);
    sshd = new SshHost(scope, host, "sshd");
    workstation = new Workstation(scope);
    await sshd.process.ready("listening", 10_000, () => /listening on/i.test(sshd.process.log()));
    directory = sshd.installDirectory(scope.file("install"), address.bs);
    // What a careless gather would take along.
    mkdirSync(host.at("opt/openshift/auth"), { recursive: true });
    writeFileSync(
      host.at("opt/openshift/auth/kubeconfig"),
      "users:\n- user:\n    token: sha256~not-for-you-0123456789\n",
    );
  });
  afterAll(() => scope?.close());

  /** From a workstation that is none of the cluster's hosts. */
  const gather = (...words: string[]): Promise<Outcome> =>
    run([drawbridge, "bootstrap", "gather", ...words], { netns: topology.infra, env: workstation.env });

  test("L1: a failing stage, found with nothing but the install directory", async () => {
    host.toggle("no-image");
    expect((await host.bootkube({}, 60_000)).code).not.toBe(0);
    expect(host.recorded()).toContain("konnectivity-server-bootstrap failure");
    const out = scope.file("failed-stage.tar.gz");
    const outcome = await gather("--dir", directory, "--out", out);
    expect({ code: outcome.code, stderr: outcome.stderr }).toEqual({ code: 0, stderr: "" });
    expect(outcome.stdout).toMatch(new RegExp(`files from bootstrap host ${address.bs}`));
    const analysis = await analyzed(out);
    expect(ids(analysis)[0]).toBe("certain stage-failed");
    const [finding] = analysis.findings;
    expect(finding?.message).toMatch(/bootkube failed at stage konnectivity-server-bootstrap/);
    expect(finding?.evidence[0]).toMatch(/^bootstrap\/services\/bootkube\.json:\d+: /);
    const key = readFileSync(host.at("opt/openshift/tls/konnectivity/server.key"), "utf8");
    expectNoSecrets(out, [sshd.privateKey, key]);
    expect(unpacked(out)).not.toContain("not-for-you");
    expect(workstation.leftovers()).toEqual([]);
  });

  test("verify --dir names the same stage, and what it cannot see from there", async () => {
    const words = [drawbridge, "bootstrap", "verify", "--dir", directory, "--output=json"];
    const { code, stdout } = await run(words, { netns: topology.infra, env: workstation.env });
    expect(code).toBe(1);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const stage = findings.find(({ check }) => check === "stage-failed");
    expect(stage).toMatchObject({ state: "failed", subject: address.bs });
    expect(stage?.remedy).toContain("inject --image");
    expect(stage?.message).toMatch(/failed at stage konnectivity-server-bootstrap/);
    expect(findings.find(({ check }) => check === "webhooks")?.state).toBe("skipped");
    expect(workstation.leftovers()).toEqual([]);
  });

  test("L1: when the failed stage succeeds later, analyze reports its failure as history", async () => {
    host.toggle("no-image", false);
    host.toggle("control-plane-ready");
    const running = host.startBootkube({});
    // By then the stage that follows the manifests is on the record.
    await until("cluster-bootstrap to be started", 60_000, () => {
      return host.exists("opt/openshift/test/cluster-bootstrap-started");
    });
    const out = scope.file("good-stage.tar.gz");
    expect((await gather("--dir", directory, "--out", out)).code).toBe(0);
    expect(host.recorded()).toEqual(
      expect.arrayContaining(["konnectivity-server-bootstrap success", "konnectivity-agent-manifest success"]),
    );
    const analysis = await analyzed(out);
    // Nobody runs the static pod here, so nothing listens; the record of the failure is not held against it any more.
    expect(ids(analysis)).toEqual(["likely server-not-started"]);
    expect(analysis.observations.join()).toMatch(/bootkube was in stage cb-bootstrap.*started 2 times/);
    await running.kill();
  });

  test("nodes are reached through the bootstrap host", async () => {
    const node = sshd.listen(scope, host, "node-sshd", topology.n1);
    await node.ready("listening", 10_000, () => /listening on/i.test(node.log()));
    const logs = host.at("var/log/pods/x_konnectivity-agent-1_2/konnectivity-agent");
    mkdirSync(logs, { recursive: true });
    writeFileSync(join(logs, "0.log"), "2026-11-16T00:00:00Z stderr F hello from a node\n");
    const out = scope.file("node.tar.gz");
    const outcome = await gather("--dir", directory, "--node", address.n1, "--out", out);
    expect({ code: outcome.code, stderr: outcome.stderr }).toEqual({ code: 0, stderr: "" });
    expect(execFileSync("tar", ["-tzf", out], { encoding: "utf8" })).toMatch(
      /control-plane\/192\.168\.66\.11\/containers\/konnectivity-agent-/,
    );
    expect(node.log()).toMatch(/Accepted publickey for core from 192\.168\.66\.10 /);
  });

  test("the host's key is remembered in the install directory, and another one is refused", async () => {
    const known = join(directory, ".drawbridge_known_hosts");
    expect(readFileSync(known, "utf8")).toMatch(/^192\.168\.66\.10 /);
    writeFileSync(known, readFileSync(known, "utf8").replace(/^(\S+ \S+ ).*$/gm, `$1${otherKey(scope)}`));
    const before = readFileSync(known, "utf8");
    const out = scope.file("refused.tar.gz");
    const { code, stderr } = await gather("--dir", directory, "--out", out);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: 192\.168\.66\.10 cannot be used over SSH: it shows another host key .*\(DB_SSH: /);
    expect(existsSync(out)).toBe(false);
    expect(readFileSync(known, "utf8")).toBe(before);
    expect(workstation.leftovers()).toEqual([]);
  });

  test("Ctrl-C leaves no key and no half archive behind", async () => {
    // Takes the connection and never says a word.
    const mute = LabProcess.start(scope, {
      name: "mute",
      netns: topology.bs,
      command: [
        process.execPath,
        "-e",
        `require("node:net").createServer(() => {}).listen(2222, () => console.log("up"))`,
      ],
    });
    await mute.ready("listening", 10_000, () => mute.log().includes("up"));
    const out = scope.file("interrupted.tar.gz");
    const command = [drawbridge, "bootstrap", "gather", "--dir", directory, "--port", "2222", "--out", out] as const;
    const running = LabProcess.start(scope, {
      name: "interrupted",
      netns: topology.infra,
      env: workstation.env,
      command,
    });
    await until("the key to be written", 60_000, () => workstation.leftovers().length > 0 && half().length > 0);
    process.kill(running.pid, "SIGINT");
    await until("it to end", 30_000, () => !running.alive);
    expect({ keys: workstation.leftovers(), half: half() }).toEqual({ keys: [], half: [] });
    await mute.kill();
  });

  const half = () => readdirSync(scope.folder).filter((name) => name.endsWith(".tmp"));

  test("a wrong key, a closed port, a host that does not answer, a directory without key: one sentence each", async () => {
    const key = scope.file("stranger");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
    const out = scope.file("x.tar.gz");
    const refused = async (sentence: RegExp, ...words: string[]) => {
      const { code, stderr } = await gather("--out", out, ...words);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^Error: [^\n]*\n$/);
      expect(stderr).toMatch(sentence);
    };
    await refused(/does not accept the key/, "--bootstrap", address.bs, "--key", key);
    await refused(/nothing answers on its SSH port/, "--bootstrap", address.bs, "--port", "23", "--key", key);
    await refused(/no route|does not answer/, "--bootstrap", "192.168.66.99", "--key", key, "--timeout", "5s");
    mkdirSync(scope.file("empty"));
    await refused(/does not say where the bootstrap machine is.*DB_INSTALL_DIR/, "--dir", scope.file("empty"));
    await refused(/cannot be read.*DB_INSTALL_DIR/, "--dir", scope.file("empty"), "--bootstrap", address.bs);
    await refused(/nothing of a bridge on this host/);
    expect(existsSync(out)).toBe(false);
    expect((await gather("--bootstrap=-oProxyCommand=x")).code).toBe(2);
  });
});

function otherKey(scope: Scope): string {
  const file = scope.file("other-host-key");
  spawnSync("ssh-keygen", ["-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", file]);
  return readFileSync(`${file}.pub`, "utf8").split(" ")[1]!;
}

describe.skipIf(!withPods)("agents as pods", () => {
  let lab: BridgeLab;

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 1, production: true });
    // Before the first packet: what is established already would pass.
    await must(["iptables", "-A", "INPUT", "-p", "tcp", "--dport", "8091", "-j", "DROP"], { netns: lab.bs.netns });
    await BridgeByHand.raise(lab);
  });
  afterAll(() => lab?.stop());

  test("F1, L2: their logs come through the API, name the blocked port, and bring no Secret", async () => {
    const kubeconfig = lab.production!.adminConfig;
    const pods = () =>
      lab.production!.admin.run(["get", "pods", "-n", AGENTS, "-o", "jsonpath={.items[*].status.phase}"]);
    await until("the agent to run", 90_000, async () => (await pods()) === "Running");
    const log = () => lab.production!.admin.run(["logs", "-n", AGENTS, "-l", `app=${AGENTS}`, "--tail=-1"]);
    await until("the agent to give up once", 60_000, async () => /cannot connect to server/.test(await log()));
    const out = lab.scope.file("pods.tar.gz");
    const words = [
      "--kubeconfig",
      kubeconfig,
      "--namespace",
      AGENTS,
      "--out",
      out,
      "--log",
      `konnectivity-server=${lab.scope.file("proxy-server.log")}`,
    ];
    const outcome = await lab.bs.run([drawbridge, "bootstrap", "gather", ...words]);
    expect({ code: outcome.code, stdout: outcome.stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/from this host, cluster/),
    });
    const analysis = await analyzed(out);
    expect(ids(analysis)).toContain("likely port-blocked");
    const finding = analysis.findings.find(({ check }) => check === "port-blocked");
    expect(fileOf(finding?.evidence[0])).toMatch(
      /^control-plane\/n1\/containers\/konnectivity-agent-bridge-agents-\w+\.log$/,
    );
    const listing = execFileSync("tar", ["-tzf", out], { encoding: "utf8" });
    for (const name of ["pods", "daemonsets", "events", "nodes"]) expect(listing).toMatch(`resources/${name}.json`);
    const keys = ["tunnel-agent.key", "tunnel-server.key", "tunnel-ca.key", "cluster-ca.key", "service-account.key"];
    expectNoSecrets(
      out,
      keys.map((name) => readFileSync(lab.scope.file(name), "utf8")),
    );
  });

  test("agents that admission refuses, by the controller's own events", async () => {
    const name = "konnectivity-agent";
    const namespace = "drawbridge-bootstrap";
    const labels = { app: name };
    const containers = [{ name, image: lab.image, imagePullPolicy: "Never", command: ["/proxy-agent"] }];
    const enforce = { "pod-security.kubernetes.io/enforce": "restricted" };
    await lab.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: enforce } });
    await lab.apply({
      ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name, namespace, labels } },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { hostNetwork: true, containers } },
      },
    });
    const events = () =>
      lab.production!.admin.run(["get", "events", "-n", namespace, "-o", "jsonpath={.items[*].reason}"]);
    await until("the controller to complain", 60_000, async () => /FailedCreate/.test(await events()));
    const out = lab.scope.file("forbidden.tar.gz");
    // From a workstation: nothing of a bridge is there, so only the cluster is asked.
    const words = ["bootstrap", "gather", "--kubeconfig", lab.production!.adminConfig, "--out", out];
    const outcome = await run([drawbridge, ...words], { netns: lab.production!.netns });
    expect(outcome.stdout).toMatch(/files from cluster\./);
    const [first] = (await analyzed(out)).findings;
    expect(first).toMatchObject({ check: "agents-forbidden", likelihood: "certain" });
    expect(first?.evidence[0]).toMatch(/^resources\/events\.json:.*violates PodSecurity/);
  });

  test("an API that is not there is said in one sentence", async () => {
    const kubeconfig = lab.scope.file("nowhere.kubeconfig");
    writeFileSync(kubeconfig, readFileSync(lab.bs.adminConfig, "utf8").replaceAll(":6443", ":6444"));
    const outcome = await lab.bs.run([
      drawbridge,
      "bootstrap",
      "gather",
      "--kubeconfig",
      kubeconfig,
      "--out",
      lab.scope.file("no.tar.gz"),
    ]);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(
      /^Error: The Kubernetes API at .*:6444 did not answer GET \/version: .*\(DB_API_UNREACHABLE: .*\)\n$/,
    );
  });
});
