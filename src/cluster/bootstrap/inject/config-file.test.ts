import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBootstrapIgn, replaceConfigFile } from "./config-file.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-config-"));
  path = join(folder, "bootstrap.ign");
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each([
  ["not there", () => undefined, /ENOENT/],
  ["a directory", () => mkdirSync(path), /not a regular file|EISDIR/],
  ["empty", () => writeFileSync(path, ""), /is empty/],
  ["compressed", () => writeFileSync(path, gzipSync("{}")), /is compressed; unpack it with gunzip first/],
  ["no text", () => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d])), /is not UTF-8 text/],
  [
    "50 MB large",
    () => {
      writeFileSync(path, "{");
      truncateSync(path, 50_000_000);
    },
    /has 50 MB, and no installer writes more than a few/,
  ],
])("a file that is %s is refused", async (_, prepare, reason) => {
  prepare();
  await expect(readBootstrapIgn(path)).rejects.toThrow(reason);
  await expect(readBootstrapIgn(path)).rejects.toThrow(expect.objectContaining({ code: "DB_IGNITION_FILE" }));
});

test("a changed bootstrap.ign keeps the mode that the installer gave it, and leaves nothing beside it", async () => {
  writeFileSync(path, "old", { mode: 0o640 });
  await replaceConfigFile(path, "new");
  expect(readFileSync(path, "utf8")).toBe("new");
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect(readdirSync(folder)).toEqual(["bootstrap.ign"]);
});

test.skipIf(process.getuid?.() !== 0)("a bootstrap.ign changed by root still belongs to its user", async () => {
  writeFileSync(path, "old", { mode: 0o640 });
  chownSync(path, 1234, 5678);
  await replaceConfigFile(path, "new");
  const { uid, gid, mode } = statSync(path);
  expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 1234, gid: 5678, mode: 0o640 });
});

test("a new bootstrap.ign (--out) is readable by its owner alone", async () => {
  await replaceConfigFile(path, "new");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a link stays a link", async () => {
  const real = join(folder, "real.ign");
  writeFileSync(real, "old");
  symlinkSync(real, path);
  await replaceConfigFile(path, "new");
  expect(readFileSync(real, "utf8")).toBe("new");
  expect(readdirSync(folder).sort()).toEqual(["bootstrap.ign", "real.ign"]);
});

test.each([
  ["a directory that is not there", () => join(folder, "nowhere", "a.ign")],
  ["a name that is a directory's", () => folder],
])("%s: one sentence, and nothing is left behind", async (_, target) => {
  await expect(replaceConfigFile(target(), "new")).rejects.toThrow(
    expect.objectContaining({ code: "DB_IGNITION_WRITE" }),
  );
  expect(readdirSync(folder)).toEqual([]);
  expect(readdirSync(tmpdir()).filter((name) => name.endsWith(".tmp") && name.includes("drawbridge-config-"))).toEqual(
    [],
  );
});
