/**
 * A data centre that is switched on: N machines fetch their payload at once, each over a TLS connection of its own, from
 * one `drawbridge ignition serve` process. By hand: `tsx bench/ignition-crowd.ts [machines]`, after `npm run build`.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { dataUrlOf } from "../src/base/data-url.js";
import { pullSecretHash } from "../src/cluster/nodes/hash/pool-hash.js";
import { encoded } from "../src/cluster/nodes/objects.js";
import { bootstrapKubeconfig, pullSecret } from "../src/cluster/nodes/payload/testing/inputs.js";
import { makeTokenSecret } from "../src/cluster/nodes/token/token-secret.js";
import { createAuthority, issueCertificate } from "../src/tunnel/pki/issue.js";
import { raiseOpenFiles } from "./open-files.js";

const NAMESPACE = "clusters-demo";
const TOKEN = "0b8ad9c5-7c77-4a31-8c55-2d0a5f1c9e10";
/** As much as a rendered worker has. */
const PAYLOAD_BYTES = 300_000;
/** What Ignition waits for the end of the handshake, once connected, and then for the head of the answer. */
const DEADLINE_MS = 10_000;

interface Crowd {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  /** One each. */
  readonly tokens: readonly string[];
}

interface Fetched {
  readonly seconds: number;
  readonly digest?: string;
  readonly error?: string;
}

const isCrowd = process.argv[2] === "crowd";
if (isCrowd) process.once("message", (crowd: Crowd) => void beCrowd(crowd));
else process.exitCode = await main(Number(process.argv[2] ?? 2_000));

async function beCrowd({ tokens, ...at }: Crowd): Promise<void> {
  const results = await Promise.all(tokens.map((token) => fetchOne(at, token)));
  process.send?.(results, () => process.disconnect());
}

function fetchOne(at: Omit<Crowd, "tokens">, token: string): Promise<Fetched> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  return new Promise((resolve) => {
    const sent = request({
      ...{ ...at, path: "/ignition", agent: false },
      headers: { authorization: `Bearer ${encoded(token)}`, "accept-encoding": "identity" },
    });
    let late: NodeJS.Timeout | undefined;
    const fail = (error: string) => {
      clearTimeout(late);
      sent.destroy();
      resolve({ seconds: seconds(), error });
    };
    const expectSoon = (what: string) => {
      clearTimeout(late);
      late = setTimeout(() => fail(`no ${what} within 10 s`), DEADLINE_MS);
    };
    sent.on("socket", (socket) => {
      socket.once("connect", () => expectSoon("handshake"));
      socket.once("secureConnect", () => expectSoon("answer"));
    });
    sent.on("error", ({ message }) => fail(message));
    sent.on("response", (response) => {
      clearTimeout(late);
      if (response.statusCode !== 200) fail(`status ${response.statusCode}`);
      const hash = createHash("sha256");
      response.on("data", (chunk: Buffer) => hash.update(chunk));
      response.on("error", ({ message }) => fail(message));
      response.on("end", () => resolve({ seconds: seconds(), digest: hash.digest("hex") }));
    });
    sent.end();
  });
}

async function main(machines: number): Promise<number> {
  const problem = raiseOpenFiles();
  if (problem !== undefined) throw new Error(problem);
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-crowd-"));
  const workers = Array.from({ length: machines }, (_, index) => [`worker-${index}`, randomBytes(18).toString("hex")]);
  let server: ChildProcess | undefined;
  try {
    const port = 15_000 + (process.pid % 10_000);
    const ca = await prepare(dir, workers);
    server = serve(dir, port);
    await answered({ host: "127.0.0.1", port, ca }, TOKEN);
    let failures = 0;
    for (const [what, tokens] of [
      ["one token for all", workers.map(() => TOKEN)],
      ["a token and a payload for each", workers.map(([, token = ""]) => token)],
    ] as const) {
      const before = cpuSeconds(server.pid);
      const results = await crowd({ host: "127.0.0.1", port, ca, tokens });
      failures += report(what, results, cpuSeconds(server.pid) - before);
    }
    failures += await amongStrangers({ host: "127.0.0.1", port, ca }, machines, server.pid);
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1];
    process.stdout.write(`server's memory at its peak: ${Math.round(Number(peak) / 1024)} MiB\n`);
    return failures === 0 ? 0 : 1;
  } finally {
    if (server?.kill()) await once(server, "exit");
    rmSync(dir, { recursive: true });
  }
}

/** Every second one has a token that nobody knows; it must be told to wait, and nobody may wait because of it. */
async function amongStrangers(at: Omit<Crowd, "tokens">, machines: number, pid: number | undefined): Promise<number> {
  const before = cpuSeconds(pid);
  const tokens = Array.from({ length: machines }, (_, index) => (index % 2 === 0 ? TOKEN : `stranger-${index}`));
  const results = await crowd({ ...at, tokens });
  const known = results.filter((_, index) => index % 2 === 0);
  const strangers = results.filter((_, index) => index % 2 === 1);
  const refused = strangers.filter(({ error }) => error === "status 511").length;
  const failures = report("half of them strangers", known, cpuSeconds(pid) - before);
  process.stdout.write(`  ${refused} of ${strangers.length} strangers got 511\n`);
  return failures + strangers.length - refused;
}

async function prepare(dir: string, workers: readonly (readonly string[])[]): Promise<string> {
  const authority = await createAuthority({ commonName: "crowd" });
  const pair = await issueCertificate(authority, {
    use: "server",
    commonName: "crowd",
    ipAddresses: ["127.0.0.1"],
  });
  const contents = { source: dataUrlOf(randomBytes(PAYLOAD_BYTES * 0.75)) };
  const config = { ignition: { version: "3.2.0" }, storage: { files: [{ path: "/etc/bulk", contents }] } };
  const object = (kind: string, name: string, data: object) => ({
    ...{ apiVersion: "v1", kind, metadata: { name, namespace: NAMESPACE }, data },
  });
  const secret = makeTokenSecret(
    {
      ...{ namespace: NAMESPACE, pool: { namespace: "clusters", name: "workers" }, hash: "11111111", token: TOKEN },
      ...{ upgradeType: "Replace", releaseImage: "", releaseVersion: "4.18.0", rawConfig: "", stream: "" },
      ...{ pullSecretHash: pullSecretHash(Buffer.from(pullSecret)), trustBundleHash: "", configurationHash: "" },
    },
    Date.now(),
  );
  const files = {
    "tls.crt": pair.certificatePem,
    "tls.key": pair.privateKeyPem,
    "payload.yml.txt": "profile: rhcos\nmachineConfig: rendered.txt\n",
    "rendered.txt": stringify({ kind: "MachineConfig", metadata: { name: "rendered" }, spec: { config } }),
    "workers.txt": stringify({ pool: "clusters/workers", workers: Object.fromEntries(workers) }),
    "token.yaml": stringify(secret),
    "kubeconfig.yaml": stringify(
      object("Secret", "bootstrap-kubeconfig", { kubeconfig: encoded(bootstrapKubeconfig) }),
    ),
    "pull-secret.yaml": stringify(object("Secret", "pull-secret", { ".dockerconfigjson": encoded(pullSecret) })),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text, { mode: 0o600 });
  return authority.certificatePem;
}

function serve(dir: string, port: number): ChildProcess {
  const program = fileURLToPath(new URL("../dist/bin/drawbridge", import.meta.url));
  const file = (name: string) => join(dir, name);
  return spawn(
    program,
    [
      ...[
        "ignition",
        "serve",
        `--directory=${dir}`,
        `--namespace=${NAMESPACE}`,
        `--payload=${file("payload.yml.txt")}`,
      ],
      ...[`--addr=127.0.0.1:${port}`, "--metrics-addr=127.0.0.1:0", `--worker-tokens=${file("workers.txt")}`],
      ...[`--cert-file=${file("tls.crt")}`, `--key-file=${file("tls.key")}`, `--audit-log=${file("audit.jsonl")}`],
      `--claims-file=${file("claims.txt")}`,
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
}

async function answered(at: Omit<Crowd, "tokens">, token: string): Promise<void> {
  for (let attempt = 0; attempt < 150; attempt++) {
    if ((await fetchOne(at, token)).digest !== undefined) return;
    await sleep(100);
  }
  throw new Error("the server did not serve within 15 s");
}

function crowd(given: Crowd): Promise<readonly Fetched[]> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ["crowd"]);
    child.once("message", (results: Fetched[]) => resolve(results));
    child.once("error", reject);
    child.send(given);
  });
}

function report(what: string, results: readonly Fetched[], cpu: number): number {
  const errors = results.flatMap(({ error }) => error ?? []);
  const times = results.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const at = (share: number) => (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(2);
  const payloads = new Set(results.flatMap(({ digest }) => digest ?? [])).size;
  process.stdout.write(
    `${what}: ${results.length} machines, ${errors.length} errors, ${payloads} different payload(s); ` +
      `half within ${at(0.5)} s, 99 % within ${at(0.99)} s, all within ${at(1)} s; server CPU ${cpu.toFixed(1)} s\n`,
  );
  for (const error of new Set(errors)) process.stdout.write(`  ${error}\n`);
  return errors.length;
}

function cpuSeconds(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
