import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { readConfig, requireConfig } from "./parse.js";
import { findingText } from "./problems.js";

const said = (text: string) => readConfig(text).findings.map(findingText);

test("findings name place, line and column, in reading order", () => {
  const text = `{
  "ignition": {"version": "3.2.0"},
  "kernelArguments": {},
  "storage": {
    "files": [
      {"path": "a", "mode": 5000, "Overwrite": false},
      {"path": "/b", "mode": 2541}
    ]
  }
}`;
  expect(said(text)).toEqual([
    "warning at kernelArguments (line 3, column 22): the member is ignored: it belongs to spec 3.3.0 and later",
    "error at storage.files.0.path (line 6, column 16): the path is not absolute",
    "error at storage.files.0.mode (line 6, column 29): the mode is no file mode (0 to 4095 in decimal, as JSON has no octal)",
    "warning at storage.files.0.mode (line 6, column 29): set-uid, set-gid and sticky bits have no effect before spec 3.6.0",
    "warning at storage.files.0.Overwrite (line 6, column 48): the member is spelt overwrite",
    "warning at storage.files.1.mode (line 7, column 30): set-uid, set-gid and sticky bits have no effect before spec 3.6.0",
  ]);
});

test("a config of any version comes out as 3.5, with the defaults of older versions written out", () => {
  const body = {
    storage: {
      links: [{ path: "/l" }],
      luks: [{ name: "v", device: "/dev/a", clevis: { custom: {} } }],
    },
  };
  const written = (version: string) => JSON.stringify({ ignition: { version }, ...body });
  const reading = readConfig(written("3.2.0"));
  expect(reading).toMatchObject({ ok: true, minor: 2, config: { ignition: { version: "3.5.0" } } });
  expect(reading.ok && reading.config.storage).toEqual({
    links: [{ path: "/l", target: "" }],
    luks: [{ name: "v", device: "/dev/a", clevis: { custom: { config: "", pin: "" } } }],
  });
  expect(readConfig(written("3.3.0")).ok).toBe(false);
});

test("a repeated list counts once, a repeated object is filled twice", () => {
  const text = `{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a"}],"files":[{"path":"/b"}]},
    "storage":{"directories":[{"path":"/d"}]}}`;
  const reading = readConfig(text);
  expect(reading.ok && reading.config.storage).toEqual({ files: [{ path: "/b" }], directories: [{ path: "/d" }] });
  expect(reading.findings.map(({ message }) => message)).toEqual([
    "the member occurs twice; the later one counts",
    "the member occurs twice; the later one counts",
  ]);
});

describe("requireConfig", () => {
  test.each([
    [Buffer.alloc(0), "DB_IGNITION_CONFIG", "x.ign cannot be read as an Ignition config: it is empty"],
    [gzipSync("{}"), "DB_IGNITION_CONFIG", "it is compressed; unpack it with gunzip first"],
    [Buffer.from([0x7b, 0xff]), "DB_IGNITION_CONFIG", "it is not UTF-8 text"],
    [Buffer.alloc(50 * 1024 * 1024 + 1, " "), "DB_IGNITION_CONFIG", "more than any config (50 MiB)"],
    [Buffer.from("{}"), "DB_IGNITION_INVALID", "the config names no spec version"],
    [Buffer.from('{"ignition":{"version":"2.2.0"}}'), "DB_IGNITION_INVALID", "none of 3.0.0 to 3.5.0"],
    [
      Buffer.from('{"ignition":{"version":"3.2.0"},"storage":{"files":[{},{}]}}'),
      "DB_IGNITION_INVALID",
      "x.ign is not a valid config: error at storage.files.0.path (line 1, column 53): a path is needed (and 2 more)",
    ],
  ])("one sentence for %#", (content, code, sentence) => {
    expect(() => requireConfig(content, "x.ign")).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(sentence) }),
    );
  });
});
