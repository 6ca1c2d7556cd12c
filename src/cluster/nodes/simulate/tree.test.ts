import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Tree } from "./simulate.js";

let folder: string;
let tree: Tree;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "db-tree-"));
  tree = await Tree.at(join(folder, "root"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("a machine's root", () => {
  test("refuses directories and modes through a link that leads out of it", async () => {
    const outside = join(folder, "outside");
    mkdirSync(outside, { mode: 0o700 });
    await tree.symlink("/out", outside);
    const refused = { code: "DB_SIMULATE_ROOT", message: expect.stringContaining("a link is there") };
    await expect(tree.directory("/out")).rejects.toMatchObject(refused);
    await expect(tree.mode("/out", 0o777)).rejects.toMatchObject(refused);
    expect(statSync(outside).mode & 0o777).toBe(0o700);
  });

  test("gives files that are in it, behind its own links as well, and none of this host", async () => {
    writeFileSync(join(folder, "host"), "of this host");
    await tree.symlink("/etc/hostname", join(folder, "host"));
    expect(await tree.file("/etc/hostname")).toBeUndefined();
    await tree.write("/etc/real", "w-0", 0o644);
    await tree.symlink("/etc/alias", "../etc/./real");
    expect(readFileSync((await tree.file("/etc/alias"))!, "utf8")).toBe("w-0");
    await tree.directory("/etc/folder");
    expect([await tree.file("/etc/folder"), await tree.file("/none")]).toEqual([undefined, undefined]);
    await tree.symlink("/loop", "loop");
    await expect(tree.file("/loop")).rejects.toThrow("too many links");
  });

  test("reports what prevents a file from replacing another", async () => {
    await tree.write("/etc/unit/inner", "", 0o644);
    const refused = { code: "DB_SIMULATE_ROOT", message: expect.stringContaining("/etc/unit cannot be written") };
    await expect(tree.write("/etc/unit", "", 0o644, { over: true })).rejects.toMatchObject(refused);
  });
});
