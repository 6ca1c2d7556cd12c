import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { TarMember } from "../src/base/tar.js";
import { layer } from "./layer.js";

const file = (path: string): TarMember => ({ path, mode: 0o644, content: Buffer.from(path) });
const bytesOf = (entries: TarMember[]): Buffer => Buffer.concat([...layer(entries)]);
const names = (bytes: Buffer): string[] =>
  execFileSync("tar", ["-tf", "-"], { input: bytes, encoding: "utf8" }).trimEnd().split("\n");

test("every folder above a file is there, before what is in it", () => {
  expect(names(bytesOf([file("usr/share/doc/x"), file("lib64/y"), file("lib/z"), file("a")]))).toEqual([
    ...["a", "lib/", "lib/z", "lib64/", "lib64/y"],
    ...["usr/", "usr/share/", "usr/share/doc/", "usr/share/doc/x"],
  ]);
});

test("a folder with rights of its own keeps them", () => {
  const listing = execFileSync("tar", ["-tvf", "-"], {
    input: bytesOf([file("tmp/x"), { path: "tmp/", mode: 0o1777 }]),
    encoding: "utf8",
  });
  expect(listing).toContain("drwxrwxrwt");
  expect(listing.match(/tmp\/$/gm)).toHaveLength(1);
});

test("the order of the entries makes no difference", () => {
  const entries = ["b", "a/c", "a/b", "c/d/e"].map(file);
  expect(bytesOf(entries).equals(bytesOf(entries.toReversed()))).toBe(true);
});

test("two entries of one path are refused", () => {
  expect(() => bytesOf([file("a"), file("a")])).toThrow("two entries for a");
});
