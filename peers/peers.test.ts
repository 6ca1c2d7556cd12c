import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { peerPath, requirePeer } from "./index.js";

const script = fileURLToPath(new URL("./build.ts", import.meta.url));

/** Stands in for the compiler, which is not what is tested here: notes each build and writes a small program. */
const FAKE_GO = `#!/bin/sh
if [ "$1" = env ]; then echo "\${FAKE_GO_VERSION:-go1.26.2}"; exit 0; fi
echo "$@" >> "$(dirname "$0")/calls"
while [ "$1" != -o ]; do shift; done
case "$2" in *"\${FAKE_GO_FAILS:-/none/}"*)  echo half > "$2"; echo "cannot find module" >&2; exit 1;; esac
sleep 0.3
printf '#!/bin/sh\\necho built\\n' > "$2" && chmod +x "$2"
`;

const FAKE_CARGO = `#!/bin/sh
if [ "$1" = --version ]; then exit 0; fi
echo "$@" >> "$(dirname "$0")/calls"
while [ "$1" != --root ]; do shift; done
mkdir -p "$2/bin" "$CARGO_TARGET_DIR" && printf '#!/bin/sh\\necho built\\n' > "$2/bin/rathole"
if [ -n "$FAKE_CARGO_FAILS" ]; then echo "linking failed" >&2; exit 101; fi
chmod +x "$2/bin/rathole"
`;

let home: string;
let peers: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "db-peers-"));
  peers = join(home, "drawbridge", "peers");
  await writeFile(join(home, "go"), FAKE_GO);
  await chmod(join(home, "go"), 0o755);
  await writeFile(join(home, "cargo"), FAKE_CARGO, { mode: 0o755 });
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true, force: true });
});

async function build(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ["--import", "tsx", script, ...args], {
    env: { HOME: home, XDG_CACHE_HOME: home, PATH: `${home}:/usr/bin:/bin`, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { stdout, stderr, code };
}

const calls = async () => (await readFile(join(home, "calls"), "utf8").catch(() => "")).split("\n").filter(Boolean);

test("--check builds nothing and says what is missing", async () => {
  const answer = await build(["--check", "proxy-agent", "kubelet"]);
  expect(answer.code).toBe(1);
  expect(answer.stdout).toMatch(/^peers: cache .*\nmissing {2}proxy-agent v\S+\nmissing {2}kubelet v\S+\n$/);
  expect(await calls()).toEqual([]);
});

test("a peer is built once, also by two processes at the same time, and nothing half-made stays", async () => {
  const both = await Promise.all([build(["proxy-agent"]), build(["proxy-agent"])]);
  expect(both.map((answer) => [answer.code, answer.stderr])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  expect((await build(["proxy-agent"])).stdout).toContain("1 of 1 ready");
  expect(await calls()).toHaveLength(1);
  expect((await readdir(peers)).sort()).toEqual([".locks", ".stamps", "proxy-agent"]);
  expect((await build(["--check", "proxy-agent"])).code).toBe(0);
});

test("a stamp of another version means a new build", async () => {
  await build(["proxy-agent"]);
  const stamp = join(peers, ".stamps", "proxy-agent.json");
  await writeFile(stamp, (await readFile(stamp, "utf8")).replace(/@v\d+/, "@v9"));
  expect((await build(["--check", "proxy-agent"])).code).toBe(1);
  expect((await build(["proxy-agent"])).stdout).toMatch(/\[1\/1\] proxy-agent v\S+: done in \d+ s/);
  expect(await calls()).toHaveLength(2);
});

test("Kubernetes programs are told their version", async () => {
  await build(["kubelet"]);
  expect((await calls())[0]).toMatch(/-X k8s\.io\/component-base\/version\.gitVersion=v1\.\d+\.\d+ /);
});

test("kubeadm and what it runs are built by name only, in the version of the other Kubernetes programs", async () => {
  const { stdout } = await build(["--check"]);
  expect(stdout).toContain("missing  kubelet v");
  expect(stdout).not.toMatch(/kubeadm|kube-proxy/);
  const named = await build(["--check", "kubelet", "kubeadm", "kube-proxy", "etcd-for-kubeadm"]);
  const versions = [...named.stdout.matchAll(/^missing {2}(?:kubelet|kubeadm|kube-proxy) (\S+)$/gm)].map(
    ([, one]) => one,
  );
  expect(versions).toHaveLength(3);
  expect(new Set(versions).size).toBe(1);
  expect(named.stdout).toMatch(/^missing {2}etcd-for-kubeadm v3\.6\./m);
});

test("a crate is built by its version without its lock file, by name only, and only its executable stays", async () => {
  expect((await build(["--check"])).stdout).not.toContain("rathole");
  const answer = await build(["rathole"], { FAKE_GO_VERSION: "go1.19.8" });
  expect([answer.code, answer.stderr]).toEqual([0, ""]);
  expect(answer.stdout).toContain("[1/1] rathole v0.5.0: done");
  expect(await calls()).toEqual([expect.stringMatching(/^install rathole --version =0\.5\.0 --root \S+$/)]);
  expect((await readdir(peers)).sort()).toEqual([".locks", ".stamps", "rathole"]);
  expect((await build(["--check", "rathole"])).code).toBe(0);
});

test("a crate that cannot be built leaves nothing behind, and the end says what brings it", async () => {
  const answer = await build(["rathole"], { FAKE_CARGO_FAILS: "1" });
  expect(answer.code).toBe(1);
  expect(answer.stderr).toMatch(
    /^peers: rathole is missing: .*; install gcc, pkg-config and libssl-dev, then run this/,
  );
  expect(answer.stderr).toContain("linking failed");
  expect(await readdir(peers)).toEqual([".locks"]);
});

test("without cargo a crate is one sentence and exit 1", async () => {
  const answer = await build(["rathole"], { PATH: "/nonexistent" });
  expect([answer.code, answer.stderr]).toEqual([1, expect.stringMatching(/^No usable cargo was found .*\n$/)]);
});

test("a failing compiler leaves nothing behind and is quoted", async () => {
  const answer = await build(["proxy-agent"], { FAKE_GO_FAILS: "proxy-agent" });
  expect(answer.code).toBe(1);
  expect(answer.stderr).toContain("cannot find module");
  expect(await readdir(peers)).toEqual([".locks"]);
});

test("a peer that cannot be built does not stop the others, and the end says what brings it", async () => {
  const answer = await build(["ignition", "proxy-agent", "kubelet"], { FAKE_GO_FAILS: "/.ignition." });
  expect(answer.code).toBe(1);
  expect((await readdir(peers)).sort()).toEqual([".locks", ".stamps", "kubelet", "proxy-agent"]);
  expect(answer.stdout).toContain("peers: 2 of 3 ready\n");
  expect(answer.stderr).toMatch(/^peers: ignition is missing: .*; install gcc and libblkid-dev, then run this again\n/);
  expect(answer.stderr).toContain("cannot find module");
});

test.each([
  ["no toolchain", { PATH: "/nonexistent" }, /^No usable Go toolchain .*\n$/],
  ["an old toolchain", { FAKE_GO_VERSION: "go1.19.8" }, /^Go 1\.19 is too old .*\n$/],
])("%s is one sentence and exit 1", async (_name, env: Record<string, string>, sentence) => {
  const answer = await build(["proxy-agent"], env);
  expect(answer.code).toBe(1);
  expect(answer.stderr).toMatch(sentence);
});

test("an unknown peer is refused", async () => {
  const answer = await build(["proxy-angel"]);
  expect([answer.code, answer.stderr]).toEqual([
    1,
    expect.stringMatching(/^There is no peer called proxy-angel; .*\n$/),
  ]);
});

test("a peer is found in the cache first, on PATH where allowed, and otherwise skipped or demanded", async () => {
  vi.stubEnv("XDG_CACHE_HOME", home);
  vi.stubEnv("PATH", home);
  await writeFile(join(home, "kubectl"), "");
  await writeFile(join(home, "kubelet"), "", { mode: 0o755 });
  expect(peerPath("kubectl")).toBeUndefined();
  await chmod(join(home, "kubectl"), 0o755);
  expect(peerPath("kubectl")).toBe(join(home, "kubectl"));
  await build(["kubectl"]);
  expect(peerPath("kubectl")).toBe(join(peers, "kubectl"));

  vi.stubEnv("DRAWBRIDGE_REQUIRE_PEERS", "");
  expect(requirePeer("kubelet")).toBeUndefined();
  vi.stubEnv("DRAWBRIDGE_REQUIRE_PEERS", "1");
  expect(() => requirePeer("kubelet")).toThrow(/npm run peers -- kubelet/);
  expect(() => requirePeer("etcd")).toThrow(/etcd-server/);
});
