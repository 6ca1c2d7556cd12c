/**
 * Files that commands write onto a disk that is full, has room for a part, or is read-only: exit 1 with a sentence,
 * nothing half-made is left, and what was there is as it was.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { drawbridge } from "../../src/cli/commands.js";
import { everyCommand } from "../../src/cli/framework/family.js";
import { awsCluster, INFRA } from "../../src/cluster/bootstrap/firewall/testing/manifests.js";
import { makePool, namespace, PoolFixture } from "../../src/cluster/nodes/controller/testing/fixture.js";
import { bootstrapIgnition } from "../support/ignition-fixtures/ignition.js";
import { shapes } from "../support/ignition-fixtures/releases.js";
import { ours } from "../support/processes/executables.js";
import { freePorts } from "../support/processes/ports.js";

vi.setConfig({ testTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), "db-full-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

put("hosted.yaml", "name: demo\npublishing: { type: LoadBalancer, address: 192.0.2.1 }\n");
put("ign/bootstrap.ign", bootstrapIgnition(shapes["4.18"]));
put("closed/metadata.json", JSON.stringify({ infraID: INFRA, aws: {} }));
put("closed/cluster-api/02_infra-cluster.yaml", awsCluster());
put("old/drawbridge.tar.gz", "the archive of an earlier run");
put(
  "server.log",
  Array.from(
    { length: 4_000 },
    (_, index) => `I1116 00:00:00 server.go:${index}] agent ${index * 7919} connected\n`,
  ).join(""),
);
const made = (...argv: string[]) => expect(spawnSync(ours("drawbridge"), argv, { cwd: folder }).status).toBe(0);
cpSync(join(folder, "closed"), join(folder, "opened"), { recursive: true });
made("firewall", "patch", "--dir=opened");
cpSync(join(folder, "ign"), join(folder, "injected"), { recursive: true });
made("bootstrap", "inject", "injected/bootstrap.ign");
made("bootstrap", "render", "--for=kubeadm", "--server-address=192.0.2.9", "--out=rendered");

made("pki", "init", "--profile=bootstrap", "--ip=127.0.0.1", "--keep-signer-key", "--dir=set");

cpSync(join(folder, "set"), join(folder, "sets/pki"), { recursive: true });

put("pool.yaml", JSON.stringify(makePool("workers", { replicas: 3 })));
const fixture = new PoolFixture();
await fixture.addObjects(makePool());
fixture.start();
await vi.waitFor(async () => expect((await fixture.pool()).status?.version).toBeDefined(), { timeout: 20_000 });
await fixture.close(false);
cpSync(fixture.directory, join(folder, "objects"), { recursive: true });
await fixture.close();
const inPool = `--directory=objects --namespace=${namespace}`;
const workers = `workers create ${inPool} --pool=workers --count=2`;
made(...workers.split(" "), "--state=states/state");

const source = `data:;base64,${Buffer.alloc(20_000, "drawbridge").toString("base64")}`;
const files = [{ path: "/etc/big", contents: { source } }];
put("machine.ign", JSON.stringify({ ignition: { version: "3.2.0" }, storage: { files } }));

const key = {
  "*tls.BootstrapSSHKeyPair": { Priv: Buffer.from("-----BEGIN OPENSSH PRIVATE KEY-----\n").toString("base64") },
};
put("made/.openshift_install_state.json", JSON.stringify(key));
put("made/metadata.json", JSON.stringify({ infraID: INFRA, aws: {} }));

interface Row {
  readonly line: string;
  readonly code: string;
  /** A folder whose files are on the disk before. */
  readonly before?: string;
  /** Room on the disk, too little for all; if undefined, none. */
  readonly rooms?: readonly number[];
  /** What it is on a disk with room, another test shows: it runs until a signal, say. */
  readonly onlyFull?: true;
  readonly env?: Readonly<Record<string, string>>;
  /** It makes no file with bytes in it, so that only a disk without inodes is full for it. */
  readonly needsInode?: true;
}

/** Further than any of them needs. */
const WHOLE = 8_388_608;

/** In 8 MiB, `room` bytes of which are left, in a mount namespace that ends with the command; then the files on it. */
async function onDisk(room: number | "read-only", { line, before = "", env, needsInode }: Row) {
  // A file system counts whole pages, so what does not fit of the filler is what others take.
  const fill = `head -c $((${WHOLE} - ${room})) /dev/zero > disk/filler 2> /dev/null; truncate -s -${room} disk/filler`;
  const prepared = room === "read-only" ? "mount -o remount,ro disk" : room === WHOLE || needsInode ? "" : fill;
  const script = [
    `mkdir -p disk && mount -t tmpfs -o size=8m${needsInode ? ",nr_inodes=1" : ""} none disk || exit 99`,
    before === "" ? "" : `cp -r ${before}/. disk/`,
    prepared,
    '"$@" > said.$$; code=$?; mount -o remount,rw disk; rm -f disk/filler',
    before === "" ? "" : `diff -r ${before} disk > differs.$$ && rm -rf disk/*`,
    "find disk -type f; cat said.$$ >&2; exit $code",
  ].join("\n");
  // Rows run side by side.
  const ports = await freePorts(3);
  const words = line.replace(/PORT/g, () => String(ports.shift())).split(" ");
  const argv = ["bash", "--norc", "-c", script, "bash", ours("drawbridge"), ...words];
  return await new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: folder, env: { ...process.env, ...env }, encoding: "utf8", timeout: 50_000 } as const;
    const unshared = ["--mount", "--propagation", "private", ...argv];
    const child = execFile("unshare", unshared, options, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;
if (!canMount) process.stderr.write("skipped: a disk of its own needs root (unshare --mount)\n");

const gather = "bootstrap gather --log=konnectivity-server=LOG --out=disk/drawbridge.tar.gz".replace(
  "LOG",
  join(folder, "server.log"),
);
const render = "bootstrap render --for=kubeadm --server-address=192.0.2.1 --out=disk";

const serve = [
  ...["server --mode=http-connect --server-port=0 --cluster-cert=set/server.crt --cluster-key=set/server.key"],
  ...["--cluster-ca-cert=set/ca.crt --agent-port=PORT --health-port=PORT --admin-port=PORT"],
].join(" ");

/** A directory that was made for what did not fit may stay; no file may. */
const rows: readonly Row[] = [
  { line: "pki init --profile bootstrap --ip 127.0.0.1 --dir disk/pki", code: "DB_CERT_WRITE" },
  {
    line: "pki init --replace --profile=bootstrap --ip=127.0.0.1 --dir=disk/pki",
    ...{ code: "DB_CERT_WRITE", rooms: [0, 8_192], before: "sets" },
  },
  { line: "pki renew --all --dir=disk", code: "DB_CERT_WRITE", before: "set" },
  { line: "pki issue --node=w1 --dir=disk", code: "DB_CERT_WRITE", before: "set" },
  { line: "hosted render --config hosted.yaml --out disk/out", code: "DB_RENDER_WRITE", rooms: [0, 8_192] },
  { line: render, code: "DB_RENDER_WRITE", rooms: [0, 8_192] },
  { line: render, code: "DB_RENDER_WRITE", rooms: [0, 8_192], before: "rendered" },
  { line: "support --role=workstation --out disk/support.tar.gz", code: "DB_SUPPORT" },
  { line: gather, code: "DB_ARCHIVE_WRITE", rooms: [0, 8_192] },
  { line: gather, code: "DB_ARCHIVE_WRITE", rooms: [0, 8_192], before: "old" },
  { line: "bootstrap inject disk/bootstrap.ign", code: "DB_IGNITION_WRITE", before: "ign" },
  { line: "bootstrap inject --remove disk/bootstrap.ign", code: "DB_IGNITION_WRITE", before: "injected" },
  { line: "bootstrap inject ign/bootstrap.ign --out=disk/new.ign", code: "DB_IGNITION_WRITE" },
  { line: "firewall patch --dir=disk", code: "DB_FIREWALL_MANIFEST", before: "closed" },
  { line: "firewall remove --dir=disk", code: "DB_FIREWALL_MANIFEST", before: "opened" },
  {
    line: "bootstrap gather --dir=made --bootstrap=127.0.0.1 --out=new.tar.gz",
    code: "DB_SSH",
    onlyFull: true,
    env: { TMPDIR: "disk" },
  },
  // The lock takes the first page.
  {
    line: `nodepool apply -f pool.yaml --directory=disk --namespace=${namespace}`,
    code: "DB_NODEPOOL_DIRECTORY",
    rooms: [0, 4_096],
    before: "objects",
  },
  { line: `${workers} --name-prefix=more --state=disk/state`, code: "DB_WORKERS" },
  {
    line: `workers userdata workers-0 --set-hostname=false ${inPool} --state=disk/state`,
    code: "DB_WORKERS",
    rooms: [0, 4_096],
    before: "states",
  },
  { line: "simulate-node machine.ign --root=disk/machine", code: "DB_SIMULATE_ROOT", rooms: [0, 8_192] },
  { line: `${serve} --uds-name=disk/frontend.sock`, code: "DB_LISTEN", onlyFull: true, needsInode: true },
  { line: `page ${inPool} --token-file=disk/new/token`, code: "DB_ADMIN_TOKEN_FILE", onlyFull: true },
];

const request = {
  ...{ apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name: "csr-1" } },
  spec: { signerName: "kubernetes.io/kube-apiserver-client-kubelet", username: "somebody", request: "" },
};
cpSync(join(folder, "objects"), join(folder, "asked"), { recursive: true });
put("asked/request.yaml", JSON.stringify(request));
mkdirSync(join(folder, "nobody"));

const RESULT = "only its result, on standard output: test/processes/output.test.ts";
const CLUSTER = "objects of a cluster only";
const HOST = "src/cluster/bootstrap/host/files.test.ts and killed.process.test.ts";
const STATE = "the same records and locks as workers create and workers userdata";

/** Commands without a row below, and what they write. */
const others: Readonly<Record<string, string>> = {
  agent: "its log: below",
  "bootstrap analyze": RESULT,
  "bootstrap status": RESULT,
  "bootstrap teardown": "its receipt: below; the host's files: src/cluster/bootstrap/host/files.test.ts",
  "bootstrap up": HOST,
  "bootstrap verify": RESULT,
  completion: RESULT,
  "csr approve": "its decision log, as csr approver below",
  "csr approver": "its decision log: below",
  "csr explain": RESULT,
  "csr list": RESULT,
  doctor: RESULT,
  drain: RESULT,
  explain: RESULT,
  "firewall plan": RESULT,
  "hosted apply": CLUSTER,
  "hosted check-connection": CLUSTER,
  "hosted delete": CLUSTER,
  "hosted diff": RESULT,
  "hosted status": RESULT,
  "hosted verify": RESULT,
  "ignition diff": RESULT,
  "ignition merge": RESULT,
  "ignition preview": RESULT,
  "ignition serve": "its audit log and claims file: src/cluster/nodes/serving/recorder.test.ts",
  "ignition validate": RESULT,
  "konnectivity-https-proxy": "its log only, as sidecar",
  "konnectivity-socks5-proxy": "its log only, as sidecar",
  "nodepool controller": "objects of --directory: below",
  "nodepool install": CLUSTER,
  "nodepool status": RESULT,
  "pki inspect": RESULT,
  sidecar: "its log only: below",
  status: RESULT,
  top: RESULT,
  trace: RESULT,
  version: RESULT,
  "workers adopt": STATE,
  "workers controller": STATE,
  "workers delete": STATE,
  "workers doctor": `--log-file, as the decision log of csr approver; ${STATE}`,
  "workers list": RESULT,
  "workers replace": STATE,
  "workers scale": STATE,
  "workers up": STATE,
  "workers verify": RESULT,
};

test("every command has a row, or it is said why it needs none", async () => {
  const names: string[] = [];
  for await (const [name, command] of everyCommand("", drawbridge)) {
    if ("flags" in command.page(name, {})) names.push(name.trim());
  }
  const rowsOf = (name: string) => rows.filter(({ line }) => line === name || line.startsWith(`${name} `));
  expect(Object.keys(others)).toEqual(names.filter((name) => rowsOf(name).length === 0).sort());
});

describe.skipIf(!canMount).each([
  {
    line: "nodepool controller --directory=disk",
    ...{ before: "objects", complains: /code="DB_NODEPOOL_DIRECTORY"/, goesOn: /this replica looks after the pools/ },
  },
  {
    line: "csr approver --directory=asked --inventory=nobody --decision-log=disk/decisions.jsonl",
    ...{ before: "nobody", complains: /code="DB_CSR_LOG"/, goesOn: /csr-1/ },
  },
])("$line", ({ line, before, complains, goesOn }) => {
  test("complains of a full disk with a code, and goes on once there is room", async () => {
    const script = [
      "mkdir -p disk && mount -t tmpfs -o size=8m none disk || exit 99",
      `cp -r ${before}/. disk/; head -c 8388608 /dev/zero > disk/filler 2> /dev/null; exec "$@"`,
    ].join("\n");
    const argv = ["bash", "--norc", "-c", script, "bash", ours("drawbridge"), ...line.split(" ")];
    const child = spawn("unshare", ["--mount", "--propagation", "private", ...argv], {
      ...{ cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
    });
    let log = "";
    child.stderr.on("data", (data) => {
      log += data;
    });
    try {
      await vi.waitFor(() => expect(log).toMatch(complains), { timeout: 20_000 });
      log = "";
      rmSync(`/proc/${child.pid}/root${folder}/disk/filler`);
      await vi.waitFor(() => expect(log).toMatch(goesOn), { timeout: 30_000 });
      child.kill("SIGTERM");
      expect(await once(child, "exit")).toEqual([0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });
});

test.skipIf(!canMount)("bootstrap teardown prints the receipt that a full disk does not take", async () => {
  put("install/metadata.json", JSON.stringify({ infraID: INFRA, aws: {} }));
  const config = {
    clusters: [{ name: "lab", cluster: { server: "https://127.0.0.1:1" } }],
    contexts: [{ name: "here", context: { cluster: "lab", user: "me" } }],
    ...{ users: [{ name: "me", user: { token: "x" } }], "current-context": "here" },
  };
  put("install/auth/kubeconfig", JSON.stringify(config));
  const line = "bootstrap teardown --dir=install --timeout=2s --receipt=disk/receipt.json";
  const { status, stdout, stderr } = await onDisk(0, { line, code: "DB_HOST_FILE" });
  expect({ status, stdout }).toEqual({ status: 3, stdout: "" });
  expect(stderr).toMatch(
    /^Error: [^\n]*receipt\.json cannot be written: the disk is full\. \(DB_HOST_FILE: [^\n]+\)$/m,
  );
  expect(stderr).toContain("# Receipt of a bridge");
});

/** The cause in the system's words, and what a person can do about it. */
const told = (cause: string, code: string) =>
  new RegExp(`^Error: [^\\n]*: ${cause}\\.? \\(${code}: [^\\n]*(room|space|writ|make)[^\\n]*\\)\\n$`, "m");

describe.skipIf(!canMount).concurrent.each(rows)("$line, with files of $before", (row) => {
  test.for(row.rooms ?? [0])("fails with %i bytes of room, and leaves the disk as it was", async (room, { expect }) => {
    const { status, stdout, stderr } = await onDisk(room, row);
    expect(stderr).toMatch(told("ENOSPC: no space left on device", row.code));
    expect(status).toBe(1);
    expect(stdout).toBe("");
  });

  test("fails on a file system that is read-only, and leaves it as it was", async ({ expect }) => {
    const { status, stdout, stderr } = await onDisk("read-only", row);
    expect(stderr).toMatch(told("EROFS: read-only file system", row.code));
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  });

  test.skipIf(row.onlyFull)("writes its files where there is room", async ({ expect }) => {
    const { status, stdout, stderr } = await onDisk(WHOLE, row);
    expect({ status, stderr: /^Error/m.exec(stderr) }).toEqual({ status: 0, stderr: null });
    expect(stdout).toMatch(/^disk\/\w+/);
  });
});
