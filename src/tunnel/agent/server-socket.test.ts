import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { freePort } from "../../../test/support/processes/ports.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { createAuthority, issueCertificate } from "../pki/issue.js";
import { writePem } from "../pki/write-pki.js";
import { Resolver } from "../resolver/resolver.js";
import { connectToServer } from "./connect.js";

const resolver = new Resolver();
type Arguments = Parameters<typeof connectToServer>;
const connect = async (to: Arguments[0], tls: Arguments[1], env: Arguments[2], clock?: ManualClock) =>
  (await connectToServer(to, tls, env, resolver, clock)).socket;

let dir: string;
let files: { caFile: string; certFile: string; keyFile: string; alpn: string[] };
let server: TlsServer;
let port: number;

/** How long something may take on a busy machine. */
const BUSY = { timeout: 10_000 };

/** A name that is not loopback, so that a proxy is used for it; only the proxy of a test ever resolves it. */
const NAME = "proxy-server.test";

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-socket-"));
  const authority = await createAuthority({ commonName: "ca" });
  const pair = await issueCertificate(authority, {
    use: "both",
    commonName: "server",
    dnsNames: [NAME, "localhost"],
    ipAddresses: ["127.0.0.1"],
  });
  const { certFile, keyFile } = await writePem(dir, "pair", pair);
  const { certFile: caFile } = await writePem(dir, "ca", { certificatePem: authority.certificatePem });
  files = { caFile, certFile, keyFile: keyFile!, alpn: [] };
  server = createTlsServer({
    cert: pair.certificatePem,
    key: pair.privateKeyPem,
    ca: authority.certificatePem,
    requestCert: true,
    ALPNProtocols: ["h2", "special"],
  });
  server.on("secureConnection", (socket) => {
    socket.on("error", () => {});
    socket.end(`${socket.alpnProtocol} ${socket.authorized}`);
  });
  port = await listen(server);
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true });
});

function listen(each: Server): Promise<number> {
  return new Promise((resolve) => each.listen(0, "127.0.0.1", () => resolve((each.address() as AddressInfo).port)));
}

const proxies: { close(): void }[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const proxy of proxies.splice(0)) proxy.close();
});

interface Proxy {
  readonly url: string;
  readonly requests: string[];
  readonly open: number;
}

/** A CONNECT proxy that sends every way it opens to the server of these tests. */
async function startProxy(answer: string | undefined): Promise<Proxy> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    socket.once("data", (head) => {
      requests.push(head.toString("latin1"));
      if (answer === undefined) return;
      socket.write(answer);
      if (!answer.startsWith("HTTP/1.1 2")) return;
      const onward = dial(port, "127.0.0.1");
      onward.on("error", () => {});
      socket.once("close", () => onward.destroy());
      socket.pipe(onward).pipe(socket);
    });
  });
  const at = await listen(proxy);
  proxies.push({
    close() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  });
  return {
    url: `127.0.0.1:${at}`,
    requests,
    get open() {
      return sockets.size;
    },
  };
}

async function said(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

describe("a connection straight to the server", () => {
  test("uses mTLS and negotiates h2", async () => {
    expect(await said(await connect({ host: "127.0.0.1", port }, files, {}))).toBe("h2 true");
  });

  test("--alpn-proto is offered first", async () => {
    const socket = await connect({ host: "localhost", port }, { ...files, alpn: ["unknown"] }, {});
    expect(await said(socket)).toBe("h2 true");
  });

  test("loopback is never proxied", async () => {
    const socket = await connect({ host: "127.0.0.1", port }, files, { HTTPS_PROXY: "127.0.0.1:1" });
    expect(await said(socket)).toBe("h2 true");
  });

  test("nobody there: one sentence that names the address", async () => {
    const closed = await freePort();
    const attempt = connect({ host: "127.0.0.1", port: closed }, files, {});
    await expect(attempt).rejects.toThrow(new RegExp(`cannot connect to 127\\.0\\.0\\.1:${closed}.*ECONNREFUSED`));
  });

  test("a server without ALPN is told from one with", async () => {
    const plain = createTlsServer({ cert: (await pem()).cert, key: (await pem()).key });
    const at = await listen(plain);
    proxies.push({ close: () => plain.close() });
    await expect(connect({ host: "127.0.0.1", port: at }, files, {})).rejects.toThrow(
      /it took none of the protocols .* h2 \(HTTP\/2\)/,
    );
  });
});

async function pem(): Promise<{ cert: Buffer; key: Buffer }> {
  const { readFileSync } = await import("node:fs");
  return { cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) };
}

describe("a connection through the environment's proxy", () => {
  const server = { host: NAME, port: 8091 };

  test.each(["HTTPS_PROXY", "https_proxy"])("%s", async (variable) => {
    const proxy = await startProxy("HTTP/1.1 200 OK\r\nVia: test\r\n\r\n");
    const socket = await connect(server, files, { [variable]: `http://${proxy.url}` });
    expect(await said(socket)).toBe("h2 true");
    expect(proxy.requests[0]).toMatch(
      /^CONNECT proxy-server\.test:8091 HTTP\/1\.1\r\nHost: proxy-server\.test:8091\r\n/,
    );
    expect(proxy.requests[0]).not.toContain("Proxy-Authorization");
  });

  test("an empty upper-case variable does not hide the lower-case one, as in Go", async () => {
    const proxy = await startProxy("HTTP/1.1 200 OK\r\n\r\n");
    const socket = await connect(server, files, { HTTPS_PROXY: "", https_proxy: proxy.url });
    expect(await said(socket)).toBe("h2 true");
  });

  test("a login in the address is sent as Basic, decoded", async () => {
    const proxy = await startProxy("HTTP/1.1 200 OK\r\n\r\n");
    await said(await connect(server, files, { HTTPS_PROXY: `http://me:p%40ss@${proxy.url}` }));
    const basic = Buffer.from("me:p@ss").toString("base64");
    expect(proxy.requests[0]).toContain(`\r\nProxy-Authorization: Basic ${basic}\r\n`);
  });

  /** What an agent says when the proxy of its environment lets it down. */
  const failing = async (HTTPS_PROXY: string, variable = "HTTPS_PROXY") =>
    await connect(server, files, { [variable]: HTTPS_PROXY }).then(
      () => "connected",
      ({ code, message, remedy }: { code?: string; message: string; remedy?: string }) => ({ code, message, remedy }),
    );
  const remedy = expect.stringMatching(/HTTPS_PROXY.*NO_PROXY/);

  test.each(["HTTPS_PROXY", "https_proxy"])("a dead proxy is called the proxy of %s", async (variable) => {
    const closed = await freePort();
    const said = `cannot connect to ${NAME}:8091 through the proxy http://127.0.0.1:${closed} of ${variable}: connection refused (ECONNREFUSED): nothing listens there, or a firewall rejects it.`;
    const proxy = `http://me:secret@127.0.0.1:${closed}`;
    expect(await failing(proxy, variable)).toEqual({ code: "DB_HTTPS_PROXY", message: said, remedy });
  });

  test("a proxy whose name is not known", async () => {
    const message = expect.stringMatching(
      /^cannot connect to proxy-server\.test:8091 through the proxy http:\/\/nowhere\.invalid:3128 of HTTPS_PROXY: .*nowhere\.invalid/,
    );
    expect(await failing("nowhere.invalid:3128")).toEqual({ code: "DB_HTTPS_PROXY", message, remedy });
  });

  test.each([
    ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", /it wants a login \(407 Proxy Authentication Required\)\.$/],
    ["HTTP/1.1 403 Forbidden\r\n\r\n", /it answered 403 Forbidden\.$/],
    ["SSH-2.0-x\r\n", /it does not answer in HTTP\/1\.$/],
  ])("a proxy that answers %j", async (answer, words) => {
    const proxy = await startProxy(answer);
    const message = expect.stringMatching(words);
    expect(await failing(proxy.url)).toEqual({ code: "DB_HTTPS_PROXY", message, remedy });
    expect(await failing(proxy.url)).toMatchObject({ message: expect.stringContaining(`http://${proxy.url} of`) });
  });

  test("a login that the proxy does not accept", async () => {
    const proxy = await startProxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const message = expect.stringMatching(/it does not accept the login of HTTPS_PROXY \(407 /);
    expect(await failing(`me:secret@${proxy.url}`)).toMatchObject({ message });
  });

  test.each([
    [
      "socks4://me:secret@127.0.0.1:1",
      "HTTPS_PROXY begins with socks4://, and only proxies of http:// and https:// can be used",
    ],
    ["http://me:secret@:x", "HTTPS_PROXY is not the URL of a proxy: write http://host:port or https://host:port"],
  ])("%s is refused in words, without the login", async (url, words) => {
    const message = `cannot connect to ${NAME}:8091: ${words}.`;
    expect(await failing(url)).toEqual({ code: "DB_HTTPS_PROXY", message, remedy });
  });

  test("what the server behind a proxy does wrong is said with the proxy between", async () => {
    const proxy = await startProxy("HTTP/1.1 200 OK\r\n\r\n");
    const failed = connect({ host: "other.test", port: 8091 }, files, { HTTPS_PROXY: proxy.url });
    const message = expect.stringContaining(
      `at other.test:8091 through the proxy http://${proxy.url} of HTTPS_PROXY (`,
    );
    await expect(failed).rejects.toMatchObject({ code: "DB_TLS_SERVER_NAME", message });
  });

  test("a proxy that refuses: its status line, never the login", async () => {
    const proxy = await startProxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const attempt = connect(server, files, { HTTPS_PROXY: `http://me:secret@${proxy.url}` });
    const error = await attempt.then(
      () => "connected",
      (reason: Error) => reason.message,
    );
    expect(error).toContain("407 Proxy Authentication Required");
    expect(error).not.toContain("secret");
    await expect.poll(() => proxy.open, BUSY).toBe(0);
  });

  test("a proxy that hangs up before it answers", async () => {
    const rude = createServer((socket) => socket.destroy());
    const at = await listen(rude);
    proxies.push({ close: () => rude.close() });
    await expect(connect(server, files, { HTTPS_PROXY: `127.0.0.1:${at}` })).rejects.toMatchObject({
      ...{ code: "DB_HTTPS_PROXY", remedy },
      message: expect.stringMatching(/through the proxy http:\/\/127.*: it did not answer: .*(hung up|ECONNRESET)/),
    });
  });

  test("a proxy that never answers is given up, and its connection closed", async () => {
    const clock = new ManualClock();
    const proxy = await startProxy(undefined);
    const attempt = connect(server, files, { HTTPS_PROXY: proxy.url }, clock);
    await expect.poll(() => proxy.requests.length, BUSY).toBe(1);
    clock.advance(20_000);
    await expect(attempt).rejects.toThrow(/did not answer in time/);
    await expect.poll(() => proxy.open, BUSY).toBe(0);
  });

  test("NO_PROXY is honoured", async () => {
    const proxy = await startProxy("HTTP/1.1 200 OK\r\n\r\n");
    const attempt = connect({ host: "localhost", port }, files, { HTTPS_PROXY: proxy.url, NO_PROXY: "*" });
    expect(await said(await attempt)).toBe("h2 true");
    expect(proxy.requests).toEqual([]);
  });
});
