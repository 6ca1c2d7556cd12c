/** certs.sh as a bootstrap host runs it. What its certificates look like: src/tunnel/pki/profiles/two-issuers.process.test.ts. */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { inspectPath } from "../../../tunnel/pki/inspect/inspect.js";
import { opensslAvailable } from "../../../tunnel/pki/testing/openssl.js";

/** How long an RSA key takes is a matter of luck. */
vi.setConfig({ testTimeout: 60_000 });

const script = fileURLToPath(new URL("certs.sh", import.meta.url));
const text = readFileSync(script, "utf8");

let scratch: string;
let tlsDir: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-certs-sh-"));
  tlsDir = join(scratch, "tls", "konnectivity");
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

/** P-256 because it is quicker; the environment is otherwise empty, as little as a service gets. */
const environment = (extra: NodeJS.ProcessEnv = {}) => ({
  PATH: process.env.PATH,
  KONNECTIVITY_TLS_DIR: tlsDir,
  KONNECTIVITY_KEY: "ec",
  ...extra,
});

function run(addresses: readonly string[], extra: NodeJS.ProcessEnv = {}) {
  return spawnSync("bash", [script, ...addresses], { env: environment(extra), encoding: "utf8" });
}

/** Puts a command in front of the real one; `before` runs at each call, with the real one's path in $real. */
function intercept(commands: readonly string[], before: string, after = ""): NodeJS.ProcessEnv {
  const folder = join(scratch, "bin");
  mkdirSync(folder, { recursive: true });
  for (const command of commands) {
    const real = spawnSync("bash", ["-c", `command -v ${command}`], { encoding: "utf8" }).stdout.trim();
    const file = join(folder, command);
    writeFileSync(file, `#!/bin/bash\n${before}\n"${real}" "$@"\nstatus=$?\n${after}\nexit $status\n`);
    chmodSync(file, 0o755);
  }
  return { PATH: `${folder}:${process.env.PATH}` };
}

const contents = () => readdirSync(tlsDir).map((name) => readFileSync(join(tlsDir, name), "utf8"));

describe("the arguments of certs.sh", () => {
  test.each([
    [[], /no address given/],
    [[""], /address is missing \(got ""\)/],
    [["null"], /address is missing \(got "null"\)/],
    [["192.0.2.1", ""], /address is missing/],
    [["bootstrap.example.test"], /not an IP address/],
    [["192.0.2.1:8091"], /not an IP address/],
    [["192.0.2.256"], /not an IP address/],
    [["192.0.2"], /not an IP address/],
    [["010.0.0.1"], /not an IP address/],
    [["fe80::1%eth0"], /not an IP address/],
    [["1::2::3"], /not an IP address/],
    [[":1::"], /not an IP address/],
    [["1:2:3:4:5:6:7"], /not an IP address/],
    [["1:2:3:4:5:6:7:8::"], /not an IP address/],
    [["12345::"], /not an IP address/],
    [["[2001:db8::1]"], /not an IP address/],
    [["192.0.2.1,IP:192.0.2.2"], /not an IP address/],
  ])("%j: refused with one sentence, and nothing is written", (addresses, sentence) => {
    const { status, stdout, stderr } = run(addresses);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/^konnectivity-certs: [^\n]+\n$/);
    expect(readdirSync(scratch)).toEqual([]);
  });

  test.each([
    [{ KONNECTIVITY_KEY: "dsa" }, /must be rsa or ec/],
    [{ KONNECTIVITY_HOURS: "0" }, /must be 1 to 9999/],
    [{ KONNECTIVITY_HOURS: "24h" }, /must be 1 to 9999/],
    [{ KONNECTIVITY_TLS_DIR: "tls" }, /absolute path/],
    [{ KONNECTIVITY_TLS_DIR: "/" }, /absolute path/],
  ])("%j: refused with one sentence", (extra, sentence) => {
    const { status, stderr } = run(["192.0.2.1"], extra);
    expect(status).toBe(1);
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/^konnectivity-certs: [^\n]+\n$/);
  });
});

describe.skipIf(!opensslAvailable())("what it makes", () => {
  test("serves every way to write an IPv6 address", async () => {
    const addresses = ["::1", "2001:db8::", "1:2:3:4:5:6:7:8", "::2:3:4:5:6:7:8", "2001:DB8::ABCD"];
    expect(run(addresses)).toMatchObject({ status: 0, stderr: "" });
    for (const address of addresses) {
      const { findings } = await inspectPath(tlsDir, { address });
      expect(findings).toEqual([]);
    }
  });

  test("lives as long as it is told", async () => {
    expect(run(["192.0.2.1"], { KONNECTIVITY_HOURS: "2" }).status).toBe(0);
    const { certificates } = await inspectPath(tlsDir);
    expect(certificates).toHaveLength(3);
    for (const { endsInMs } of certificates) expect(Math.round(endsInMs / 60_000)).toBe(120);
  });

  test("is left alone by a second run for the same addresses", () => {
    run(["192.0.2.1", "2001:db8::1"]);
    const before = contents();
    const again = run(["192.0.2.1", "2001:db8::1"]);
    expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining("already holds good certificates") });
    expect(contents()).toEqual(before);
  });

  test.each<[string, string[], NodeJS.ProcessEnv, () => void]>([
    ["for another address", ["192.0.2.2"], {}, () => {}],
    ["with another kind of key", ["192.0.2.1"], { KONNECTIVITY_KEY: "rsa" }, () => {}],
    ["in the last third of its life", ["192.0.2.1"], { KONNECTIVITY_HOURS: "73" }, () => {}],
    ["after a key was lost", ["192.0.2.1"], {}, () => rmSync(join(tlsDir, "agent.key"))],
    ["after a certificate was damaged", ["192.0.2.1"], {}, () => writeFileSync(join(tlsDir, "server.crt"), "x")],
  ])("is made anew as a whole %s", async (_, addresses, extra, spoil) => {
    run(["192.0.2.1"]);
    const before = readFileSync(join(tlsDir, "ca.crt"), "utf8");
    spoil();
    expect(run(addresses, extra)).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(tlsDir, "ca.crt"), "utf8")).not.toBe(before);
    expect((await inspectPath(tlsDir, { address: addresses[0]! })).findings).toEqual([]);
    expect(readdirSync(join(scratch, "tls"))).toEqual(["konnectivity"]);
  });

  test("never has the signer's key in a file", () => {
    const seen = join(scratch, "seen");
    const temporary = join(scratch, "tmp");
    mkdirSync(temporary);
    const look = `grep -rl "PRIVATE KEY" "${scratch}/tls" "${temporary}" >>"${seen}" 2>/dev/null`;
    const path = intercept(["openssl", "mv", "sync"], look, look);
    expect(run(["192.0.2.1"], { ...path, TMPDIR: temporary })).toMatchObject({ status: 0, stderr: "" });
    const names = readFileSync(seen, "utf8")
      .trim()
      .split("\n")
      .map((file) => file.split("/").at(-1));
    expect(new Set(names)).toEqual(new Set(["server.key", "agent.key"]));
  });

  test("says in one sentence what openssl objects to, and leaves nothing behind", () => {
    const path = intercept(["openssl"], `[[ $1 == ca ]] && { echo "disk on fire" >&2; exit 1; }`);
    expect(run(["192.0.2.1"], path)).toMatchObject({
      status: 1,
      stderr: "konnectivity-certs: openssl ca failed: disk on fire\n",
    });
    expect(readdirSync(join(scratch, "tls"))).toEqual([]);
  });
});

describe.skipIf(!opensslAvailable())("killed", () => {
  /** Kills the whole run at the n-th call of one of these commands; false when it ended before. */
  async function killAt(call: number, when: "before" | "after", commands: readonly string[]): Promise<boolean> {
    const counter = join(scratch, "calls");
    rmSync(counter, { force: true });
    const count = `echo >>"${counter}"; calls=$(wc -l <"${counter}")`;
    const kill = `((calls == ${call})) && kill -KILL 0`;
    const path = when === "before" ? intercept(commands, `${count}; ${kill}`) : intercept(commands, count, kill);
    const child = spawn("bash", [script, "192.0.2.2"], { env: environment(path), detached: true, stdio: "ignore" });
    const signal = await new Promise((resolve) => child.once("exit", (_code, name) => resolve(name)));
    return signal === "SIGKILL";
  }

  test.each<[string, "before" | "after", string[], number]>([
    // Three looks at what is there, mktemp, three keys, requests and signatures, and at the end sync, mv, mv, sync.
    ["before any step", "before", ["openssl", "mktemp", "sync", "mv"], 17],
    ["after a move", "after", ["mv"], 2],
  ])(
    "%s, it leaves the old set, the new one or none, and a second run completes",
    {
      timeout: 120_000,
    },
    async (_, when, commands, steps) => {
      run(["192.0.2.1"]);
      const old = contents();
      const copy = join(scratch, "copy");
      cpSync(tlsDir, copy, { recursive: true });
      let kills = 0;
      while (kills < steps + 1 && (await killAt(kills + 1, when, commands))) {
        kills++;
        if (existsSync(tlsDir) && JSON.stringify(contents()) !== JSON.stringify(old)) {
          expect((await inspectPath(tlsDir, { address: "192.0.2.2" })).findings).toEqual([]);
        }
        expect(run(["192.0.2.2"])).toMatchObject({ status: 0, stderr: "" });
        expect((await inspectPath(tlsDir, { address: "192.0.2.2" })).findings).toEqual([]);
        expect(readdirSync(join(scratch, "tls"))).toEqual(["konnectivity"]);
        rmSync(tlsDir, { recursive: true });
        cpSync(copy, tlsDir, { recursive: true });
      }
      expect(kills).toBe(steps);
    },
  );
});

describe("the text of certs.sh", () => {
  test("pleases shellcheck", () => {
    const { status, stdout, error } = spawnSync("shellcheck", ["--shell=bash", script], { encoding: "utf8" });
    if (error) {
      const advice = "shellcheck is missing: install the Debian package shellcheck (.ci/install-packages does it).";
      if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(advice);
      process.stderr.write(`skipped: ${advice}\n`);
      return;
    }
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });

  test("may be executed", () => {
    expect(statSync(script).mode & 0o111).toBe(0o111);
  });

  test("uses nothing that came after bash 4.4", () => {
    const newer =
      /EPOCHSECONDS|EPOCHREALTIME|BASH_ARGV0|SRANDOM|wait -p|@[ULuKk]\}|\$\{ |assoc_expand_once|localvar_inherit/;
    expect(text).not.toMatch(newer);
  });

  test.skipIf(!opensslAvailable())("gives openssl only options that 1.1.1 knows", () => {
    const log = join(scratch, "options");
    const path = intercept(["openssl"], `printf '%s\\n' "$*" >>"${log}"`);
    for (const KONNECTIVITY_KEY of ["ec", "rsa"]) run(["192.0.2.1", "2001:db8::1"], { ...path, KONNECTIVITY_KEY });
    const calls = readFileSync(log, "utf8").trim().split("\n");
    expect(new Set(calls.map((call) => call.split(" ")[0]))).toEqual(new Set(Object.keys(optionsOf111)));
    for (const call of calls) {
      const [command = "", ...words] = call.split(" ");
      const known = optionsOf111[command]!.split(" ");
      for (const option of words.filter((word) => /^-[a-z]/i.test(word))) expect(known).toContain(option.slice(1));
    }
  });
});

/** What `openssl COMMAND -help` of 1.1.1 lists, for the commands the script uses. */
const optionsOf111: Readonly<Record<string, string>> = {
  genpkey: "help out outform pass paramfile algorithm pkeyopt genparam text engine",
  req: "help inform outform in out key keyform pubkey new config keyout passin passout rand writerand newkey pkeyopt sigopt batch newhdr modulus verify nodes noout verbose utf8 nameopt reqopt text x509 subj subject multivalue-rdn days set_serial addext extensions reqexts precert engine keygen_engine",
  ca: "help verbose config name subj utf8 create_serial rand_serial multivalue-rdn startdate enddate days md policy keyfile keyform passin key cert selfsign in out outdir sigopt notext batch preserveDN noemailDN gencrl msie_hack crldays crlhours crlsec infiles ss_cert spkac revoke valid extensions extfile status updatedb crlexts crl_reason crl_hold crl_compromise crl_CA_compromise rand writerand engine",
  x509: "help inform in outform out keyform passin serial subject_hash issuer_hash hash subject issuer email startdate enddate purpose dates modulus pubkey fingerprint alias noout nocert ocspid ocsp_uri trustout clrtrust clrext addtrust addreject setalias days checkend signkey x509toreq req CA CAkey CAcreateserial CAserial set_serial text ext C extfile rand writerand extensions nameopt certopt checkhost checkemail checkip CAform CAkeyform sigopt force_pubkey next_serial clrreject badsig subject_hash_old issuer_hash_old engine preserve_dates",
};
