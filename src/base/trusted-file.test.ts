import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { directoryFault, fileFault, readTrustedFile } from "./trusted-file.js";

const jane = { uid: 1000, gid: 1000 };
const root = { uid: 0, gid: 0 };
const file = (uid: number, mode: number) => ({ uid, mode: 0o100000 | mode, isFile: () => true });
const directory = (uid: number, gid: number, mode: number) => ({ uid, gid, mode: 0o040000 | mode });

describe("who can have written it", () => {
  test.each([
    ["root's file, for root", fileFault(file(0, 0o600), root), undefined],
    ["root's file, for a user", fileFault(file(0, 0o644), jane), undefined],
    ["the user's own file", fileFault(file(1000, 0o600), jane), undefined],
    ["a user's file, for root", fileFault(file(1000, 0o600), root), "it belongs to user 1000"],
    ["another user's file", fileFault(file(1001, 0o600), jane), "it belongs to user 1001"],
    ["a file for its group", fileFault(file(0, 0o660), root), "others may write to it (mode 0660)"],
    ["a file for all", fileFault(file(1000, 0o602), jane), "others may write to it (mode 0602)"],
    ["what is no file", fileFault({ ...file(0, 0o600), isFile: () => false }, root), "it is not a plain file"],
    ["root's directory", directoryFault(directory(0, 0, 0o755), root, false), undefined],
    ["a user's directory, for root", directoryFault(directory(1000, 0, 0o755), root, true), "it belongs to user 1000"],
    ["a directory for a group, for root", directoryFault(directory(0, 5, 0o775), root, true), "others may write"],
    ["a directory for the user's own group", directoryFault(directory(1000, 1000, 0o775), jane, true), undefined],
    ["a directory for another group", directoryFault(directory(1000, 5, 0o775), jane, true), "others may write"],
    ["a directory such as /tmp above", directoryFault(directory(0, 0, 0o1777), root, true), undefined],
    ["a directory such as /tmp itself", directoryFault(directory(0, 0, 0o1777), root, false), "others may write"],
  ])("%s", (_, fault, expected) => {
    if (expected === undefined) expect(fault).toBeUndefined();
    else expect(fault).toContain(expected);
  });
});

describe("a file that is acted upon", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drawbridge-trusted-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("is read when it is one's own, and absent when it is not there", async () => {
    writeFileSync(join(folder, "a"), "text", { mode: 0o600 });
    expect(await readTrustedFile(join(folder, "a"))).toBe("text");
    expect(await readTrustedFile(join(folder, "b"))).toBeUndefined();
    expect(await readTrustedFile(join(folder, "a", "b"))).toBeUndefined();
  });

  test("is read below one's own link, and not when it is a link itself", async () => {
    mkdirSync(join(folder, "real"), { mode: 0o700 });
    mkdirSync(join(folder, "real", "in"), { mode: 0o700 });
    writeFileSync(join(folder, "real", "in", "a"), "text", { mode: 0o600 });
    symlinkSync(join(folder, "real"), join(folder, "link"));
    symlinkSync(join(folder, "real", "in", "a"), join(folder, "a"));
    expect(await readTrustedFile(join(folder, "link", "in", "a"))).toBe("text");
    await expect(readTrustedFile(join(folder, "a"))).rejects.toThrow("is not believed: it is a symbolic link.");
  });

  test("is not read where a directory behind a link is open to all", async () => {
    mkdirSync(join(folder, "open"));
    chmodSync(join(folder, "open"), 0o777);
    mkdirSync(join(folder, "open", "real"), { mode: 0o700 });
    mkdirSync(join(folder, "open", "real", "in"), { mode: 0o700 });
    writeFileSync(join(folder, "open", "real", "in", "a"), "text", { mode: 0o600 });
    symlinkSync(join(folder, "open", "real"), join(folder, "link"));
    await expect(readTrustedFile(join(folder, "link", "in", "a"))).rejects.toMatchObject({
      code: "DB_RECORD_UNTRUSTED",
    });
  });
});
