import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ADDRESS_RECORD, keepAddress, readAddressRecord } from "./record.js";

const first = { target: "10.0.0.5", sans: ["10.0.0.5", "fd00:1::5"], source: "route" };
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "db-address-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

test("the first run keeps the address beside the certificates, for its owner only", async () => {
  const pki = join(dir, "pki");
  expect(await readAddressRecord(pki)).toBeUndefined();
  expect(await keepAddress(pki, first)).toBe("kept");
  expect(readdirSync(pki)).toEqual([ADDRESS_RECORD]);
  expect(statSync(join(pki, ADDRESS_RECORD)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(join(pki, ADDRESS_RECORD), "utf8"))).toEqual(first);
});

test("a later run with the same target changes nothing, whatever else the host has now", async () => {
  await keepAddress(dir, first);
  expect(await keepAddress(dir, { target: "10.0.0.5", sans: ["10.0.0.5"], source: "flag" })).toBe("same");
  expect(await readAddressRecord(dir)).toEqual(first);
});

test("a later run with another target is refused, and the record stays", async () => {
  await keepAddress(dir, first);
  await expect(keepAddress(dir, { ...first, target: "10.0.0.6" })).rejects.toMatchObject({
    code: "DB_ADDRESS_CHANGED",
    message: `The certificates in ${dir} and the agents were made for 10.0.0.5, but the address of this host is now 10.0.0.6 (from route).`,
    remedy: expect.stringContaining("take the bridge down and bring it up again"),
  });
  expect(await readAddressRecord(dir)).toEqual(first);
});

test.each(["", "{", "[]", '{"target":"api-int.example.com","sans":[]}', '{"target":"10.0.0.5","sans":[7]}', "null"])(
  "a record that says %j is refused, not overwritten",
  async (text) => {
    writeFileSync(join(dir, ADDRESS_RECORD), text);
    await expect(keepAddress(dir, first)).rejects.toMatchObject({ code: "DB_ADDRESS_RECORD" });
    expect(readFileSync(join(dir, ADDRESS_RECORD), "utf8")).toBe(text);
  },
);

test("a directory that cannot be made is one sentence, and nothing is left", async () => {
  writeFileSync(join(dir, "file"), "");
  await expect(keepAddress(join(dir, "file", "pki"), first)).rejects.toMatchObject({ code: "DB_ADDRESS_RECORD" });
  expect(readdirSync(dir)).toEqual(["file"]);
});
