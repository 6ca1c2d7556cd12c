/** Configs that refer to others, which are all in them as data URLs. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { dataUrlOf } from "../../../src/base/data-url.js";

const config = (body: object, references: object = {}, version = "3.2.0") =>
  JSON.stringify({ ...body, ignition: { version, config: references } });
const files = (mode: number, ...paths: string[]) => ({ storage: { files: paths.map((path) => ({ path, mode })) } });
const top = (...sources: object[]) => config(files(1, "/a", "/b", "/c"), { merge: sources });
const inline = (text: string) => ({ source: dataUrlOf(text) });
const packed = (text: string) => ({ source: dataUrlOf(gzipSync(text)), compression: "gzip" });
const hashed = (algorithm: string, text: string | Buffer) => ({
  verification: { hash: `${algorithm}-${createHash(algorithm).update(text).digest("hex")}` },
});

const child = config(files(2, "/a", "/d"));
const older = config({ ...files(3, "/b"), storage: { links: [{ path: "/c", target: "/t" }] } }, {}, "3.0.0");
const nested = config(files(4, "/a", "/b"), { merge: [inline(child), packed(older)] }, "3.4.0");
const zipped = gzipSync(child);

/** By what can go wrong with them; some must fail. */
export const referring: readonly (readonly [about: string, config: string])[] = [
  ["one child", top(inline(child))],
  ["children in order", top(inline(child), inline(nested))],
  ["children in the other order", top(inline(nested), inline(child))],
  ["children of children of several versions", top(inline(top(inline(nested), inline(older))))],
  ["gzip", top(packed(child))],
  ["gzip with the hash of what is packed", top({ ...packed(child), ...hashed("sha512", child) })],
  ["gzip with the hash of the packing", top({ ...packed(child), ...hashed("sha512", zipped) })],
  ["a hash", top({ ...inline(child), ...hashed("sha256", child) })],
  ["another's hash", top({ ...inline(child), ...hashed("sha256", older) })],
  ["a replacement beside children", config(files(1, "/a"), { replace: inline(nested), merge: [inline(older)] })],
  ["a replacement of a replacement", config({}, { replace: inline(config({}, { replace: packed(child) })) })],
  ["a child that is replaced", top(inline(config(files(9, "/z"), { replace: inline(child) })))],
  ["a child that is not valid", top(inline(config(files(1, "z"))))],
  ["a child that is no config", top({ source: "data:,x" })],
  ["a child that is no gzip", top({ ...inline(child), compression: "gzip" })],
  [
    "children that are not valid together",
    top(inline(config({ storage: { links: [{ path: "/a", target: "/b" }] } })), inline(config(files(1, "/a/x")))),
  ],
];
