import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writePem } from "./write-pki.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-write-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("writePem", () => {
  test("writes a public certificate and a private key, and leaves nothing else", async () => {
    const inner = join(dir, "made", "on the way");
    const files = await writePem(inner, "server", { certificatePem: "C", privateKeyPem: "K" });
    expect(files).toEqual({ certFile: join(inner, "server.crt"), keyFile: join(inner, "server.key") });
    expect(readdirSync(inner).sort()).toEqual(["server.crt", "server.key"]);
    expect(readFileSync(files.keyFile!, "utf8")).toBe("K");
    expect(statSync(files.keyFile!).mode & 0o777).toBe(0o600);
    expect(statSync(files.certFile).mode & 0o777).toBe(0o644);
  });

  test("replaces files instead of writing into them", async () => {
    const { certFile } = await writePem(dir, "ca", { certificatePem: "old" });
    const before = statSync(certFile).ino;
    await writePem(dir, "ca", { certificatePem: "new" });
    expect(readFileSync(certFile, "utf8")).toBe("new");
    expect(statSync(certFile).ino).not.toBe(before);
  });

  test("leaves no half-written file behind when it fails", async () => {
    mkdirSync(join(dir, "server.key"));
    const failed = writePem(dir, "server", { certificatePem: "C", privateKeyPem: "K" });
    await expect(failed).rejects.toMatchObject({
      code: "DB_CERT_WRITE",
      message: expect.stringContaining("server.crt"),
    });
    expect(readdirSync(dir)).toEqual(["server.key"]);
  });
});
