/** `drawbridge pki` as it is typed: what it prints, where, and the code it ends with. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { drawbridge } from "../commands.js";

let scratch: string;
let dir: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-pki-command-"));
  dir = join(scratch, "tls");
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(scratch, { recursive: true, force: true });
});

async function pki(...argv: string[]) {
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      written[name] += String(text);
      return true;
    });
  }
  const status = await drawbridge.run("drawbridge", ["pki", ...argv]);
  vi.restoreAllMocks();
  return { status, ...written };
}

const bootstrap = ["init", "--profile=bootstrap", "--ip=192.0.2.1,2001:db8::1"];

test("init makes a set, a second run finds it good, other options are refused", async () => {
  const first = await pki(...bootstrap, `--dir=${dir}`);
  expect(first).toMatchObject({ status: 0, stderr: "" });
  expect(first.stdout).toMatch(
    /^Made in .*\n {2}ca {6}signer, until .*\n {2}server {2}server for 192\.0\.2\.1, 2001:db8::1, until /,
  );
  const second = await pki(...bootstrap, `--dir=${dir}`);
  expect(second).toMatchObject({ status: 0, stdout: expect.stringContaining("already holds this set") });
  const other = await pki("init", "--profile=bootstrap", "--ip=192.0.2.2", `--dir=${dir}`);
  expect(other).toMatchObject({ status: 1, stdout: "" });
  expect(other.stderr).toMatch(
    /server is for 192\.0\.2\.1, 2001:db8::1, not for 192\.0\.2\.2\. \(DB_PKI_EXISTS: [^\n]+\)\n$/,
  );
});

test("init --replace keeps the options of the former set unless flags change them", async () => {
  await pki(...bootstrap, "--organization=openshift", "--for=2h", "--node=a,b", `--dir=${dir}`);
  const ca = readFileSync(join(dir, "ca.crt"), "utf8");
  const { status, stdout } = await pki("init", "--replace", `--dir=${dir}`, "--node=c", "--output=json");
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    made: true,
    manifest: {
      options: {
        ipAddresses: ["192.0.2.1", "2001:db8::1"],
        organization: "openshift",
        validForMs: 7_200_000,
        nodes: ["c"],
      },
    },
  });
  expect(readFileSync(join(dir, "ca.crt"), "utf8")).not.toBe(ca);
  expect(readdirSync(dir)).toContain("agent-c.crt");
  expect(readdirSync(dir)).not.toContain("agent-a.crt");
});

test("init makes a hosted control plane's set for a year", async () => {
  const { status, stdout } = await pki(
    "init",
    "--profile=hosted",
    "--namespace=clusters-a",
    "--dns=k.test",
    `--dir=${dir}`,
  );
  expect(status).toBe(0);
  expect(stdout).toContain("konnectivity-cluster");
  expect(stdout).toContain("konnectivity-server.clusters-a.svc.cluster.local, k.test, until ");
});

test.each([
  [["init", "--dir=x"], /--profile is missing/],
  [["init", "--profile=bootstrap"], /--dir is missing/],
  [["init", "--profile=bootstrap", "--dir=x"], /--ip or --dns is missing/],
  [["init", "--profile=hosted", "--dir=x", "--dns=a"], /--namespace is missing/],
  [["init", "--profile=bootstrap", "--dir=x", "--namespace=a"], /--namespace belongs to --profile hosted/],
  [["init", "--profile=hosted", "--dir=x", "--node=a"], /--node belongs to --profile bootstrap/],
  [["init", "--profile=bootstrap", "--dir=x", "--ip=192.0.2.1", "--for=5s"], /"--for" flag: must be at least 1m0s/],
  [["init", "--profile=bootstrap", "--key=dsa"], /must be one of p256, rsa2048/],
  [["issue", "--dir=x"], /--node or --name is missing/],
  [["issue", "--dir=x", "--name=a"], /--use is missing/],
  [["issue", "--dir=x", "--node=a", "--ip=192.0.2.1"], /--ip does not go with --node/],
  [["renew", "--dir=x", "all"], /"all" belongs to no flag/],
  [["renew", "--dir=x", "--all", "--new-signers"], /--all and --new-signers are steps of their own/],
  [["inspect"], /name a certificate file or a directory/],
  [["nonsense"], /unknown command: "nonsense"; commands of drawbridge pki are: init, inspect, issue, renew/],
])("%j is misuse, reported in one line", async (argv, sentence) => {
  const { status, stdout, stderr } = await pki(...argv);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(sentence);
  expect(stderr).toMatch(/^Error: [^\n]+\n$/);
});

test("an address that is none is refused before anything is written", async () => {
  const { status, stderr } = await pki("init", "--profile=bootstrap", "--ip=null", `--dir=${dir}`);
  expect(status).toBe(1);
  expect(stderr).toMatch(/"null" is not an IP address.*DB_CERT_ISSUE/);
  expect(readdirSync(scratch)).toEqual([]);
});

test("issue and renew work with a kept signer key and say what to do without", async () => {
  await pki(...bootstrap, `--dir=${dir}`);
  for (const argv of [
    ["issue", "--node=n"],
    ["renew", "--all"],
  ]) {
    const { status, stderr } = await pki(...argv, `--dir=${dir}`);
    expect(status).toBe(1);
    expect(stderr).toMatch(/whole set must be made again\. \(DB_PKI_SIGNER_KEY: .*drawbridge pki init --replace/);
  }
  const kept = await pki("init", "--replace", "--keep-signer-key", `--dir=${dir}`);
  expect(kept.stdout).toContain("The signers' keys are kept there, too");
  expect(await pki("issue", "--node=n", `--dir=${dir}`)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^Issued in .*\n {2}agent-n {2}client for n, until [^\n]+\n$/),
  });
  expect((await pki("renew", `--dir=${dir}`)).stdout).toMatch(/^Nothing in .* is due:/);
  const renewed = await pki("renew", "--all", "--output=json", `--dir=${dir}`);
  expect(JSON.parse(renewed.stdout)).toMatchObject({ renewed: ["server", "agent", "agent-n"], extended: ["ca"] });
});

test("renew changes signers in three steps and says what comes next", async () => {
  const hosted = ["init", "--profile=hosted", "--namespace=a", "--dns=b.test", "--keep-signer-key"];
  await pki(...hosted, `--dir=${dir}`);
  const early = await pki("renew", "--drop-former-signers", `--dir=${dir}`);
  expect(early.stdout).toMatch(/^Nothing in .* is due:/);
  const first = await pki("renew", "--new-signers", `--dir=${dir}`);
  expect(first.stdout).toMatch(
    /^New signers in .*beside the former ones[\s\S]*konnectivity-agent-signer[\s\S]*Hand the bundles out/,
  );
  expect(await pki("renew", "--drop-former-signers", `--dir=${dir}`)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/still has certificates of former signers.*DB_PKI_ROTATION/),
  });
  const second = await pki("renew", `--dir=${dir}`);
  expect(second.stdout).toMatch(
    /^Renewed in [\s\S]*Also trusted still: konnectivity-server-signer[\s\S]*--drop-former-signers\.\n$/,
  );
  const third = await pki("renew", "--drop-former-signers", "--output=json", `--dir=${dir}`);
  expect(JSON.parse(third.stdout)).toMatchObject({ dropped: { length: 4 }, former: [], renewed: [] });
});

test("inspect prints what is there and ends with 1 when something is wrong", async () => {
  await pki(...bootstrap, `--dir=${dir}`);
  const good = await pki("inspect", dir, "--address=192.0.2.1");
  expect(good).toMatchObject({ status: 0, stderr: "" });
  expect(good.stdout).toMatch(/ends in 23 h 59 min|ends in 1 d/);
  expect(good.stdout).toContain("server.key (mode 0600) belongs to it");
  expect(good.stdout).toContain("IP:192.0.2.1, IP:2001:db8::1");
  expect(good.stdout).toMatch(/Nothing is wrong\.\n$/);
  const bad = await pki("inspect", "--address=192.0.2.9", dir);
  expect(bad.status).toBe(1);
  expect(bad.stdout).toMatch(
    /\nFAILED {3}address .*server\.crt: Agents that dial 192\.0\.2\.9 refuse it.*\n {9}Do: Run drawbridge pki init --replace /,
  );
  const json = await pki("inspect", "--address=192.0.2.9", "--output=json", dir);
  expect(json.status).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    reports: [{ findings: [{ state: "failed", check: "address" }] }],
  });
});

test("nothing it prints holds a key", async () => {
  await pki(...bootstrap, "--keep-signer-key", `--dir=${dir}`);
  const outputs = [
    await pki("inspect", dir),
    await pki("inspect", "--output=json", dir),
    await pki("renew", "--all", "--output=json", `--dir=${dir}`),
  ];
  for (const { stdout } of outputs) expect(stdout).not.toMatch(/PRIVATE|BEGIN/);
});
