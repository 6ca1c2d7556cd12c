import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net, { type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls, { type TLSSocket } from "node:tls";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createAuthority, issueCertificate } from "../tunnel/pki/issue.js";
import { opensslAvailable } from "../tunnel/pki/testing/openssl.js";
import { systemClock } from "./clock.js";
import { type CutOptions, cutWhenSent, unsentIn, wasReset } from "./cut-socket.js";
import { ManualClock } from "./testing/manual-clock.js";

const OPTIONS: CutOptions = { clock: systemClock, withinMs: 10_000 };
/** More than a reader takes into its own kernel, less than both kernels hold of one connection. */
const ANSWER = Buffer.alloc(1_500_000, "whole answer ");

function ended(socket: Socket): Promise<{ bytes: number; end: boolean; error: string }> {
  const seen = { bytes: 0, end: false, error: "" };
  socket.on("data", (chunk: Buffer) => {
    seen.bytes += chunk.length;
  });
  socket.on("end", () => {
    if (wasReset(socket)) seen.error = "ECONNRESET";
    else seen.end = true;
    socket.end();
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    seen.error = error.code ?? error.message;
  });
  socket.resume();
  return new Promise((resolve) => socket.once("close", () => resolve(seen)));
}

/** Our end and the peer's of one connection; neither is read yet. */
async function pair(listenOn: net.ListenOptions): Promise<[ours: Socket, theirs: Socket]> {
  const allowHalfOpen = true;
  const server = net.createServer({ allowHalfOpen, pauseOnConnect: true }).listen(listenOn);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address() as AddressInfo | string;
  const theirs =
    typeof address === "string"
      ? net.connect({ path: address, allowHalfOpen })
      : net.connect({ port: address.port, host: "127.0.0.1", allowHalfOpen });
  theirs.pause();
  const [[ours]] = (await Promise.all([once(server, "connection"), once(theirs, "connect")])) as [[Socket], unknown];
  ours.on("error", () => {});
  return [ours, theirs];
}

describe("a TCP connection that is cut", () => {
  test("is reset after its peer, who takes its time, has read everything that was written", async () => {
    const [ours, theirs] = await pair({ port: 0, host: "127.0.0.1" });
    ours.write(ANSWER);
    cutWhenSent(ours, OPTIONS);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(ours.destroyed).toBe(false);
    expect(await ended(theirs)).toEqual({ bytes: ANSWER.length, end: false, error: "ECONNRESET" });
  });

  test.each([
    ["both directions are open", false],
    ["ours has ended", true],
  ])("is not read any more when its peer has everything, however much that sends, and %s", async (_when, isEnded) => {
    const [ours, theirs] = await pair({ port: 0, host: "127.0.0.1" });
    theirs.on("error", () => {});
    theirs.write(Buffer.alloc(64 << 20));
    ours.resume();
    await once(ours, "data");
    if (isEnded) await new Promise<void>((resolve) => void ours.end(resolve));
    const before = ours.bytesRead;
    cutWhenSent(ours, OPTIONS);
    await once(ours, "close");
    expect(ours.bytesRead - before).toBeLessThan(1 << 18);
  });

  test("is reset although its peer has not read, when the time is up", async () => {
    const clock = new ManualClock();
    const [ours] = await pair({ port: 0, host: "127.0.0.1" });
    ours.write(Buffer.alloc(16 << 20));
    cutWhenSent(ours, { clock, withinMs: 10_000 });
    clock.advance(9_999);
    expect(ours.destroyed).toBe(false);
    clock.advance(1);
    expect(ours.destroyed).toBe(true);
  });

  test("is reset although one direction had ended before", async () => {
    const [ours, theirs] = await pair({ port: 0, host: "127.0.0.1" });
    const reset = new Promise((resolve) => theirs.once("error", resolve));
    theirs.on("end", () => setInterval(() => theirs.write("upload"), 5).unref());
    theirs.resume();
    ours.end("answer");
    await once(theirs, "end");
    cutWhenSent(ours, OPTIONS);
    expect(await reset).toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) });
  });
});

test("connections count as unsent by their bytes, not by their own end", () => {
  const row = (port: string, state: string, queue: string) =>
    `  12: 0100007F:${port} 0100007F:9DA6 ${state} ${queue}:0000F000 01:00000014 00000000     0        0 114242 2`;
  const rows = [
    row("A001", "01", "00000000"),
    row("A002", "01", "00000001"),
    row("A003", "04", "00000001"),
    row("A004", "04", "00000002"),
    row("A005", "05", "00000000"),
    row("A006", "09", "00000001"),
    row("A007", "0B", "00010001"),
    row("A008", "08", "00000001"),
  ];
  expect(unsentIn(rows.join("\n"))).toEqual(["A002", "A004", "A007", "A008"].map((port) => `${port}:9DA6`));
});

test("a reset behind the last bytes, which older Nodes take for an end, is told from one", async () => {
  for (const isCut of [true, false]) {
    const [ours, theirs] = await pair({ port: 0, host: "127.0.0.1" });
    ours.write("last bytes");
    if (isCut) cutWhenSent(ours, OPTIONS);
    else ours.end();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const isReset = once(theirs, "end").then(
      () => wasReset(theirs),
      ({ code }: NodeJS.ErrnoException) => code === "ECONNRESET",
    );
    theirs.resume();
    expect(await isReset).toBe(isCut);
    theirs.destroy();
    ours.destroy();
  }
});

test("a reader in another process never sees an end before the reset", async () => {
  const reader = `const socket = require("net").connect(Number(process.argv[1]), "127.0.0.1").resume();
    socket.on("end", () => console.log(socket._handle.getpeername({}) === 0 ? "end" : "ECONNRESET")).on("error", (error) => console.log(error.code));`;
  const server = net.createServer((socket) => {
    socket.write("part", () => cutWhenSent(socket, OPTIONS));
  });
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const read = () =>
    new Promise<string>((resolve) => {
      execFile(process.execPath, ["-e", reader, String(port)], (_error, stdout) => resolve(stdout.trim()));
    });
  for (let round = 0; round < 8; round++) expect(await read()).toBe("ECONNRESET");
});

describe("a TLS connection that is cut", () => {
  let certificate: { cert: string; key: string };
  beforeAll(async () => {
    const authority = await createAuthority({ commonName: "ca" });
    const issued = await issueCertificate(authority, { use: "server", commonName: "s", ipAddresses: ["127.0.0.1"] });
    certificate = { cert: issued.certificatePem, key: issued.privateKeyPem };
  });

  /** `serve` gets the accepted socket. */
  async function serve(serve: (socket: TLSSocket) => void): Promise<number> {
    const server = tls.createServer({ ...certificate, allowHalfOpen: true }, (socket) => {
      socket.on("error", () => {});
      serve(socket);
    });
    server.listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }
  const halfOpen = (port: number) =>
    ({ port, rejectUnauthorized: false, allowHalfOpen: true }) as tls.ConnectionOptions;
  const answerAndCut = (options: CutOptions) => (socket: TLSSocket) => {
    socket.write(ANSWER);
    cutWhenSent(socket, options);
  };
  const answerAndEnd = (socket: TLSSocket) => void socket.resume().end(ANSWER);

  /** OpenSSL's own reader: its exit code, how much it read, and what it complains about. */
  async function openssl(port: number): Promise<{ bytes: number; complaint: string }> {
    const args = ["s_client", "-quiet", "-ign_eof", "-connect", `127.0.0.1:${port}`];
    return await new Promise((resolve) => {
      const child = execFile("openssl", args, { encoding: "buffer", maxBuffer: 1 << 26 }, (_error, stdout, stderr) => {
        resolve({ bytes: stdout.length, complaint: /unexpected eof while reading/.exec(stderr.toString())?.[0] ?? "" });
      });
      // Open, so that it is the server's end that ends it.
      child.stdin!.on("error", () => {});
    });
  }

  test.skipIf(!opensslAvailable())(
    "looks truncated to OpenSSL, with every byte delivered; one that is ended does not",
    async () => {
      const cut = await serve(answerAndCut(OPTIONS));
      expect(await openssl(cut)).toEqual({ bytes: ANSWER.length, complaint: "unexpected eof while reading" });
      const whole = await serve(answerAndEnd);
      expect(await openssl(whole)).toEqual({ bytes: ANSWER.length, complaint: "" });
    },
  );

  test("is read to its end by a peer that goes on sending", async () => {
    const port = await serve(answerAndCut(OPTIONS));
    const peer = tls.connect(halfOpen(port));
    const sending = setInterval(() => peer.writable && peer.write(Buffer.alloc(4096)), 1);
    onTestFinished(() => clearInterval(sending));
    peer.pause();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await ended(peer)).bytes).toBe(ANSWER.length);
  });

  test("is an error to a Node peer that is told by an alert, after every byte", async () => {
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const port = await serve(answerAndCut({ ...OPTIONS, alert: true }));
      const peer = tls.connect({ port, rejectUnauthorized: false, maxVersion });
      const { bytes, error } = await ended(peer);
      expect({ bytes, error }).toEqual({ bytes: ANSWER.length, error: expect.stringContaining("ALERT") });
    }
  });

  test("does not stay open for a peer that never ends", async () => {
    const clock = new ManualClock();
    const accepted = new Promise<TLSSocket>((resolve) => {
      void serve(resolve).then((port) => {
        const peer = tls.connect(halfOpen(port));
        onTestFinished(() => void peer.destroy());
        peer.resume();
      });
    });
    const ours = await accepted;
    cutWhenSent(ours, { clock, withinMs: 10_000 });
    clock.advance(9_999);
    expect(ours.destroyed).toBe(false);
    clock.advance(1);
    expect(ours.destroyed).toBe(true);
  });
});

test("a Unix socket that is cut ends after everything was read: it knows nothing else", async () => {
  const directory = mkdtempSync(join(tmpdir(), "cut-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [ours, theirs] = await pair({ path: join(directory, "socket") });
  ours.write(ANSWER);
  cutWhenSent(ours, OPTIONS);
  expect(await ended(theirs)).toEqual({ bytes: ANSWER.length, end: true, error: "" });
});
