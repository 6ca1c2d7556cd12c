/** A DNS server on TCP that knows what a test tells it. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { DnsRecord } from "../../../src/tunnel/wire/dns.js";
import { decodeQuery, encodeAnswer, framed } from "../../../src/tunnel/wire/testing/dns-server.js";

export interface DnsResponder {
  readonly host: string;
  readonly port: number;
  /** `TYPE name` of every query so far. */
  readonly asked: string[];
  /** What happens to queries from now on; `refuse` hangs up at once. */
  mode: "answer" | "servfail" | "refuse";
  close(): Promise<void>;
}

/** Addresses by name; a name that is not there does not exist. */
export type Zone = Readonly<Record<string, readonly string[]>>;

export async function startDnsResponder(
  zone: Zone,
  place: { readonly host: string; readonly port: number } = { host: "127.0.0.1", port: 0 },
): Promise<DnsResponder> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    if (responder.mode === "refuse") socket.destroy();
    else serve(socket);
  });
  const serve = (socket: Socket): void => {
    let bytes: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
        const end = 2 + bytes.readUInt16BE(0);
        socket.write(framed(answer(bytes.subarray(2, end))));
        bytes = bytes.subarray(end);
      }
    });
  };
  const answer = (message: Buffer): Buffer => {
    const query = decodeQuery(message);
    asked.push(`${query.type} ${query.name}`);
    if (responder.mode === "servfail") return encodeAnswer(query, { rcode: 2 });
    const known = zone[query.name];
    const records = (known ?? []).map((address): DnsRecord => {
      return { type: address.includes(":") ? "AAAA" : "A", name: query.name, seconds: 30, address };
    });
    const matching = records.filter(({ type }) => type === query.type);
    return encodeAnswer(query, { rcode: known === undefined ? 3 : 0, records: matching, negativeSeconds: 5 });
  };
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(place.port, place.host, resolve);
  });
  const responder: DnsResponder = {
    host: place.host,
    port: (server.address() as AddressInfo).port,
    asked,
    mode: "answer",
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return responder;
}
