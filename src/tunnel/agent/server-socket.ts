/** A TLS connection to a proxy-server's agent port, through the proxy of the environment where one is set. */
import net, { isIP, type Socket } from "node:net";
import tls, { type TLSSocket } from "node:tls";
import { joinHostPort } from "../../base/address.js";
import { messageOf } from "../../base/errors/error.js";
import { readCertificateSet } from "../pki/certificate-set.js";
import type { Resolver } from "../resolver/resolver.js";
import { NOT_A_HOST, parseHost } from "../wire/destination.js";
import { bypassesProxy } from "../wire/no-proxy.js";
import type { AgentConfig } from "./config.js";

export type Environment = Readonly<Record<string, string | undefined>>;

const NO_ANSWER = "no answer in time";

/** gRPC gives a connection attempt at least this long. */
const CONNECT_TIMEOUT_MS = 20_000;

/** Certificates are read anew for every connection, so replaced files are used without a restart. */
export async function connectToServer(
  server: { readonly host: string; readonly port: number },
  files: AgentConfig["tls"],
  env: Environment,
  resolver: Resolver,
): Promise<TLSSocket> {
  const certificates = readCertificateSet(files);
  const reach: Reach = { resolver, deadline: AbortSignal.timeout(CONNECT_TIMEOUT_MS) };
  const proxy = proxyFor(server, env);
  const socket = proxy === undefined ? await dial(server, reach) : await dialThrough(proxy, server, reach);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 15_000);
  return await secure(
    tls.connect({
      ...certificates,
      socket,
      host: server.host,
      // An address is checked against the certificate's addresses; only names are sent as SNI.
      ...(isIP(server.host) === 0 ? { servername: server.host } : {}),
      minVersion: "TLSv1.2",
      ALPNProtocols: [...files.alpn, "h2"],
    }),
    `${joinHostPort(server.host, server.port)}`,
    reach.deadline,
  );
}

function proxyFor(server: { host: string; port: number }, env: Environment): URL | undefined {
  // Go takes the first that is not empty.
  const text = env.HTTPS_PROXY || env.https_proxy || "";
  if (text === "" || bypassesProxy(env.NO_PROXY || env.no_proxy || "", server.host, server.port)) return undefined;
  return new URL(text.includes("://") ? text : `http://${text}`);
}

interface Reach {
  readonly resolver: Resolver;
  readonly deadline: AbortSignal;
}

async function dial(where: { host: string; port: number }, { resolver, deadline }: Reach): Promise<Socket> {
  const host = parseHost(where.host);
  if (host === undefined) throw new Error(`cannot connect to ${describe(where)}: ${NOT_A_HOST}`);
  let addresses: readonly string[];
  try {
    addresses = host.kind === "address" ? [host.text] : await resolver.find(host.text, deadline);
  } catch (cause) {
    const why = deadline.aborted ? NO_ANSWER : messageOf(cause);
    throw new Error(`cannot connect to ${describe(where)}: ${why}`, { cause });
  }
  // Node tries them one after the other.
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const socket = net.connect({
    host: where.host,
    port: where.port,
    autoSelectFamily: true,
    lookup: (_host, _options, done) => done(null, found),
  });
  return await settle(socket, "connect", describe(where), deadline);
}

function secure(socket: TLSSocket, where: string, deadline: AbortSignal): Promise<TLSSocket> {
  return settle(socket, "secureConnect", where, deadline).then((connected) => {
    if (connected.alpnProtocol) return connected;
    connected.destroy();
    throw new Error(`${where} offers no HTTP/2 (ALPN negotiated nothing); is this the proxy-server's agent port?`);
  });
}

/** Asks an HTTP proxy for a way to the server. */
async function dialThrough(proxy: URL, server: { host: string; port: number }, reach: Reach): Promise<Socket> {
  const { deadline } = reach;
  const at = {
    host: proxy.hostname.replace(/^\[|\]$/g, ""),
    port: Number(proxy.port || (proxy.protocol === "https:" ? 443 : 80)),
  };
  const plain = await dial(at, reach);
  const socket =
    proxy.protocol === "https:"
      ? await settle(tls.connect({ socket: plain, servername: at.host }), "secureConnect", describe(at), deadline)
      : plain;
  const target = describe(server);
  const login = [proxy.username, proxy.password].map(decodeURIComponent).join(":");
  const authorization = login === ":" ? "" : `Proxy-Authorization: Basic ${Buffer.from(login).toString("base64")}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  const status = await readStatusLine(socket, deadline);
  if (/^HTTP\/1\.[01] 2\d\d/.test(status)) return socket;
  socket.destroy();
  throw new Error(`the proxy ${describe(at)} did not open a way to ${target}: ${status}`);
}

function readStatusLine(socket: Socket, deadline: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = "";
    const onData = (chunk: Buffer): void => {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0 && head.length < 16_384) return;
      socket.off("data", onData);
      deadline.removeEventListener("abort", onAbort);
      socket.pause();
      resolve(head.slice(0, Math.max(0, head.indexOf("\r\n"))));
    };
    const onAbort = (): void => {
      socket.destroy();
      reject(new Error("the proxy did not answer in time"));
    };
    socket.on("data", onData);
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the proxy closed the connection")));
    deadline.addEventListener("abort", onAbort, { once: true });
  });
}

function settle<T extends Socket>(socket: T, event: string, where: string, deadline: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (reason: unknown): void => {
      deadline.removeEventListener("abort", onAbort);
      socket.destroy();
      reject(new Error(`cannot connect to ${where}: ${messageOf(reason)}`, { cause: reason }));
    };
    const onAbort = (): void => fail(NO_ANSWER);
    deadline.addEventListener("abort", onAbort);
    socket.once("error", fail);
    socket.once(event, () => {
      deadline.removeEventListener("abort", onAbort);
      socket.off("error", fail);
      // From here on the HTTP/2 session hears of errors; one in between must not end the process.
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}

function describe({ host, port }: { host: string; port: number }): string {
  return joinHostPort(host, port);
}
