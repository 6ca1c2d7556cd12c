import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  bootstrapConfig,
  bootstrapIgnition,
  file,
  ignitionText,
} from "../../../../test/support/ignition-fixtures/ignition.js";
import { shapes } from "../../../../test/support/ignition-fixtures/releases.js";
import { inject } from "./inject.js";

const shape = shapes["4.14"];
const good = bootstrapIgnition(shape);
const withFiles = (...extraFiles: object[]) => bootstrapIgnition(shape, { extraFiles });
const withBootkube = (source: string, more: object = {}) => {
  const config = bootstrapConfig(shape);
  const files = config.storage.files.map((entry) =>
    (entry as { path: string }).path.endsWith("/bootkube.sh") ? { ...entry, contents: { source, ...more } } : entry,
  );
  return ignitionText({ ...config, storage: { files } });
};
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024)).toString("base64");

describe("a hostile bootstrap.ign is refused with a reason and a remedy, unchanged:", () => {
  test.each([
    ["cut off", good.slice(0, good.length / 2), "DB_IGNITION_FILE", /ends in the middle/],
    ["empty object", "{}", "DB_IGNITION_FILE", /no ignition.version/],
    ["a list", "[]", "DB_IGNITION_FILE", /no ignition.version/],
    ["a page of HTML", "<!doctype html>", "DB_IGNITION_FILE", /not JSON/],
    ["a byte order mark", `\ufeff${good}`, "DB_IGNITION_FILE", /not JSON/],
    ["spec 2", good.replace('"3.2.0"', '"2.2.0"'), "DB_IGNITION_SPEC", /spec 2.2.0/],
    ["spec 4", good.replace('"3.2.0"', '"4.0.0"'), "DB_IGNITION_SPEC", /spec 4.0.0/],
    ["a path twice", withFiles({ path: "/a" }, { path: "/a" }), "DB_IGNITION_CONTENT", /"\/a" occurs twice/],
    [
      "bootkube.sh twice",
      withFiles(file("/usr/local/bin/bootkube.sh", 0o555, "")),
      "DB_IGNITION_CONTENT",
      /occurs twice/,
    ],
    [
      "a path up and out",
      withFiles({ path: "/usr/../../etc/shadow" }),
      "DB_IGNITION_CONTENT",
      /not a plain absolute path/,
    ],
    [
      "bootkube.sh by another name",
      withFiles({ path: "/usr/local/./bin/bootkube.sh" }),
      "DB_IGNITION_CONTENT",
      /not a plain/,
    ],
    ["a relative path", withFiles({ path: "etc/passwd" }), "DB_IGNITION_CONTENT", /not a plain absolute path/],
    ["a path with a null byte", withFiles({ path: "/a\0b" }), "DB_IGNITION_CONTENT", /not a plain absolute path/],
    ["no path", withFiles({ mode: 1 }), "DB_IGNITION_CONTENT", /has no path/],
    [
      "files that are no list",
      ignitionText({ ...bootstrapConfig(shape), storage: { files: {} } }),
      "DB_IGNITION_CONTENT",
      /not a list/,
    ],
    [
      "a member twice",
      good.replace('"passwd":', '"storage":{"files":[]},"passwd":'),
      "DB_IGNITION_CONTENT",
      /"storage" occurs twice/,
    ],
    [
      "a member twice but for its case, as Go's decoder sees it",
      good.replace('"passwd":', '"Storage":{"files":[]},"passwd":'),
      "DB_IGNITION_CONTENT",
      /"storage" occurs twice/i,
    ],
    ["broken base64", withBootkube("data:;base64,a"), "DB_IGNITION_CONTENT", /bootkube.sh .* its base64 is broken/],
    ["base64 with escapes", withBootkube("data:;base64,YQ%3D%3D"), "DB_IGNITION_CONTENT", /its base64 is broken/],
    ["another spelling of base64", withBootkube("data:;BASE64,YQ=="), "DB_IGNITION_CONTENT", /media type/],
    ["a script from elsewhere", withBootkube("https://example.com/x"), "DB_IGNITION_CONTENT", /fetched from elsewhere/],
    ["a huge data URL", withBootkube(`data:,${"a".repeat(9 << 20)}`), "DB_IGNITION_RESOURCE", /larger than 8 MiB/],
    [
      "a gzip bomb",
      withBootkube(`data:;base64,${bomb}`, { compression: "gzip" }),
      "DB_IGNITION_RESOURCE",
      /larger than 8 MiB/,
    ],
    ["broken gzip", withBootkube("data:,abc", { compression: "gzip" }), "DB_IGNITION_RESOURCE", /broken gzip/],
    [
      "a wrong hash",
      withBootkube("data:,abc", { verification: { hash: "sha512-00" } }),
      "DB_IGNITION_RESOURCE",
      /does not have the hash/,
    ],
    [
      "a hash of unknown kind",
      withBootkube("data:,abc", { verification: { hash: "md5-00" } }),
      "DB_IGNITION_RESOURCE",
      /does not have the hash/,
    ],
    ["no UTF-8", withBootkube("data:;base64,gICA"), "DB_IGNITION_CONTENT", /not UTF-8/],
    [
      "a script by append only",
      withBootkube("data:,").replace(/"contents":\{"source":"data:,"\}/, '"append":[]'),
      "DB_IGNITION_ANCHORS",
      /has no .*bootkube.sh/,
    ],
  ])("%s", (_, text, code, reason) => {
    expect(() => inject(text, { image: "a/b:1" })).toThrow(expect.objectContaining({ code }));
    expect(() => inject(text, { image: "a/b:1" })).toThrow(reason);
  });
});

test("a directory or link under a file's path is as much a contradiction", () => {
  for (const kind of ["directories", "links"]) {
    const config = bootstrapConfig(shape);
    const text = ignitionText({
      ...config,
      storage: { ...config.storage, [kind]: [{ path: "/usr/local/bin/bootkube.sh" }] },
    });
    expect(() => inject(text, {})).toThrow(/occurs twice/);
  }
});

test("hostile names and values in manifests do not reach the script", () => {
  const networks = { service: ["172.30.0.0/16"], machine: ["'; touch /tmp/x; '", "10.0.0.0/99"], shared: ["$(id)"] };
  const { text } = inject(bootstrapIgnition(shape, { networks }), {});
  const functions = Buffer.from(
    (JSON.parse(text).storage.files as { path: string; contents: { source: string } }[])
      .find(({ path }) => path === "/usr/local/bin/konnectivity.sh")!
      .contents.source.split(",")[1]!,
    "base64",
  ).toString();
  expect(functions).toContain("KONNECTIVITY_MACHINE_NETWORKS=''\n");
  expect(functions).toContain("KONNECTIVITY_SHARED_IPS=''\n");
});
