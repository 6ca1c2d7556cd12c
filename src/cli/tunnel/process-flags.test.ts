import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseFlags } from "../flags/parse.js";
import { adminAccessOf, adminFlags } from "./process-flags.js";

let dir: string;
const file = (name: string) => join(dir, name);
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-admin-flags-"));
  for (const name of ["token", "crt", "key"]) writeFileSync(file(name), name);
});
afterEach(() => rmSync(dir, { recursive: true }));

function access(...argv: readonly string[]) {
  return adminAccessOf(parseFlags(adminFlags, argv).values);
}

test("are a token, and a certificate with its key for beyond loopback", () => {
  expect(access()).toEqual({ tokenFile: "" });
  const tls = { certFile: file("crt"), keyFile: file("key") };
  const all = [
    `--admin-token-file=${file("token")}`,
    `--admin-cert-file=${tls.certFile}`,
    `--admin-key-file=${tls.keyFile}`,
  ];
  expect(access(...all)).toEqual({ tokenFile: file("token"), tls });
});

test("name files that exist, and a key never without its certificate", () => {
  expect(() => access("--admin-token-file=/nope")).toThrow("error checking admin token file /nope");
  expect(() => access(`--admin-key-file=${file("key")}`)).toThrow("cannot have admin cert empty");
  expect(() => access(`--admin-cert-file=${file("crt")}`)).toThrow("cannot have admin key empty");
});
