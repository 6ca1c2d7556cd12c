/** A customer's HTTP proxy: CONNECT and plain requests, with or without TLS and a login. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface HttpProxyOptions {
  /** The proxy itself speaks TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** `user:password`, in plain. */
  readonly login?: string;
  /** Where names lead, e.g. `db.example:5432` to `127.0.0.1:31000`, `*` all others; without it as they are. */
  readonly routes?: Readonly<Record<string, string>>;
  /** Sent, as it is, instead of any answer to CONNECT. */
  readonly answer?: string;
}

export interface HttpProxy {
  readonly port: number;
  /** The line of every request, in order. */
  readonly lines: string[];
  readonly headers: IncomingMessage["headers"][];
  close(): Promise<void>;
}

export async function startHttpProxy(options: HttpProxyOptions = {}): Promise<HttpProxy> {
  const lines: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const sockets = new Set<Duplex>();
  const note = (message: IncomingMessage): void => {
    lines.push(`${message.method} ${message.url} HTTP/${message.httpVersion}`);
    headers.push(message.headers);
  };
  const mayPass = ({ headers: { "proxy-authorization": given } }: IncomingMessage): boolean => {
    if (options.login === undefined) return true;
    return given === `Basic ${Buffer.from(options.login).toString("base64")}`;
  };
  const routeOf = (target: string): string => options.routes?.[target] ?? options.routes?.["*"] ?? target;
  const server: Server =
    options.tls === undefined
      ? createServer()
      : createSecureServer({
          cert: readFileSync(options.tls.cert),
          key: readFileSync(options.tls.key),
          // Node's TLS servers end with their peer unless told otherwise, which its types do not know of.
          ...{ allowHalfOpen: true },
        });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  });
  server.on("connect", (message: IncomingMessage, client: Duplex, head: Buffer) => {
    note(message);
    client.on("error", () => {});
    if (options.answer !== undefined) client.end(options.answer);
    else if (!mayPass(message)) client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\nwho are you?");
    else relay(client, head, routeOf(message.url ?? ""), sockets);
  });
  server.on("request", (message, response) => {
    note(message);
    if (!mayPass(message)) {
      response.writeHead(407).end("who are you?");
      return;
    }
    const url = new URL(message.url ?? "");
    const { host, port } = split(routeOf(`${url.hostname}:${url.port || 80}`));
    const onward = request({ host, port, method: message.method, path: url.pathname, headers: { host: url.host } });
    onward.once("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502);
      answer.pipe(response);
    });
    onward.once("error", () => response.writeHead(502).end());
    message.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    lines,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function relay(client: Duplex, head: Buffer, target: string, sockets: Set<Duplex>): void {
  const onward = connect({ ...split(target), allowHalfOpen: true });
  sockets.add(onward);
  onward.once("close", () => sockets.delete(onward));
  onward.once("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\n\r\ncannot reach it"));
  onward.once("connect", () => {
    onward.removeAllListeners("error").on("error", () => client.destroy());
    client.write("HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n");
    if (head.length > 0) onward.write(head);
    client.pipe(onward).pipe(client);
  });
}

function split(target: string): { host: string; port: number } {
  const cut = target.lastIndexOf(":");
  return { host: target.slice(0, cut), port: Number(target.slice(cut + 1)) };
}
