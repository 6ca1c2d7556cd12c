import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAuthority } from "../../tunnel/pki/issue.js";
import { startWarnings } from "./start-warnings.js";

const NOTHING = { certFiles: [], keyFiles: [], adminTokenFile: "" };
const HOUR_MS = 3_600_000;
let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-start-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function put(name: string, text: string, mode: number): string {
  const file = join(dir, name);
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

test("a certificate is named when it has expired, is not valid yet or ends soon, and not before", async () => {
  const { certificatePem } = await createAuthority({ commonName: "ca", validForMs: 30 * HOUR_MS, backdateMs: 0 });
  const file = put("ca.crt", certificatePem, 0o644);
  const said = (hours: number) =>
    startWarnings({ ...NOTHING, certFiles: [file, ""] }, new Date(Date.now() + hours * HOUR_MS));
  expect(said(1)).toEqual([]);
  expect(said(25)).toMatchObject([{ code: "DB_CERT_FILE", message: expect.stringMatching(/"CN=ca" .* expires in /) }]);
  expect(said(31)[0]?.message).toMatch(/expired 1 h ago|expired 59 min/);
  expect(said(-1)[0]?.message).toContain("is valid only in");
});

test.each([
  ["empty", "\n", 0o600, [/is empty, so the admin API refuses everybody$/]],
  ["short", "secret\n", 0o600, [/has only 6 characters and can be guessed$/]],
  ["open", "0123456789abcdef0123456789abcdef", 0o644, [/can be read by every user of this host \(mode 0644\)$/]],
  ["short and open", "x", 0o604, [/has only 1 characters/, /\(mode 0604\)$/]],
  ["good", "0123456789abcdef0123456789abcdef", 0o640, []],
])("a token file that is %s", (name, text, mode, expected) => {
  const said = startWarnings({ ...NOTHING, adminTokenFile: put(name, text, mode) });
  expect(said.map(({ message }) => message)).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  expect(said.every(({ code }) => code === "DB_ADMIN_TOKEN_FILE")).toBe(true);
  expect(JSON.stringify(said)).not.toContain("secret");
});

test("a token file that is missing, a key that everybody can read, and a mounted Secret, which only the pod has", () => {
  const key = put("a.key", "key", 0o644);
  mkdirSync(join(dir, "..2026"));
  put("..2026/b.key", "key", 0o644);
  symlinkSync("..2026/b.key", join(dir, "b.key"));
  const said = startWarnings({
    ...NOTHING,
    keyFiles: [key, join(dir, "b.key")],
    adminTokenFile: join(dir, "none"),
  });
  expect(said.map(({ message }) => message)).toEqual([
    expect.stringContaining(`${key} can be read by every user`),
    expect.stringContaining("cannot be read, so the admin API refuses everybody"),
  ]);
});

test("--server-count=0 is a warning, and 1 is not", () => {
  expect(startWarnings({ ...NOTHING, serverCount: 0 })).toMatchObject([{ code: "DB_FLAG_VALUE" }]);
  expect(startWarnings({ ...NOTHING, serverCount: 1 })).toEqual([]);
});
