import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { neededLibraries } from "./elf.js";

const isLinux = process.platform === "linux";
const STATIC = "/usr/bin/busybox";

describe.skipIf(!isLinux)("a Linux executable", () => {
  test("names the libraries it is linked with", () => {
    const names = neededLibraries(readFileSync(process.execPath));
    expect(names).toEqual(expect.arrayContaining(["libc.so.6", "libstdc++.so.6"]));
    for (const name of names) expect(name).toMatch(/^(lib|ld-)[\w+.-]+\.so\.\d+$/);
  });

  test.skipIf(!existsSync(STATIC))("that is static names none", () => {
    expect(neededLibraries(readFileSync(STATIC))).toEqual([]);
  });
});

test("anything else is refused", () => {
  expect(() => neededLibraries(Buffer.from("#!/usr/bin/node\n"))).toThrow("no 64-bit little-endian ELF file");
  expect(() => neededLibraries(Buffer.alloc(0))).toThrow("no 64-bit little-endian ELF file");
});
