import { execFileSync } from "node:child_process";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { type TarMember, tar, tarEntries } from "./tar.js";

const archive = (...entries: TarMember[]): Buffer => Buffer.concat([...tar(entries)]);
const list = (bytes: Buffer): string[] =>
  execFileSync("tar", ["--utc", "--full-time", "--numeric-owner", "-tvf", "-"], { input: bytes, encoding: "utf8" })
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/\s+/g, " "));
const extract = (bytes: Buffer, path: string): Buffer => execFileSync("tar", ["-xOf", "-", path], { input: bytes });

test("the system's tar reads files, folders and links, with their modes", () => {
  const bytes = archive(
    { path: "bin/", mode: 0o755 },
    { path: "bin/tool", mode: 0o4755, content: Buffer.from("#!/bin/x\n") },
    { path: "tool", mode: 0o777, linkTo: "bin/tool" },
    { path: "tmp/", mode: 0o1777 },
    { path: "empty", mode: 0o600, content: Buffer.alloc(0) },
  );
  expect(list(bytes)).toEqual([
    "drwxr-xr-x 0/0 0 1970-01-01 00:00:00 bin/",
    "-rwsr-xr-x 0/0 9 1970-01-01 00:00:00 bin/tool",
    "lrwxrwxrwx 0/0 0 1970-01-01 00:00:00 tool -> bin/tool",
    "drwxrwxrwt 0/0 0 1970-01-01 00:00:00 tmp/",
    "-rw------- 0/0 0 1970-01-01 00:00:00 empty",
  ]);
});

test.each([0, 1, 511, 512, 513, 100_000])("a file of %i bytes comes out as it went in", (size) => {
  const content = Buffer.from(Array.from({ length: size }, (_, index) => index % 251));
  const bytes = archive({ path: "file", mode: 0o644, content }, { path: "after", mode: 0o644, content });
  expect(bytes.length % 512).toBe(0);
  expect(extract(bytes, "file").equals(content)).toBe(true);
  expect(extract(bytes, "after").equals(content)).toBe(true);
});

test.each([
  ["that fits into two fields of the header", `${"folder-of-some-length/".repeat(7)}${"f".repeat(99)}`],
  ["with a longer name than a header holds", "f".repeat(101)],
  ["longer than a header holds", `${"folder/".repeat(60)}file`],
])("a path %s is read by the system's tar and by the reader", async (_, path) => {
  const bytes = archive({ path, mode: 0o644, content: Buffer.from("here") });
  expect(extract(bytes, path).toString()).toBe("here");
  const paths: string[] = [];
  for await (const entry of tarEntries(Readable.from([bytes]))) paths.push(entry.path);
  expect(paths).toEqual([path]);
});

test("a link whose target is too long is refused", () => {
  expect(() => archive({ path: "link", mode: 0o777, linkTo: "t".repeat(101) })).toThrow(/too long/);
});
