/**
 * What every command prints, on its way out of a real process: through a slow pipe, into a closed one, onto a full disk.
 * DRAWBRIDGE_EXECUTABLE names the executable that is tried instead of dist/bin/drawbridge, the single one say.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ApiStub, reply, replyStatus } from "../../src/cluster/kube/testing/api-stub.js";
import { ours } from "../support/processes/executables.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";

vi.setConfig({ testTimeout: 120_000 });

const DRAWBRIDGE = process.env.DRAWBRIDGE_EXECUTABLE ?? ours("drawbridge");
/** More than a pipe holds. */
const MUCH = 64 * 1024;

/** Each command, with a command line whose result is much; or `small`; or why there is no result to lose. */
interface Row {
  readonly line?: string;
  /** Its result has a bound that a pipe holds. */
  readonly small?: string;
  /** Two runs do not say the same: times, new certificates. */
  readonly varies?: true;
  readonly none?: string;
}

const RUNS = "runs until a signal, and logs to standard error";
const ONE = "a sentence or a row for each object of one installation";

const rows: Readonly<Record<string, Row>> = {
  agent: { none: RUNS },
  "bootstrap analyze": { line: "bootstrap analyze bundle --output json", small: "a finding for each check" },
  "bootstrap gather": { none: "what was collected from one host, and needs a bridge there" },
  "bootstrap inject": { line: "bootstrap inject --check many.ign", small: "a finding for each check" },
  "bootstrap render": {
    line: "bootstrap render --for=kubeadm --server-address=192.0.2.1",
    small: "the manifests of one bridge",
  },
  "bootstrap status": { none: "a line for each part of one bridge" },
  "bootstrap teardown": { none: "a receipt of one bridge" },
  "bootstrap up": { none: "a line for each step" },
  "bootstrap verify": {
    line: "bootstrap verify --for=bare --kubeconfig=kubeconfig",
    small: "a finding for each check",
  },
  "csr approve": { none: "one decision" },
  "csr approver": { none: RUNS },
  "csr explain": {
    line: "csr explain csr-1 --inventory=inventory --kubeconfig=kubeconfig",
    small: "the rules for one request",
  },
  "csr list": { line: "csr list --inventory=inventory --kubeconfig=kubeconfig" },
  doctor: {
    line: "doctor --role=workstation --kubeconfig=kubeconfig --output json",
    small: "a finding for each check",
  },
  explain: { line: "explain 127.0.0.1:1 ADMIN --output json", small: "a line for each agent" },
  "firewall patch": { none: ONE },
  "firewall plan": { line: "firewall plan --platform aws", small: "the ports of one platform" },
  "firewall remove": { none: ONE },
  "hosted apply": { none: ONE },
  "hosted check-connection": { none: RUNS },
  "hosted delete": { none: ONE },
  "hosted diff": { none: ONE },
  "hosted render": { line: "hosted render --config=hosted.yaml", small: "the objects of one control plane" },
  "hosted status": {
    line: "hosted status --config=hosted.yaml --kubeconfig=kubeconfig --hosted-kubeconfig=kubeconfig",
    small: ONE,
  },
  "hosted verify": { none: "a finding for each check" },
  "ignition diff": { line: "ignition diff big.ign many.ign" },
  "ignition merge": { line: "ignition merge big.ign other.ign" },
  "ignition preview": { line: "ignition preview many.ign" },
  "ignition serve": { none: RUNS },
  "ignition validate": { line: "ignition validate wrong.ign --output json" },
  "konnectivity-https-proxy": { none: RUNS },
  "konnectivity-socks5-proxy": { none: RUNS },
  "nodepool apply": { none: ONE },
  "nodepool controller": { none: RUNS },
  "nodepool install": { line: "nodepool install --image=localhost/drawbridge:1 --output yaml", small: ONE },
  "nodepool status": { line: "nodepool status --kubeconfig=kubeconfig --output json", small: "a row for each pool" },
  page: { none: "runs until a signal, and prints one address" },
  "pki init": {
    line: `pki init --profile bootstrap --dir new --replace --ip 127.0.0.1 --output json NODES`,
    varies: true,
  },
  "pki inspect": { line: "pki inspect pki --output json", varies: true },
  "pki issue": { none: "one certificate" },
  "pki renew": { line: "pki renew --dir pki --output json", varies: true },
  server: { none: RUNS },
  sidecar: { none: RUNS },
  "simulate-node": { none: "one machine, its steps on standard error" },
  support: { line: "support --out=support.tar.gz ADMIN", small: "what the archive has" },
  top: { line: "top --once ADMIN --output json", varies: true },
  trace: { line: "trace TARGET --frontend=http-connect+uds:SOCKET", small: "the steps of one dial" },
  version: { line: "version", small: "one line" },
  "workers create": { none: "a line for each machine that it makes" },
  "workers delete": { none: "a line for each machine that it removes" },
  "workers doctor": { none: "a finding for each check" },
  "workers list": { line: "workers list --state=workers --output json", small: "a row for each worker" },
  "workers replace": { none: "a line for each machine that it makes" },
  "workers scale": { none: "a line for each machine that it makes" },
  "workers up": { none: "a line for each step" },
  "workers userdata": { none: "one worker's user data" },
  "workers verify": { none: "a finding for each check" },
};

const helpOf = (words: readonly string[]) => spawnSync(DRAWBRIDGE, [...words, "--help"], { encoding: "utf8" }).stdout;

/** Every command and family of the executable, by its own help: the words, and whether it is a family. */
function everyCommand(
  words: readonly string[] = [],
): { readonly words: readonly string[]; readonly isFamily: boolean }[] {
  const [, list] = helpOf(words).split("\nCommands:\n");
  const names = [...(list ?? "").matchAll(/^ {2}([a-z][\w-]*) {2,}/gm)].map(([, name = ""]) => name);
  const isFamily = list !== undefined;
  return [{ words, isFamily }, ...names.flatMap((name) => everyCommand([...words, name]))];
}

const commands = everyCommand();

let folder: string;
let cluster: ApiStub;
let tunnel: Tunnel;
let words: Readonly<Record<string, string>>;
const endings: (() => Promise<void> | void)[] = [];

/** Both would otherwise show a new random ID in --help. */
const env = { ...process.env, PROXY_SERVER_ID: "the-server", PROXY_AGENT_ID: "the-agent" };

/** The script sees the command as "$@". */
function shell(script: string, argv: readonly string[]) {
  const args = ["-c", script, "bash", DRAWBRIDGE, ...argv];
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
const NO_SPACE = /Error: the result cannot be written to standard output: ENOSPC[^\n]+ \(DB_OUTPUT: [^\n]+\)\n$/;

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
  for (const name of ["inventory", "bundle", "workers"]) mkdirSync(join(folder, name));
  mkdirSync(join(folder, "bundle/bootstrap/journals"), { recursive: true });
  file("bundle/bootstrap/journals/bootkube.log", "x\n");

  const requests = Array.from({ length: 1000 }, (_, index) => ({
    metadata: { name: `csr-${index}`, uid: `uid-${index}`, creationTimestamp: "2026-01-02T03:04:05Z" },
    spec: { signerName: "kubernetes.io/kube-apiserver-client-kubelet", username: `someone-${index}`, request: "" },
  }));
  cluster = await ApiStub.start(({ method, path }, response) => {
    const items = path.endsWith("/certificatesigningrequests") ? requests : [];
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
    ADMIN: `--admin=http://127.0.0.1:${tunnel.place.adminPort} --token-file=token`,
  };
  const made = `pki init --profile bootstrap --dir pki --ip 127.0.0.1 --keep-signer-key ${nodes}`;
  expect(await shell('"$@" > /dev/null', made.split(" "))).toMatchObject({ status: 0 });
});

afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

test("every command of the executable is in the table, and no other", () => {
  const names = commands.filter(({ isFamily }) => !isFamily).map((command) => command.words.join(" "));
  expect(Object.keys(rows)).toEqual(names.sort());
});

describe.concurrent.each(commands)("drawbridge $words --help", (command) => {
  const argv = [...command.words, "--help"];

  test("is complete through a slow pipe, quiet into a closed one, and a failure on a full disk", async () => {
    const whole = await shell('"$@"', argv);
    expect(whole).toMatchObject({ status: 0, stderr: "" });
    expect(whole.stdout).toContain("\nUsage:\n");
    expect(await shell(SLOW, argv)).toEqual(whole);
    expect(await shell(GONE, argv)).toMatchObject({ status: 0, stderr: "" });
    const full = await shell('exec "$@" > /dev/full', argv);
    expect(full.status).toBe(1);
    expect(full.stderr).toMatch(NO_SPACE);
  });
});

/** Durations and times differ between two runs, and nothing else does. */
const steady = (text: string) =>
  text.replace(/\d+(\.\d+)?/g, "0").replace(/[0-9a-f]{8,}|\b(m|µ)?s\b|[+/=\w]{40,}/g, "");

const printing = Object.entries(rows).flatMap(([name, { line, small, varies }]) =>
  line === undefined ? [] : { name, line, small, varies },
);

describe.each(printing)("$line", ({ line, small, varies }) => {
  const argv = () => line.replace(/[A-Z]{5,}/g, (word) => words[word] ?? word).split(" ");

  test("gives a slow pipe all of its result", async () => {
    const whole = await shell('"$@" > whole', argv());
    const text = readFileSync(join(folder, "whole"), "utf8");
    expect(whole.stderr).not.toMatch(/unknown flag|DB_FLAG/);
    if (small === undefined) expect(text.length).toBeGreaterThan(MUCH);
    else expect(text.length).toBeGreaterThan(1);
    const slow = await shell(SLOW, argv());
    expect(slow.status).toBe(whole.status);
    if (small === undefined && !varies) expect(slow.stdout === text).toBe(true);
    expect(slow.stdout.split("\n").length).toBe(text.split("\n").length);
    expect(slow.stdout.at(-1)).toBe(text.at(-1));
    if (text.startsWith("{")) expect(() => JSON.parse(slow.stdout)).not.toThrow();
  });

  test("ends quietly when its reader has read enough", async () => {
    const whole = await shell('"$@" > /dev/null', argv());
    for (const closed of [CLOSED, GONE]) {
      const { status, stderr } = await shell(closed, argv());
      expect({ status, stderr: steady(stderr) }).toEqual({ status: whole.status, stderr: steady(whole.stderr) });
    }
  });

  test("fails with a sentence when the disk takes nothing", async () => {
    const { status, stderr } = await shell('exec "$@" > /dev/full', argv());
    expect(status).toBe(1);
    expect(stderr).toMatch(NO_SPACE);
  });

  // It must not be another file that is too large.
  test.skipIf(small !== undefined || varies)("fails with a sentence when the disk takes a part", async () => {
    const { status, stderr } = await shell('trap "" XFSZ; ulimit -f 16; exec "$@" > part', argv());
    expect(status).toBe(1);
    expect(stderr).toMatch(/Error: the result cannot be written to standard output: [^\n]+ \(DB_OUTPUT: [^\n]+\)\n$/);
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
