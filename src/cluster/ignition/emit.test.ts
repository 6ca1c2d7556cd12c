import { expect, test } from "vitest";
import { requireConfig } from "./parse.js";
import { emit } from "./render.js";

const config = (body: object, version = "3.5.0") =>
  requireConfig(
    JSON.stringify({ ...body, ignition: { version, ...("ignition" in body ? (body.ignition as object) : {}) } }),
    "x",
  );

test("emit writes 3.2 in Ignition's own order, without empty objects", () => {
  const text = `{"systemd":{"units":[]},"storage":{"files":[{"mode":420,"path":"/a","contents":{"verification":{},
    "source":"data:,a"},"user":{}}]},"ignition":{"version":"3.5.0","security":{"tls":{}}}}`;
  expect(JSON.stringify(emit(requireConfig(text, "x")))).toBe(
    '{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:,a"},"mode":420}]}}',
  );
});

test.each([
  [{ kernelArguments: { shouldExist: ["a"] } }, "kernelArguments prevents it (it came with spec 3.3.0)"],
  [{ storage: { filesystems: [{ device: "/dev/a", format: "none" }] } }, "storage.filesystems.0.format prevents it"],
  [
    { storage: { files: [{ path: "/a", contents: { source: "arn:aws:s3:::b/o" } }] } },
    "storage.files.0.contents.source",
  ],
  [{ storage: { luks: [{ name: "v", device: "/dev/a", cex: { enabled: true } }] } }, "storage.luks.0.cex"],
  [{ storage: { luks: [{ name: "v", device: "/dev/a", discard: false }] } }, "storage.luks.0.discard"],
])("emit refuses what 3.2 cannot express: %j", (body, place) => {
  expect(() => emit(config(body))).toThrow(
    expect.objectContaining({ code: "DB_IGNITION_EXPRESS", message: expect.stringContaining(place) }),
  );
  expect(emit(config(body), 5)).toMatchObject(body);
});

test("emit writes a config that was 3.0 as 3.2", () => {
  const body = {
    storage: { links: [{ path: "/l", target: "/t" }], raid: [{ name: "r", level: "1", devices: ["/dev/a"] }] },
  };
  expect(emit(config(body, "3.0.0"))).toEqual({ ignition: { version: "3.2.0" }, ...body });
});
