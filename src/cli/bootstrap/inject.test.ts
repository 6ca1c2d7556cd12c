/** The command as its user meets it: words, output, exit code, and the file afterwards. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bootstrapIgnition } from "../../../test/support/ignition-fixtures/ignition.js";
import { shapes } from "../../../test/support/ignition-fixtures/releases.js";
import bootstrapInject from "./inject.js";

let folder: string;
let path: string;
const printed = { out: "", err: "" };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-inject-"));
  path = join(folder, "bootstrap.ign");
  printed.out = printed.err = "";
  const keep = (name: "out" | "err") => (text: string | Uint8Array) => {
    printed[name] += text;
    return true;
  };
  vi.spyOn(process.stdout, "write").mockImplementation(keep("out"));
  vi.spyOn(process.stderr, "write").mockImplementation(keep("err"));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const command = (...words: string[]) => bootstrapInject.run("drawbridge bootstrap inject", words);
const write = (text: string) => writeFileSync(path, text);
const read = () => readFileSync(path, "utf8");
const modern = bootstrapIgnition(shapes["4.18"]);

test("the bridge is injected, injected again, and removed", async () => {
  write(modern);
  expect(await command(path)).toBe(0);
  expect(printed.out).toMatch(/^.*bootstrap.ign: has no integration, OpenShift 4.18 \(by the installer's version\)\n/);
  expect(printed.out).toMatch(
    /The bridge was put in: \d+ bytes before, \d+ now, after \d+\.\d\d s\.\nWritten: .*\nNext: .*8091/,
  );
  const injected = read();
  expect(injected).not.toBe(modern);
  printed.out = "";
  expect(await command(path)).toBe(0);
  expect(printed.out).toContain("The bridge is up to date; nothing to do.");
  expect(read() === injected).toBe(true);
  expect(await command("--remove", path)).toBe(0);
  expect(read() === modern).toBe(true);
  printed.out = "";
  expect(await command("--remove", path)).toBe(0);
  expect(printed.out).toContain("There is nothing of drawbridge's in it.");
});

test("--out leaves the input alone, and writes also when there is nothing to do", async () => {
  write(bootstrapIgnition(shapes["bootstrap in place"]));
  const out = join(folder, "out.ign");
  expect(await command(path, "--out", out)).toBe(0);
  expect(printed.out).toMatch(
    /bootstrap in place: the node installs itself and needs no bridge.*\nIt was left as it is\.\nWritten/,
  );
  expect(readFileSync(out, "utf8") === read()).toBe(true);
});

test("--output json says what changed, with hashes", async () => {
  write(modern);
  expect(await command(path, "--output=json", "--bootstrap-ip", "10.0.0.7")).toBe(0);
  expect(JSON.parse(printed.out)).toMatchObject({
    ...{ file: path, action: "inject", state: "absent", changed: true, written: path, warnings: [] },
    release: { name: "4.18", hasImage: true },
    sha256: { before: expect.stringMatching(/^[0-9a-f]{64}$/), after: expect.stringMatching(/^[0-9a-f]{64}$/) },
    bytes: { before: Buffer.byteLength(modern) },
    tookMs: expect.any(Number),
  });
});

test("--check reports a finding for each part of the bridge and ends with 1 when one failed", async () => {
  write(modern);
  expect(await command("--check", path)).toBe(1);
  expect(printed.out).toMatch(/^FAILED {3}override-flag: 0 arguments --config-override-files, 1 expected\.$/m);
  await command(path);
  printed.out = "";
  expect(await command("--check", "--output", "json", path)).toBe(0);
  const report = JSON.parse(printed.out);
  expect(report).toMatchObject({ ok: true, state: "ours", applicable: true });
  expect(report.findings.length).toBeGreaterThanOrEqual(15);
});

test("--show prints every manifest and script, and changes nothing", async () => {
  write(modern);
  expect(await command("--show", path)).toBe(0);
  for (const name of [
    "konnectivity.sh, mode 0555",
    "konnectivity-certs.sh, mode 0555",
    "egress-selector-config.yaml, mode 0600",
  ])
    expect(printed.out).toContain(name);
  expect(printed.out).toMatch(/# Lines of \/usr\/local\/bin\/bootkube.sh\n# \d+: # BEGIN drawbridge source v1\n/);
  expect(read() === modern).toBe(true);
  printed.out = "";
  expect(await command("--show", "--output=json", path)).toBe(0);
  expect(JSON.parse(printed.out).files).toHaveLength(9);
});

test("the installer's own variable sets the address", async () => {
  vi.stubEnv("OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP", "192.0.2.7");
  write(modern);
  expect(await command("--show", path)).toBe(0);
  expect(printed.out).toContain("KONNECTIVITY_BOOTSTRAP_IP='192.0.2.7'");
});

describe("what cannot be done is one line with a code and a remedy:", () => {
  test.each([
    ["an old release without --image", bootstrapIgnition(shapes["4.8"]), [], 1, "DB_INJECT_IMAGE"],
    ["a truncated file", modern.slice(0, 5000), [], 1, "DB_IGNITION_FILE"],
    [
      "an unknown script",
      bootstrapIgnition(shapes["4.18"], { script: () => "#!/bin/bash\n" }),
      [],
      1,
      "DB_IGNITION_ANCHORS",
    ],
    ["a place that cannot be written", modern, ["--out", "/proc/drawbridge/x.ign"], 1, "DB_IGNITION_WRITE"],
    ["two files", modern, ["other.ign"], 2, "DB_FLAG_VALUE"],
    ["two actions", modern, ["--check", "--remove"], 2, "DB_FLAG_VALUE"],
    ["an output file for --show", modern, ["--show", "--out=a"], 2, "DB_FLAG_VALUE"],
    ["a word that is no choice", modern, ["--protocol=http"], 2, "DB_FLAG_VALUE"],
    ["a name for an address", modern, ["--bootstrap-ip=api-int"], 2, "DB_FLAG_VALUE"],
    ["an unknown flag", modern, ["--force"], 2, "DB_FLAG_UNKNOWN"],
  ])("%s", async (_, text, words, code, id) => {
    write(text);
    expect(await command(path, ...words)).toBe(code);
    expect(printed.err).toMatch(new RegExp(`^Error: [^\\n]+ \\(${id}: [^\\n]+\\.\\)\\n$`));
    expect(printed.out).toBe("");
    expect(read() === text).toBe(true);
  });

  test("no file", async () => {
    expect(await command()).toBe(2);
    expect(printed.err).toContain("the file is missing");
  });
});

test("--help names the flags and how the release is found", async () => {
  expect(await command("--help")).toBe(0);
  expect(printed.out).toContain("drawbridge bootstrap inject FILE [flags]");
  expect(printed.out).toContain("The release is taken from the installer's version");
  expect(printed.out).toMatch(/--image string +Pull spec [^-]* before\s+4.11/);
});
