import * as nodeFs from "node:fs/promises";
import { mkdtemp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { createFile, makeDirectory, moveIntoPlace, replaceFile, replaceFiles, temporaryPathFor } from "./files.js";

let dir: string;
const at = (name: string): string => join(dir, name);
const modeOf = async (name: string): Promise<number> => (await stat(at(name))).mode & 0o777;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "files-"));
});

test("replaceFile creates a file, then replaces its content and mode, and leaves no temporary file", async () => {
  await replaceFile(at("a"), "one", 0o644);
  await replaceFile(at("a"), new Uint8Array([0x32]), 0o600);

  expect(await readFile(at("a"), "utf8")).toBe("2");
  expect(await modeOf("a")).toBe(0o600);
  expect(await readdir(dir)).toEqual(["a"]);
});

test("replaceFile replaces a symbolic link and leaves the file behind it alone", async () => {
  await writeFile(at("other"), "other");
  await symlink(at("other"), at("a"));

  await replaceFile(at("a"), "new", 0o600);

  expect(await readFile(at("other"), "utf8")).toBe("other");
  expect(await readFile(at("a"), "utf8")).toBe("new");
});

test("replaceFile that fails keeps the old file and removes the temporary one", async () => {
  await writeFile(at("a"), "old");
  const fs = { ...nodeFs, rename: () => Promise.reject(new Error("no rename")) };

  await expect(replaceFile(at("a"), "new", 0o600, { fs })).rejects.toThrow("no rename");

  expect(await readFile(at("a"), "utf8")).toBe("old");
  expect(await readdir(dir)).toEqual(["a"]);
});

test("replaceFile removes what a crash left at the given temporary path", async () => {
  await writeFile(at(".a.new"), "half");

  await replaceFile(at("a"), "whole", 0o600, { temporary: at(".a.new") });

  expect(await readdir(dir)).toEqual(["a"]);
});

test("replaceFiles changes nothing when one of the files cannot be written", async () => {
  await writeFile(at("a"), "old");
  const files = [
    { path: at("a"), content: "new", mode: 0o600 },
    { path: at("missing/b"), content: "new", mode: 0o600 },
  ];

  await expect(replaceFiles(files)).rejects.toThrow("ENOENT");

  expect(await readFile(at("a"), "utf8")).toBe("old");
  expect(await readdir(dir)).toEqual(["a"]);
});

test("createFile fails when the file exists already", async () => {
  await createFile(at("a"), "one", 0o640);

  await expect(createFile(at("a"), "two", 0o640)).rejects.toMatchObject({ code: "EEXIST" });
  expect(await readFile(at("a"), "utf8")).toBe("one");
  expect(await modeOf("a")).toBe(0o640);
});

test("moveIntoPlace gives a streamed temporary file its name", async () => {
  const temporary = temporaryPathFor(at("a"));
  await createFile(temporary, "streamed", 0o600);

  await moveIntoPlace(temporary, at("a"));

  expect(await readdir(dir)).toEqual(["a"]);
});

test("makeDirectory makes what is missing with its mode and leaves what exists as it is", async () => {
  expect(await makeDirectory(at("a/b/c"), 0o700)).toBe(at("a"));
  expect(await makeDirectory(at("a/b"), 0o755)).toBeUndefined();

  expect(await Promise.all([modeOf("a"), modeOf("a/b"), modeOf("a/b/c")])).toEqual([0o700, 0o700, 0o700]);
});

test("makeDirectory refuses a path where the system makes no directory", async () => {
  await expect(makeDirectory("/proc/drawbridge/pki")).rejects.toThrow("ENOENT");
});

test("makeDirectory refuses a path at or below a file", async () => {
  await writeFile(at("file"), "");

  await expect(makeDirectory(at("file"))).rejects.toThrow("EEXIST");
  await expect(makeDirectory(at("file/below"))).rejects.toThrow("ENOTDIR");
});

test("no module lets Node make directories recursively, which can spin for ever", async () => {
  const source = fileURLToPath(new URL("..", import.meta.url));
  const modules = (await readdir(source, { recursive: true })).filter((name) => /(?<!\.test)\.ts$/.test(name));
  const texts = await Promise.all(modules.map(async (name) => [name, await readFile(join(source, name), "utf8")]));
  const spinning = texts.filter(([name, text]) => !/\btesting\//.test(name!) && /mkdir.*recursive: true/.test(text!));
  expect(spinning.map(([name]) => name)).toEqual([]);
});

/** What writes a file's bytes some other way, and why. */
const otherWriters: Readonly<Record<string, string>> = {
  "base/archive-writer.ts": "streams an archive beside its target, and moves it into place",
  "base/files.ts": "the one way",
  "cli/framework/output.ts": "standard output",
  "cluster/bootstrap/host/files.ts": "hands node:fs to base/files.ts, or a test's own",
  "cluster/bootstrap/host/host.ts": "opens the log that a process it starts writes to",
  "cluster/nodes/line-log.ts": "appends lines",
  "tunnel/pki/write-pki.ts": "copies what somebody else put beside the certificates",
};

test("nothing else in src writes the bytes of files", async () => {
  const src = fileURLToPath(new URL("..", import.meta.url));
  const names = (await readdir(src, { recursive: true })).filter(
    (name) => name.endsWith(".ts") && !/\.(test|fuzz)\.ts$|(^|\/)testing\//.test(name),
  );
  const writers: string[] = [];
  for (const name of names) {
    const imports = [
      ...(await readFile(join(src, name), "utf8")).matchAll(/^import ([^;]*?) from "node:fs(\/promises)?";/gm),
    ];
    const isWriter = imports.some(([, what = ""]) =>
      /\* as|\b(appendFile\w*|copyFile\w*|cp(Sync)?|createWriteStream|openSync|writeFile\w*|writeSync)\b/.test(what),
    );
    if (isWriter) writers.push(name);
  }
  expect(writers.sort()).toEqual(Object.keys(otherWriters));
});
