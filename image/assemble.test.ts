import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TarMember } from "../src/base/tar.js";
import { assemble, type Recipe } from "./assemble.js";

const file = (path: string, text = path): TarMember => ({ path, mode: 0o644, content: Buffer.from(text) });
const recipe: Recipe = {
  name: "localhost/thing:1",
  layers: [
    { comment: "below", entries: [file("etc/a"), file("etc/b")] },
    { comment: "above", entries: [file("opt/c")] },
  ],
  config: { User: "65532:65532", Entrypoint: ["/opt/c"] },
  labels: { "org.opencontainers.image.title": "thing" },
  contents: "[]\n",
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-image-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sha256 = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const json = (path: string) => JSON.parse(readFileSync(path, "utf8"));

test("index, manifest, configuration and layers refer to each other by digest and size", () => {
  const { digest, bytes, path } = assemble(recipe, join(folder, "layout"));
  const blob = (of: string) => join(path, "blobs/sha256", of.slice("sha256:".length));
  for (const name of readdirSync(join(path, "blobs/sha256"))) {
    expect(sha256(readFileSync(join(path, "blobs/sha256", name)))).toBe(`sha256:${name}`);
  }
  expect(json(join(path, "oci-layout"))).toEqual({ imageLayoutVersion: "1.0.0" });
  const [entry] = json(join(path, "index.json")).manifests;
  expect(entry).toMatchObject({
    digest,
    platform: { os: "linux" },
    annotations: { "io.containerd.image.name": "localhost/thing:1" },
  });
  const manifest = json(blob(digest));
  const config = json(blob(manifest.config.digest));
  expect(config.config).toEqual({ ...recipe.config, Labels: recipe.labels });
  expect(config.rootfs.diff_ids).toEqual(manifest.layers.map((one: { digest: string }) => one.digest));
  const sizes = manifest.layers.map((one: { digest: string; size: number }) => {
    expect(readFileSync(blob(one.digest))).toHaveLength(one.size);
    return one.size;
  });
  expect(sizes[0] + sizes[1]).toBe(bytes);
  expect(readFileSync(join(path, "contents.json"), "utf8")).toBe("[]\n");
});

test("the same input gives the same digest and the same archive, another input another", () => {
  const [one, two] = ["one.tar", "two.tar"].map((name) => assemble(recipe, join(folder, name)));
  expect(one!.digest).toBe(two!.digest);
  expect(readFileSync(one!.path).equals(readFileSync(two!.path))).toBe(true);
  const changed = { ...recipe, layers: [{ comment: "below", entries: [file("etc/a", "other")] }] };
  expect(assemble(changed, join(folder, "three.tar")).digest).not.toBe(one!.digest);
});

test("an archive holds the layout and nothing else", () => {
  const { path, digest } = assemble(recipe, join(folder, "image.tar"));
  const names = execFileSync("tar", ["-tf", path], { encoding: "utf8" }).trimEnd().split("\n");
  expect(names.slice(0, 2)).toEqual(["oci-layout", "index.json"]);
  expect(names).toContain(`blobs/sha256/${digest.slice("sha256:".length)}`);
  expect(names).toHaveLength(8);
  expect(readdirSync(folder)).toEqual(["image.tar"]);
});

test("an image is replaced, a folder with other files is left alone", () => {
  const layout = join(folder, "layout");
  assemble(recipe, layout);
  utimesSync(join(layout, "index.json"), 0, 0);
  assemble(recipe, layout);
  expect(statSync(join(layout, "index.json")).mtimeMs).toBeGreaterThan(0);
  const other = join(folder, "other");
  mkdirSync(other);
  writeFileSync(join(other, "letter.txt"), "mine");
  expect(() => assemble(recipe, other)).toThrow("has other files in it");
  expect(readdirSync(other)).toEqual(["letter.txt"]);
});

test("a failure leaves nothing behind", () => {
  const broken = { ...recipe, layers: [{ comment: "twice", entries: [file("a"), file("a")] }] };
  expect(() => assemble(broken, join(folder, "layout"))).toThrow("two entries");
  expect(readdirSync(folder)).toEqual([]);
});
