/** What every command prints, on its way out of a real process: through a slow pipe, into a closed one, onto a full disk. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ApiStub, reply, replyStatus } from "../../src/cluster/kube/testing/api-stub.js";
import { makePool, PoolFixture } from "../../src/cluster/nodes/controller/testing/fixture.js";
import { ours } from "../support/processes/executables.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";

vi.setConfig({ testTimeout: 120_000 });

const DRAWBRIDGE = ours("drawbridge");
/** More than a pipe holds. */
const MUCH = 64 * 1024;

/** Each command, with a command line whose result is much; or `small`; or why there is no result to lose. */
interface Row {
  readonly line?: string;
  /** What its result has in it, so that no error or empty list is taken for one. */
  readonly says?: string;
  /** Its result has a bound that a pipe holds. */
  readonly small?: string;
  /** What two runs one after the other need not agree about. */
  readonly varies?: string;
  /** It writes files, which the limit for a part of the result would hit first. */
  readonly writes?: true;
  readonly none?: string;
}

const RUNS = "runs until a signal, and logs to standard error";
const ONE = "a sentence or a row for each object of one installation";

const rows: Readonly<Record<string, Row>> = {
  agent: { none: RUNS },
  "bootstrap analyze": {
    says: "No agent's log is in the bundle",
    line: "bootstrap analyze bundle --output json",
    small: "a finding for each check",
  },
  "bootstrap gather": { none: "what was collected from one host, and needs a bridge there" },
  "bootstrap inject": {
    says: "ok       syntax: Bash accepts the scripts.",
    line: "bootstrap inject --check many.ign",
    small: "a finding for each check",
  },
  "bootstrap render": {
    says: "kind: DaemonSet",
    line: "bootstrap render --for=kubeadm --server-address=192.0.2.1",
    small: "the manifests of one bridge",
  },
  "bootstrap status": { none: "a line for each part of one bridge" },
  "bootstrap teardown": { none: "a receipt of one bridge" },
  "bootstrap up": { none: "a line for each step" },
  "bootstrap verify": {
    says: "ok       agents: 1 agent is connected",
    line: "bootstrap verify --for-platform=bare --kubeconfig=kubeconfig --uds=SOCKET --health=HEALTH --pki=pki",
    varies: "the processes of this host",
    small: "a finding for each check",
  },
  completion: { says: "__complete", line: "completion bash", small: "one script" },
  "csr approve": { none: "one decision" },
  "csr approver": { none: RUNS },
  "csr explain": {
    says: "csr-1",
    line: "csr explain csr-1 --inventory=inventory --kubeconfig=kubeconfig",
    small: "the rules for one request",
  },
  "csr list": { says: "csr-999", line: "csr list --inventory=inventory --kubeconfig=kubeconfig" },
  doctor: {
    says: '"message": "Node ',
    line: "doctor --role=workstation --kubeconfig=kubeconfig --output json",
    small: "a finding for each check",
  },
  drain: { none: "a sentence about one agent" },
  explain: {
    says: '"id": "ours-agent-1"',
    line: "explain 127.0.0.1:1 ADMIN --output json",
    small: "a line for each agent",
  },
  "firewall patch": { none: ONE },
  "firewall plan": {
    says: "TCP 8091 to the bootstrap host",
    line: "firewall plan --platform aws",
    small: "the ports of one platform",
  },
  "firewall remove": { none: ONE },
  "hosted apply": { none: ONE },
  "hosted check-connection": { none: RUNS },
  "hosted delete": { none: ONE },
  "hosted diff": { none: ONE },
  "hosted render": {
    says: "kind: Deployment",
    line: "hosted render --config=hosted.yaml",
    small: "the objects of one control plane",
  },
  "hosted status": {
    says: "3 failed, 0 warnings, 0 ok, 4 skipped.",
    line: "hosted status --config=hosted.yaml --kubeconfig=kubeconfig --hosted-kubeconfig=kubeconfig",
    small: ONE,
  },
  "hosted verify": { none: "a finding for each check" },
  "ignition diff": { says: "/etc/4999", line: "ignition diff big.ign many.ign" },
  "ignition merge": { says: "/etc/other", line: "ignition merge big.ign other.ign" },
  "ignition preview": { says: "── 4999 ", line: "ignition preview many.ign" },
  "ignition serve": { none: RUNS },
  "ignition validate": { says: "unknown4999", line: "ignition validate wrong.ign --output json" },
  "konnectivity-https-proxy": { none: RUNS },
  "konnectivity-socks5-proxy": { none: RUNS },
  "nodepool apply": { none: ONE },
  "nodepool controller": { none: RUNS },
  "nodepool install": {
    says: "CustomResourceDefinition",
    line: "nodepool install --image=localhost/drawbridge:1 --output yaml",
    small: ONE,
  },
  "nodepool status": {
    says: "pool-1",
    line: "nodepool status --kubeconfig=kubeconfig --output json",
    small: "a row for each pool",
  },
  page: { none: "runs until a signal, and prints one address" },
  "pki init": {
    says: "node-199",
    line: `pki init --profile bootstrap --dir new --replace --ip 127.0.0.1 --output json NODES`,
    writes: true,
  },
  "pki inspect": { says: "node-199", line: "pki inspect pki --output json" },
  "pki issue": { none: "one certificate" },
  "pki renew": { says: "node-199", line: "pki renew --dir renewed --output json", writes: true },
  server: { none: RUNS },
  sidecar: { none: RUNS },
  "simulate-node": { none: "one machine, its steps on standard error" },
  status: {
    says: '"state": "',
    line: "status ADMIN --output json",
    varies: "what others did meanwhile",
    small: "one state and its causes",
  },
  support: { says: "support.tar.gz", line: "support --out=support.tar.gz ADMIN", small: "what the archive has" },
  top: { says: '"id": "ours-agent-1"', line: "top --once ADMIN --output json", varies: "what others did meanwhile" },
  trace: {
    says: ": reached in ",
    line: "trace TARGET --frontend=http-connect+uds:SOCKET",
    small: "the steps of one dial",
  },
  version: { says: "drawbridge", line: "version", small: "one line" },
  "workers adopt": { none: "a line for each node" },
  "workers controller": { none: RUNS },
  "workers create": { none: "a line for each machine that it makes" },
  "workers delete": { none: "a line for each machine that it removes" },
  "workers doctor": { none: "a finding for each check" },
  "workers list": { says: '"worker-999"', line: "workers list --state=workers --kubeconfig=kubeconfig --output json" },
  "workers replace": { none: "a line for each machine that it makes" },
  "workers scale": { none: "a line for each machine that it makes" },
  "workers up": { none: "a line for each step" },
  "workers userdata": { none: "one worker's user data" },
  "workers verify": { none: "a finding for each check" },
};

/** Both would otherwise show a new random ID in --help. */
const env = { ...process.env, PROXY_SERVER_ID: "the-server", PROXY_AGENT_ID: "the-agent" };

interface Command {
  readonly words: readonly string[];
  readonly help: string;
  readonly isFamily: boolean;
}

/** Every command and family of the executable, by its own help. */
async function everyCommand(words: readonly string[] = []): Promise<Command[]> {
  const help = (await promisify(execFile)(DRAWBRIDGE, [...words, "--help"], { env })).stdout;
  const [, list] = help.split("\nCommands:\n");
  const names = [...(list ?? "").matchAll(/^ {2}([a-z][\w-]*) {2,}/gm)].map(([, name = ""]) => name);
  const below: Command[][] = [];
  for (const name of names) below.push(await everyCommand([...words, name]));
  return [{ words, help, isFamily: list !== undefined }, ...below.flat()];
}

const commands = await everyCommand();

let folder: string;
let cluster: ApiStub;
let tunnel: Tunnel;
let words: Readonly<Record<string, string>>;
const endings: (() => Promise<void> | void)[] = [];

/** The script sees the command as "$@". */
function shell(script: string, argv: readonly string[]) {
  // With a socket as its input, Bash may take itself for a remote user's and run that user's .bashrc, which prints.
  const args = ["--norc", "-c", script, "bash", DRAWBRIDGE, ...argv];
  return new Promise<{ status: number; stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: folder, env, encoding: "utf8", timeout: 90_000, maxBuffer: 64 << 20 } as const;
    const child = execFile("bash", args, options, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const SLOW = 'set -o pipefail; "$@" | { sleep 0.4; dd bs=1000 status=none; }';
const CLOSED = 'set -o pipefail; "$@" | head -c 1 > /dev/null';
const GONE = 'set -o pipefail; "$@" | true';
/** As text, or in JSON where the result would have been. */
const unwritten = (why: string) =>
  new RegExp(
    `Error: the result cannot be written to standard output: ${why}[^\\n]+ \\(DB_OUTPUT: [^\\n]+\\)\\n$|` +
      `\\{"error":\\{"code":"DB_OUTPUT","message":"the result cannot be written to standard output: ${why}[^\\n]+\\}\\}\\n$`,
  );
const NO_SPACE = unwritten("ENOSPC");
const NO_ROOM = unwritten("");

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "db-output-"));
  endings.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, content: string | object) =>
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
  const source = `data:;base64,${Buffer.alloc(5 * MUCH, "drawbridge").toString("base64")}`;
  const config = (more: object) => ({ ignition: { version: "3.2.0" }, ...more });
  file("big.ign", config({ storage: { files: [{ path: "/etc/big", contents: { source } }] } }));
  file("other.ign", config({ storage: { files: [{ path: "/etc/other", contents: { source } }] } }));
  const many = Array.from({ length: 5000 }, (_, index) => ({ path: `/etc/${index}`, contents: { source: "data:," } }));
  file("many.ign", config({ storage: { files: many } }));
  file("wrong.ign", config(Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`unknown${index}`, index]))));
  file("hosted.yaml", "name: demo\npublishing: { type: LoadBalancer, address: 192.0.2.1 }\nconnectionChecker: false\n");
  for (const name of ["inventory", "bundle"]) mkdirSync(join(folder, name));
  mkdirSync(join(folder, "bundle/bootstrap/journals"), { recursive: true });
  file("bundle/bootstrap/journals/bootkube.log", "x\n");

  const fixture = new PoolFixture();
  endings.push(() => fixture.close());
  await fixture.addObjects(makePool());
  fixture.start();
  await vi.waitFor(async () => expect((await fixture.pool()).status?.version).toBeDefined(), { timeout: 20_000 });
  const create = `workers create --directory=${fixture.directory} --namespace=clusters --pool=workers --state=workers`;
  expect(await shell('"$@" > /dev/null', create.split(" "))).toMatchObject({ status: 0, stderr: "" });

  const requests = Array.from({ length: 1000 }, (_, index) => ({
    metadata: { name: `csr-${index}`, uid: `uid-${index}`, creationTimestamp: "2026-01-02T03:04:05Z" },
    spec: { signerName: "kubernetes.io/kube-apiserver-client-kubelet", username: `someone-${index}`, request: "" },
  }));
  const workers = Array.from({ length: 1000 }, (_, index) => ({
    ...{ metadata: { name: `worker-${index}`, namespace: "drawbridge" }, spec: { pool: "drawbridge/pool-1" } },
  }));
  const pool = { metadata: { name: "pool-1", namespace: "clusters", uid: "pool" }, spec: { clusterName: "demo" } };
  cluster = await ApiStub.start(({ method, path }, response) => {
    const lists = { certificatesigningrequests: requests, nodepools: [pool], workers };
    const items = lists[path.split("/").at(-1) as keyof typeof lists] ?? [];
    const one = requests.find(({ metadata }) => path.endsWith(`/${metadata.name}`));
    if (one !== undefined) reply(response, 200, one);
    else if (method === "GET" && /s$/.test(path)) {
      reply(response, 200, { kind: "List", metadata: { resourceVersion: "1" }, items });
    } else replyStatus(response, 404, "NotFound", "there is no such object");
  });
  endings.push(() => cluster.close());
  file("kubeconfig", {
    clusters: [{ name: "lab", cluster: { server: cluster.url } }],
    contexts: [{ name: "here", context: { cluster: "lab", user: "me" } }],
    users: [{ name: "me", user: { token: "secret" } }],
    "current-context": "here",
  });

  file("token", "0123456789abcdef0123456789abcdef\n");
  tunnel = await startTunnel({
    ...{ server: "ours", agent: "ours", frontend: "connect-uds" },
    serverFlags: [`--admin-token-file=${join(folder, "token")}`],
  });
  endings.push(() => tunnel.close());
  const echo = await startEcho();
  endings.push(() => echo.close());
  for (let count = 0; count < 300; count++) await tunnel.open(echo.address);

  const nodes = Array.from({ length: 200 }, (_, index) => `--node=node-${index}`).join(" ");
  words = {
    ...{ NODES: nodes, TARGET: echo.address, SOCKET: tunnel.place.udsPath },
    HEALTH: `http://127.0.0.1:${tunnel.place.healthPort}`,
    ADMIN: `--admin=http://127.0.0.1:${tunnel.place.adminPort} --token-file=token`,
  };
  const made = `pki init --profile bootstrap --dir pki --ip 127.0.0.1 --keep-signer-key ${nodes}`;
  expect(await shell('"$@" > /dev/null', made.split(" "))).toMatchObject({ status: 0 });
  cpSync(join(folder, "pki"), join(folder, "renewed"), { recursive: true });
});

afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

test("every command of the executable is in the table, and no other", () => {
  const names = commands.filter(({ isFamily }) => !isFamily).map((command) => command.words.join(" "));
  expect(Object.keys(rows)).toEqual(names.sort());
});

describe.concurrent.each(commands)("drawbridge $words --help", ({ words: argv, help }) => {
  test("is complete through a slow pipe, and a failure on a full disk", async () => {
    expect(help).toContain("\nUsage:\n");
    expect(await shell(SLOW, [...argv, "--help"])).toEqual({ status: 0, stdout: help, stderr: "" });
    const full = await shell('exec "$@" > /dev/full', [...argv, "--help"]);
    expect(full.status).toBe(1);
    expect(full.stderr).toMatch(NO_SPACE);
  });
});

/** Two runs differ in times, durations, amounts that grow, and what is drawn: serial numbers, fingerprints, ids. */
const steady = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME")
    .replace(/\b[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){7,}\b|\b[0-9A-Fa-f-]{16,}\b/g, "DRAWN")
    .replace(/\b1\d{12}\b/g, "TIME")
    .replace(/ *\b\d+(\.\d+)? ?(ms|µs|s|min|m|h|d|KiB|MiB|B|bytes)\b *█*/g, " AMOUNT ")
    .replace(/("\w*(?:Ms|Seconds|Bytes|bytes|PerSecond|Age|Pid|pid)": ?)-?\d+(\.\d+)?/g, "$1AMOUNT");

const printing = Object.entries(rows).flatMap(([name, { line, says = "", small, varies, writes }]) =>
  line === undefined ? [] : { name, line, says, small, varies, writes },
);

describe.concurrent.each(printing)("$line", ({ name, line, says, small, varies, writes }) => {
  const argv = () => line.replace(/[A-Z]{5,}/g, (word) => words[word] ?? word).split(" ");

  test("gives a slow pipe all, ends quietly when nobody reads on, and fails when the disk is full", async () => {
    const file = name.replaceAll(" ", "-");
    const { status, stderr } = await shell(`"$@" > ${file}`, argv());
    const text = readFileSync(join(folder, file), "utf8");
    expect(stderr).not.toMatch(/unknown flag|DB_FLAG|DB_INTERNAL/);
    expect(text).toContain(says);
    if (small === undefined) expect(text.length).toBeGreaterThan(MUCH);
    const same = { status, stderr: steady(stderr) };

    const slow = await shell(SLOW, argv());
    expect({ status: slow.status, stderr: steady(slow.stderr) }).toEqual(same);
    if (varies !== undefined) {
      const lastLine = (whole: string) => whole.trimEnd().split("\n").at(-1);
      expect(lastLine(slow.stdout)).toBe(lastLine(text));
      if (text.startsWith("{")) expect(Object.keys(JSON.parse(slow.stdout))).toEqual(Object.keys(JSON.parse(text)));
    } else if (steady(slow.stdout) !== steady(text)) {
      // The whole texts are too long to be compared by eye.
      const lines = steady(text).split("\n");
      const other =
        steady(slow.stdout)
          .split("\n")
          .find((given, at) => given !== lines[at]) ?? "";
      expect(other.slice(0, 2000)).toBe(`one of the lines of ${file}`);
    }

    for (const closed of small === undefined ? [CLOSED, GONE] : [GONE]) {
      const ended = await shell(closed, argv());
      expect({ status: ended.status, stderr: steady(ended.stderr) }).toEqual(same);
    }

    const full = await shell('exec "$@" > /dev/full', argv());
    expect(full.status).toBe(1);
    expect(full.stderr).toMatch(NO_SPACE);
    if (small !== undefined || writes === true) return;
    const part = await shell(`trap "" XFSZ; ulimit -f 16; exec "$@" > ${file}.part`, argv());
    expect(part.status).toBe(1);
    expect(part.stderr).toMatch(NO_ROOM);
  });
});

describe("standard error", () => {
  /** The complaint quotes the flag. */
  const loud = ["ignition", "validate", `--${"x".repeat(100_000)}`];

  test("gives a slow pipe all of a long message", async () => {
    const { stderr, status } = await shell('"$@"', loud);
    const slow = await shell('set -o pipefail; "$@" 2>&1 | { sleep 0.4; dd bs=1000 status=none; }', loud);
    expect(stderr.length).toBeGreaterThan(MUCH);
    expect(slow).toMatchObject({ status, stdout: stderr });
  });

  test.each(["2> /dev/full", "2>&-", "2> >(true)"])(
    "that is of no use (%s) leaves a success a success",
    async (where) => {
      const { status, stdout } = await shell(`"$@" ${where}`, [
        "bootstrap",
        "render",
        "--for=kubeadm",
        "--server-address=192.0.2.1",
      ]);
      expect(status).toBe(0);
      expect(stdout.length).toBeGreaterThan(1000);
    },
  );
});
