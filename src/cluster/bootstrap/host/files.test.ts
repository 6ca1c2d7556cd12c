import * as nodeFs from "node:fs/promises";
import { afterEach, describe, expect, test } from "vitest";
import { HostFiles } from "./files.js";
import { FakeHost } from "./testing/fake-host.js";

const host = new FakeHost();
afterEach(async () => {
  await nodeFs.rm(host.root, { recursive: true, force: true });
  await nodeFs.mkdir(host.root);
});

const failing = (name: "open" | "rename" | "rm", code: string): HostFiles => {
  const fail = async () => {
    throw Object.assign(new Error(`${code}: no`), { code });
  };
  return new HostFiles(host.root, { ...nodeFs, [name]: fail });
};

describe("HostFiles.write", () => {
  test("puts the text there with exactly that mode, also over an older one", async () => {
    host.put("/a/b", "old", 0o600);
    await host.files.write("/a/b", "new", 0o664);
    expect(host.tree()).toEqual(["/a/ 755", "/a/b 664 new"]);
  });

  test("write leaves the old text when the disk is full, and removes what a killed process left", async () => {
    host.put("/a/b", "old");
    await expect(failing("rename", "ENOSPC").write("/a/b", "new", 0o600)).rejects.toMatchObject({
      code: "DB_HOST_FILE",
      message: "/a/b cannot be written: the disk is full.",
    });
    expect(host.text("/a/b")).toBe("old");
    expect(host.tree()).toEqual(["/a/ 755", "/a/b 600 old"]);
    host.put("/a/.b.drawbridge-new", "left by a killed process");
    await host.files.write("/a/b", "newer", 0o600);
    expect(host.tree()).toEqual(["/a/ 755", "/a/b 600 newer"]);
    host.put("/a/.b.drawbridge-new", "left by a killed process");
    expect(await host.files.remove("/a/b")).toBe(true);
    expect(host.tree()).toEqual(["/a/ 755"]);
  });

  test.each([
    ["EROFS", "the file system is read-only"],
    ["EACCES", "this user may not do that"],
  ])("says what %s means", async (code, words) => {
    await expect(failing("open", code).write("/x", "", 0o600)).rejects.toThrow(`/x cannot be written: ${words}.`);
  });
});

describe("directories of HostFiles", () => {
  test("that are missing above a path are named from the outside in", async () => {
    host.put("/there/file", "");
    expect(await host.files.missingAbove("/there/a/b/c")).toEqual(["/there/a", "/there/a/b"]);
    expect(await host.files.missingAbove("/there/c")).toEqual([]);
  });

  test("get their mode whatever the umask says", async () => {
    const umask = process.umask(0o077);
    try {
      await host.files.makeDirectory("/open", 0o770);
      await host.files.makeDirectory("/open", 0o755);
    } finally {
      process.umask(umask);
    }
    expect(host.tree()).toEqual(["/open/ 755"]);
  });

  test("go only when they are empty, if they may be others'", async () => {
    host.put("/a/b", "");
    expect(await host.files.removeEmpty("/a")).toBe(false);
    await host.files.remove("/a/b");
    expect(await host.files.removeEmpty("/a")).toBe(true);
    expect(await host.files.removeEmpty("/a")).toBe(true);
  });
});

test("tells files, directories and sockets from what is not there", async () => {
  host.put("/run/file", "", 0o640);
  await host.openSocket("/run/socket");
  expect(await host.files.status("/run/file")).toEqual({ kind: "file", mode: 0o640 });
  expect((await host.files.status("/run"))?.kind).toBe("directory");
  expect((await host.files.status("/run/socket"))?.kind).toBe("socket");
  expect(await host.files.status("/run/none")).toBeUndefined();
  expect(await host.files.status("/run/file/none")).toBeUndefined();
  expect(await host.files.remove("/run/file/none")).toBe(false);
  expect(await host.files.holdsAnything("/run")).toBe(true);
  expect(await host.files.holdsAnything("/none")).toBe(false);
});
