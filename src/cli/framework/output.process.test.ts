/** Large results on their way out of a process: through a slow pipe, into a closed one, and onto a full disk. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

/** A process takes its time to start where others work, too. */
vi.setConfig({ testTimeout: 90_000 });

const DRAWBRIDGE = fileURLToPath(new URL("../drawbridge.ts", import.meta.url));
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const KIB = 1024;

let directory: string;
const file = (name: string): string => join(directory, name);

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "drawbridge-output-"));
  const source = `data:;base64,${Buffer.alloc(300 * KIB, "drawbridge").toString("base64")}`;
  const config = (path: string) => ({
    ignition: { version: "3.2.0" },
    storage: { files: [{ path, contents: { source } }] },
  });
  writeFileSync(file("big.ign"), JSON.stringify(config("/etc/big")));
  writeFileSync(file("other.ign"), JSON.stringify(config("/etc/other")));
  const files = Array.from({ length: 5000 }, (_, index) => ({
    path: `/etc/small/${index}`,
    contents: { source: "data:," },
  }));
  writeFileSync(file("many.ign"), JSON.stringify({ ignition: { version: "3.2.0" }, storage: { files } }));
  const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`unknown${index}`, index]));
  writeFileSync(file("wrong.ign"), JSON.stringify({ ignition: { version: "3.2.0" }, ...unknown }));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Commands whose result is larger than what a pipe holds (64 KiB). */
const commands: readonly (readonly [name: string, ...argv: string[]])[] = [
  ["ignition merge", "ignition", "merge", "big.ign", "other.ign"],
  ["ignition preview", "ignition", "preview", "many.ign"],
  ["ignition diff", "ignition", "diff", "big.ign", "many.ign"],
  ["ignition validate", "ignition", "validate", "wrong.ign", "--output", "json"],
];

/** The script sees the command as "$@". */
function shell(script: string, argv: readonly string[]) {
  const command = [process.execPath, "--import", TSX, DRAWBRIDGE, ...argv];
  return spawnSync("bash", ["-c", script, "bash", ...command], { cwd: directory, encoding: "utf8", timeout: 60_000 });
}

test.each(commands)("%s gives a slow pipe all of its result", (_name, ...argv) => {
  expect(shell('"$@" > whole', argv).stderr).toBe("");
  const whole = readFileSync(file("whole"));
  expect(whole.length).toBeGreaterThan(64 * KIB);
  const { status, stdout } = shell('set -o pipefail; "$@" | { sleep 0.5; sha256sum; }', argv);
  const digest = createHash("sha256").update(whole).digest("hex");
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${digest}  -\n` });
});

test.each(commands)("%s ends quietly when its reader has read enough", (_name, ...argv) => {
  const { status, stderr } = shell('set -o pipefail; "$@" | head -c 1 > begin', argv);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

const NO_SPACE = /^Error: the result cannot be written to standard output: [^\n]+ \(DB_OUTPUT: [^\n]+\)\n$/;

test.each(commands)("%s fails with a sentence when the disk takes nothing", (_name, ...argv) => {
  const { status, stderr } = shell('exec "$@" > /dev/full', argv);
  expect(status).toBe(1);
  expect(stderr).toMatch(NO_SPACE);
});

test.each(commands)("%s fails with a sentence when the disk takes a part", (_name, ...argv) => {
  const { status, stderr } = shell('trap "" XFSZ; ulimit -f 16; exec "$@" > part', argv);
  expect(status).toBe(1);
  expect(stderr).toMatch(NO_SPACE);
});
