/** A real DNS server of a test, on UDP and TCP at one port of loopback, and the system's files that name it. */
import { createSocket } from "node:dgram";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AnswerParts, type DnsQuery, decodeQuery, encodeAnswer, framed } from "../../wire/testing/dns-server.js";

/** What to answer; undefined: nothing, ever. */
export type Zone = (query: DnsQuery, how: "udp" | "tcp") => AnswerParts | undefined;

export interface DnsServer {
  readonly port: number;
  /** Every question so far, as `A name`. */
  readonly asked: string[];
  close(): Promise<void>;
}

export async function startDnsServer(zone: Zone): Promise<DnsServer> {
  const asked: string[] = [];
  const answer = (message: Buffer, how: "udp" | "tcp"): Buffer | undefined => {
    const query = decodeQuery(message);
    asked.push(`${query.type} ${query.name}`);
    const parts = zone(query, how);
    return parts === undefined ? undefined : encodeAnswer(query, parts);
  };
  const tcp = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (chunk: Buffer) => {
      const said = answer(chunk.subarray(2), "tcp");
      if (said !== undefined) socket.write(framed(said));
    });
  });
  await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket("udp4");
  udp.on("message", (message, from) => {
    const said = answer(message, "udp");
    if (said !== undefined) udp.send(said, from.port, from.address);
  });
  await new Promise<void>((resolve) => udp.bind(port, "127.0.0.1", resolve));
  return {
    port,
    asked,
    async close() {
      udp.close();
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
}

/** A zone of addresses by name; other names do not exist. */
export function zoneOf(addresses: Readonly<Record<string, readonly string[]>>): Zone {
  return ({ name, type }) => {
    // A name may be `constructor`, which every object has.
    const all = Object.hasOwn(addresses, name) ? addresses[name] : undefined;
    if (all === undefined) return { rcode: 3 };
    const family = all.filter((address) => address.includes(":") === (type === "AAAA"));
    return { records: family.map((address) => ({ type, name, seconds: 5, address })) };
  };
}

export interface SystemFiles {
  readonly hostsFile: string;
  readonly resolvConf: string;
  remove(): void;
}

/** `servers` are ports of loopback; `conf` are further lines of resolv.conf. */
export function writeSystemFiles(servers: readonly number[], conf = "", hosts = ""): SystemFiles {
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-resolver-"));
  const files = { hostsFile: join(dir, "hosts"), resolvConf: join(dir, "resolv.conf") };
  writeFileSync(files.hostsFile, hosts);
  writeFileSync(files.resolvConf, `${servers.map((port) => `nameserver [127.0.0.1]:${port}\n`).join("")}${conf}\n`);
  return { ...files, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
