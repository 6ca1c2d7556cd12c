/**
 * Thousands of spellings of destinations, random rules, real connections: whatever the kernel connects to, as getpeername
 * says, was judged as exactly that address, and an independent reading of the rules permits it.
 */
import { type AddressInfo, BlockList, createServer, isIPv4, type Server } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemRuntime } from "../../base/runtime.js";
import { Resolver } from "../resolver/resolver.js";
import {
  type DnsServer,
  type SystemFiles,
  startDnsServer,
  writeSystemFiles,
  zoneOf,
} from "../resolver/testing/dns-servers.js";
import type { DestinationHost } from "../wire/destination.js";
import { EndpointDial } from "./dialer.js";
import { DestinationPolicy } from "./policy.js";

const LISTENING = ["127.0.0.1", "127.0.0.2", "127.1.2.3", "::1"];

/** What the test's own DNS says; peers are on loopback only. */
const ZONE: Readonly<Record<string, readonly string[]>> = {
  "one.svc.cluster.local": ["127.0.0.1"],
  "two.svc.cluster.local": ["127.0.0.2", "::1"],
  "any.example": ["0.0.0.0"],
  "any6.example": ["::"],
  "mapped.example": ["::ffff:127.1.2.3"],
  "mapped-any.example": ["::ffff:0.0.0.0"],
  "low.example": ["::0.0.0.1"],
  "127.0.0.1.example": ["127.1.2.3"],
  "0x7f.1": ["127.0.0.1"],
};
const HOSTS = "127.0.0.1 localhost\n::1 localhost six\n127.0.0.2 two\n";
const NAMES: Readonly<Record<string, readonly string[]>> = {
  ...ZONE,
  localhost: ["127.0.0.1", "::1"],
  six: ["::1"],
  two: ["127.0.0.2"],
};

const servers: Server[] = [];
let dns: DnsServer;
let files: SystemFiles;
let port: number;

beforeAll(async () => {
  for (const host of LISTENING) {
    const server = createServer((socket) => socket.on("error", () => {}).end());
    await new Promise<void>((resolve) => server.listen(port ?? 0, host, resolve));
    servers.push(server);
    ({ port } = server.address() as AddressInfo);
  }
  dns = await startDnsServer(zoneOf(ZONE));
  files = writeSystemFiles([dns.port], "search svc.cluster.local\noptions timeout:30 attempts:1", HOSTS);
});

afterAll(async () => {
  for (const server of servers) server.close();
  await dns.close();
  files.remove();
});

// ---- spellings ---------------------------------------------------------------------------------------------------------

const hex = (value: number, upper: boolean, wide: boolean): string => {
  const text = value.toString(16).padStart(wide ? 4 : 1, "0");
  return upper ? text.toUpperCase() : text;
};

/** One IPv4 address, in all the ways that some program takes for it. */
const ipv4 = fc
  .tuple(fc.constantFrom("127.0.0.1", "127.0.0.2", "127.1.2.3", "0.0.0.0"), fc.boolean(), fc.boolean())
  .chain(([address, upper, wide]) => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
    const [high, low] = [hex(a * 256 + b, upper, wide), hex(c * 256 + d, upper, wide)];
    const number = ((a * 256 + b) * 256 + c) * 256 + d;
    return fc.constantFrom(
      ...[
        address,
        `[${address}]`,
        `${address}.`,
        `0${address}`,
        `${address}%lo`,
        `${a}.${number & 0xff_ffff}`,
        `${a}.${d}`,
      ],
      ...[String(number), `0x${number.toString(16)}`, `0${number.toString(8)}`, `0x${a.toString(16)}.${b}.${c}.${d}`],
      ...[
        `[::ffff:${address}]`,
        `[::FFFF:${high}:${low}]`,
        `[0:0:0:0:0:ffff:${high}:${low}]`,
        `[::ffff:${address}%lo]`,
      ],
      ...[`[::${address}]`, `[::${high}:${low}]`, `[64:ff9b::${address}]`, `[2002:${high}:${low}::1]`],
      ...[`${address}\0.svc.cluster.local`, `${address} .svc.cluster.local`, `${address}%00.svc.cluster.local`],
      ...[`${address}#.svc.cluster.local`, `user@${address}`, `${address}/x`, `one.svc.cluster.local@${address}`],
      ...[`１${address.slice(1)}`, address.replace(".", "。"), `${address}\u00ad`, `\u200b${address}`],
    );
  });

const ipv6 = fc.constantFrom(
  ...[
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::0.0.0.1]",
    "[::0.0.0.0]",
    "[::1%lo]",
    "[::1%1]",
    "[::%lo]",
  ],
  ...[
    "::1",
    "[::1].",
    "[::1",
    "[[::1]]",
    "[::01]",
    "[::00001]",
    "[0::0:1]",
    "[::1]\0",
    "[::1\0.svc.cluster.local]",
    "",
  ],
);

const name = fc
  .tuple(fc.constantFrom(...Object.keys(NAMES), "one", "nobody.example"), fc.infiniteStream(fc.boolean()))
  .chain(([text, upper]) => {
    const mixed = [...text].map((letter) => (upper.next().value ? letter.toUpperCase() : letter)).join("");
    return fc.constantFrom(
      ...[
        mixed,
        `${mixed}.`,
        `${mixed}..`,
        `.${mixed}`,
        `[${mixed}]`,
        `${mixed}\0.svc.cluster.local`,
        `${mixed}\u0301`,
      ],
      ...[mixed.replace("l", "ⓛ"), mixed.replace(".", "．"), `${mixed}%2e`, ` ${mixed}`, `${mixed}\t`],
    );
  });

const anything = fc.string({ unit: "binary", maxLength: 12 });
const host = fc.oneof({ weight: 4, arbitrary: ipv4 }, ipv6, { weight: 3, arbitrary: name }, anything);

// ---- rules -------------------------------------------------------------------------------------------------------------

const RULES = [
  ...[
    "127.0.0.0/8",
    "127.0.0.1",
    "127.0.0.2",
    "127.0.0.0/31",
    "0.0.0.0",
    "0.0.0.0/0",
    "::1",
    "::",
    "::/0",
    "127.1.0.0/16",
  ],
  ...["::ffff:127.0.0.1", "::ffff:127.0.0.0/104", "*.svc.cluster.local", "localhost", "*.example", "*", "10.0.0.0/8"],
];
const rules = fc.record({
  allow: fc.array(fc.constantFrom(...RULES), { maxLength: 2 }),
  deny: fc.array(fc.constantFrom(...RULES), { maxLength: 2 }),
});

/** The rules, read again by other code, about the address that getpeername gave. */
function permits({ allow, deny }: { allow: string[]; deny: string[] }, asked: string, peer: string): boolean {
  const covers = (rule: string): boolean => {
    if (!/[:/]|^[\d.]+$/.test(rule)) return matchesGlob(rule, asked.toLowerCase().replace(/\.$/, ""));
    const list = new BlockList();
    const [network = "", bits] = rule.split("/");
    const family = isIPv4(network) ? "ipv4" : "ipv6";
    if (bits !== undefined) list.addSubnet(network, Number(bits), family);
    else list.addAddress({ "0.0.0.0": "127.0.0.1", "::": "::1" }[network] ?? network, family);
    // The list itself takes IPv4-mapped networks for IPv4 ones; all of IPv6 is not meant to have IPv4 in it.
    return network === "::" && bits === "0" ? !isIPv4(peer) : list.check(peer, isIPv4(peer) ? "ipv4" : "ipv6");
  };
  return !deny.some(covers) && (allow.length === 0 || allow.some(covers));
}

const matchesGlob = (pattern: string, text: string): boolean =>
  pattern.startsWith("*") ? text.endsWith(pattern.slice(1)) : text === pattern;

// ---- dials -------------------------------------------------------------------------------------------------------------

/** Remembers what it let through. */
class WatchedPolicy extends DestinationPolicy {
  readonly permitted: string[] = [];

  override refusal(asked: DestinationHost, address: string, at: number): string | undefined {
    const refusal = super.refusal(asked, address, at);
    if (refusal === undefined) this.permitted.push(address);
    return refusal;
  }
}

function dial(address: string, policy: DestinationPolicy, resolver: Resolver): Promise<string | undefined> {
  return new Promise((resolve) => {
    new EndpointDial(
      "tcp",
      address,
      { policy, resolver, runtime: systemRuntime },
      {
        onConnected(socket) {
          const peer = socket.remoteAddress;
          socket.on("error", () => {}).destroy();
          resolve(peer);
        },
        onFailed: () => resolve(undefined),
        onCancelled: () => resolve(undefined),
        onBytes() {},
      },
    );
  });
}

const DIALS = 4_000;
const AT_ONCE = 40;

test("the kernel connects only to what was judged, and the rules permit it", { timeout: 120_000 }, async () => {
  const resolver = new Resolver(files);
  const cases = fc.sample(fc.tuple(host, rules), DIALS);
  const reached: Record<string, number> = {};
  let refused = 0;
  const take = async (): Promise<void> => {
    for (let next = cases.pop(); next !== undefined; next = cases.pop()) {
      const [asked, given] = next;
      const policy = new WatchedPolicy(given.allow, given.deny);
      const peer = await dial(`${asked}:${port}`, policy, resolver);
      const story = JSON.stringify({ asked, ...given, peer, permitted: policy.permitted });
      if (peer === undefined) {
        refused += 1;
        continue;
      }
      reached[peer] = (reached[peer] ?? 0) + 1;
      expect(policy.permitted.at(-1), story).toBe(peer);
      expect(permits(given, asked.replace(/^\[(.*)\]$/, "$1"), peer), story).toBe(true);
      const plain = asked
        .replace(/^\[(.*)\]$/, "$1")
        .replace(/\.$/, "")
        .toLowerCase();
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that none gets through is the point
      expect(plain, story).not.toMatch(/[\x00-\x20]|[^\x00-\x7f]/);
      if (plain in NAMES) expect(NAMES[plain]!.map(kernelForm), story).toContain(peer);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
  // Not for want of trying.
  expect(Object.keys(reached).sort()).toEqual([...LISTENING].sort());
  expect(Math.min(...Object.values(reached), refused)).toBeGreaterThan(10);
});

/** What connecting to it means to the system. */
function kernelForm(address: string): string {
  const four = address.replace(/^::ffff:(?=\d+\.)/, "");
  return { "0.0.0.0": "127.0.0.1", "::": "::1", "::0.0.0.1": "::1" }[four] ?? four;
}
