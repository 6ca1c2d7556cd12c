import { once } from "node:events";
import { copyFileSync, rmSync, utimesSync } from "node:fs";
import net, { type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { makePki } from "../../../test/support/processes/certs.js";
import { Scope } from "../../../test/support/processes/scope.js";
import { reachFrontend, secureContextOf } from "./transport.js";

const scope = new Scope();
afterEach(() => scope.close());

let seconds = 0;

function files() {
  const dir = scope.tempDir();
  const pki = makePki(dir);
  const tls = { caFile: join(dir, "x-ca"), certFile: join(dir, "x-cert"), keyFile: join(dir, "x-key") };
  const put = (from: "caller" | "agent", what: "cert" | "key"): void => {
    const to = what === "cert" ? tls.certFile : tls.keyFile;
    rmSync(to, { force: true });
    copyFileSync(pki[from][what], to);
    // Two files of one moment may have the same time, and a file the inode of the one that was removed before it.
    utimesSync(to, ++seconds, seconds);
  };
  copyFileSync(pki.caller.ca, tls.caFile);
  put("caller", "cert");
  put("caller", "key");
  return { tls, put };
}

describe("the certificates for a frontend", () => {
  test("are made ready once, and again when they were replaced", () => {
    const { tls, put } = files();
    const first = secureContextOf(tls);
    expect(secureContextOf(tls)).toBe(first);
    put("agent", "cert");
    put("agent", "key");
    const second = secureContextOf(tls);
    expect(second).not.toBe(first);
    expect(secureContextOf(tls)).toBe(second);
  });

  test("stay in service while only one of two files is replaced, but not for ever", () => {
    const { tls, put } = files();
    let now = 0;
    const first = secureContextOf(tls, () => now);
    put("agent", "cert");
    expect(secureContextOf(tls, () => now)).toBe(first);
    now = 59_999;
    expect(secureContextOf(tls, () => now)).toBe(first);
    now = 60_000;
    expect(() => secureContextOf(tls, () => now)).toThrow(/does not belong/);
    put("agent", "key");
    expect(secureContextOf(tls, () => now)).not.toBe(first);
  });

  test("stay in service while only one of two files is replaced and the host's clock is set", () => {
    const { tls, put } = files();
    const first = secureContextOf(tls);
    put("agent", "cert");
    expect(secureContextOf(tls)).toBe(first);
    const set = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 21_600_000);
    try {
      expect(secureContextOf(tls)).toBe(first);
    } finally {
      set.mockRestore();
    }
  });

  test("are refused at once when they never fitted", () => {
    const { tls, put } = files();
    put("agent", "cert");
    expect(() => secureContextOf(tls)).toThrow(expect.objectContaining({ code: "DB_CERT_KEY_MISMATCH" }));
  });

  test("are those that a failed handshake is explained with, although their files are gone", async () => {
    const { tls } = files();
    const plain = net.createServer((socket) => socket.on("error", () => {}).end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    plain.listen(0, "127.0.0.1");
    await once(plain, "listening");
    scope.defer(() => void plain.close());
    const { port } = plain.address() as AddressInfo;
    const frontend = { mode: "http-connect", host: "127.0.0.1", port, tls } as const;
    const reach = () => reachFrontend(frontend, { alpn: [], allowHalfOpen: false }, AbortSignal.timeout(10_000));
    await expect(reach()).rejects.toMatchObject({ code: "DB_TLS_NOT_SPOKEN" });
    rmSync(tls.certFile);
    await expect(reach()).rejects.toMatchObject({ code: "DB_TLS_NOT_SPOKEN" });
  });
});
