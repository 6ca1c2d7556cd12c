import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CHECKSUMS, writeChecksums } from "./checksums.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-checksums-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const check = () =>
  execFileSync("sha256sum", ["--check", "--strict", CHECKSUMS], { cwd: folder, encoding: "utf8", stdio: "pipe" });

test("sha256sum confirms all files, and finds one that was changed", async () => {
  writeFileSync(join(folder, "b"), "second");
  writeFileSync(join(folder, "a"), "first");
  await writeChecksums(folder);
  // Once more: the list does not list itself.
  await writeChecksums(folder);
  expect(check()).toBe("a: OK\nb: OK\n");
  writeFileSync(join(folder, "a"), "forged");
  expect(check).toThrow();
});
