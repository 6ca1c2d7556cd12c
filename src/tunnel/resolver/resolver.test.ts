import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freePort } from "../../../test/support/processes/ports.js";
import { LookupError, Resolver } from "./resolver.js";
import {
  type DnsServer,
  type SystemFiles,
  startDnsServer,
  writeSystemFiles,
  type Zone,
  zoneOf,
} from "./testing/dns-servers.js";

const NEVER = new AbortController().signal;
/** How long something may take on a busy machine. */
const BUSY = { timeout: 10_000 };

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0)) await step();
  vi.restoreAllMocks();
});

async function dnsServer(zone: Zone): Promise<DnsServer> {
  const server = await startDnsServer(zone);
  cleanUp.push(() => server.close());
  return server;
}

function systemFiles(...how: Parameters<typeof writeSystemFiles>): SystemFiles {
  const files = writeSystemFiles(...how);
  cleanUp.push(() => files.remove());
  return files;
}

async function resolverFor(zone: Zone, conf = "", hosts = "") {
  const server = await dnsServer(zone);
  return { server, resolver: new Resolver(systemFiles([server.port], conf, hosts)) };
}

const failureOf = async (found: Promise<unknown>): Promise<LookupError> => {
  const reason = await found.then(
    () => new Error("it was found"),
    (error: unknown) => error,
  );
  expect(reason).toBeInstanceOf(LookupError);
  return reason as LookupError;
};

const silent: Zone = () => undefined;

describe("a name", () => {
  test("of /etc/hosts is not asked for, whatever its case and last dot", async () => {
    const hosts =
      "# nobody\n10.0.0.1 Db.example db # 10.0.0.9 not\n10.0.0.2\tdb.example.\n::ffff:10.0.0.3 four\nbad db\n";
    const { server, resolver } = await resolverFor(silent, "", hosts);
    expect(await resolver.find("db.example.", NEVER)).toEqual(["10.0.0.1", "10.0.0.2"]);
    expect(await resolver.find("db", NEVER)).toEqual(["10.0.0.1"]);
    expect(await resolver.find("four", NEVER)).toEqual(["10.0.0.3"]);
    expect(server.asked).toEqual([]);
  });

  test("has the addresses of both families that DNS has, aliases followed", async () => {
    const zone: Zone = ({ name, type }) => ({
      records: [
        { type: "CNAME", name, seconds: 5, target: "real.example" },
        ...(type === "A" ? [{ type, name: "real.example", seconds: 5, address: "10.0.0.1" } as const] : []),
        ...(type === "AAAA" ? [{ type, name: "real.example", seconds: 5, address: "2001:db8::1" } as const] : []),
      ],
    });
    const { server, resolver } = await resolverFor(zone);
    expect([...(await resolver.find("db.example", NEVER))].sort()).toEqual(["10.0.0.1", "2001:db8::1"]);
    expect([...server.asked].sort()).toEqual(["A db.example", "AAAA db.example"]);
  });

  test("is asked for again after a second when a datagram was lost, long before the server is given up", async () => {
    const lost = new Set(["A", "AAAA"]);
    const known = zoneOf({ "db.example": ["10.0.0.1"] });
    const zone: Zone = (query, how) => (lost.delete(query.type) ? undefined : known(query, how));
    const { resolver } = await resolverFor(zone, "options timeout:60");
    expect(await resolver.find("db.example", AbortSignal.timeout(BUSY.timeout))).toEqual(["10.0.0.1"]);
  });

  test("is asked for with search domains, by ndots, and without any when it ends with a dot", async () => {
    const zone = zoneOf({ "web.shop.svc.cluster.local": ["10.96.0.7"], "outside.example": ["10.0.0.1"] });
    const conf = "search shop.svc.cluster.local svc.cluster.local.\noptions ndots:2";
    const { server, resolver } = await resolverFor(zone, conf);
    expect(await resolver.find("web", NEVER)).toEqual(["10.96.0.7"]);
    expect(await resolver.find("web.shop", NEVER)).toEqual(["10.96.0.7"]);
    expect(await resolver.find("outside.example", NEVER)).toEqual(["10.0.0.1"]);
    expect(server.asked.filter((question) => question.startsWith("A "))).toEqual([
      "A web.shop.svc.cluster.local",
      "A web.shop.shop.svc.cluster.local",
      "A web.shop.svc.cluster.local",
      "A outside.example.shop.svc.cluster.local",
      "A outside.example.svc.cluster.local",
      "A outside.example",
    ]);
    expect((await failureOf(resolver.find("web.", NEVER))).code).toBe("ENOTFOUND");
    expect(server.asked.at(-1)).toMatch(/ web$/);
  });

  test("has its addresses in their one form: what the answer maps or leaves unspecified is what is dialled", async () => {
    const { resolver } = await resolverFor(zoneOf({ "a.example": ["0.0.0.0"], "b.example": ["::ffff:127.0.0.1"] }));
    expect(await resolver.find("a.example", NEVER)).toEqual(["127.0.0.1"]);
    expect(await resolver.find("b.example", NEVER)).toEqual(["127.0.0.1"]);
  });

  test("whose answer does not fit into a datagram is asked for by TCP", async () => {
    const addresses = Array.from({ length: 40 }, (_, index) => `10.0.0.${index + 1}`);
    const full = zoneOf({ "many.example": addresses });
    const { resolver } = await resolverFor((query, how) =>
      how === "udp" && query.type === "A" ? { truncated: true } : full(query, how),
    );
    expect(await resolver.find("many.example", NEVER)).toEqual(addresses);
  });

  test.each(["localhost", "db.localhost", "localhost."])(
    "%s is this host without being listed anywhere",
    async (name) => {
      const { server, resolver } = await resolverFor(silent);
      expect([...(await resolver.find(name, NEVER))].sort()).toEqual(["127.0.0.1", "::1"]);
      expect(server.asked).toEqual([]);
    },
  );

  test.each(["0", "127.1", "0x7f.1", "2130706433", "127.0.0.1.", "0x7f000001", "echo.drawbridge.invalid"])(
    "%s, which others could take for an address or nobody has, is never asked for",
    async (name) => {
      const { server, resolver } = await resolverFor(zoneOf({ [name]: ["127.0.0.1"] }), "search example");
      const { message, code } = await failureOf(resolver.find(name, NEVER));
      expect([code, message]).toEqual(["ENOTFOUND", `lookup ${name}: no such host`]);
      expect(server.asked).toEqual([]);
    },
  );
});

describe("a lookup that fails, in Go's words,", () => {
  test("says no such host when there is none", async () => {
    const { server, resolver } = await resolverFor(zoneOf({}));
    const { message, words } = await failureOf(resolver.find("gone.example", NEVER));
    const on = `127.0.0.1:${server.port}`;
    expect(message).toBe(`lookup gone.example on ${on}: no such host`);
    expect(words).toBe(
      `the name gone.example cannot be looked up: the DNS server ${on} says that there is no such host (${message})`,
    );
  });

  test("says server misbehaving when the server reports an error", async () => {
    const { server, resolver } = await resolverFor(() => ({ rcode: 2 }));
    const { message, code, words } = await failureOf(resolver.find("a.example", NEVER));
    const on = `127.0.0.1:${server.port}`;
    expect([code, message]).toEqual(["ESERVFAIL", `lookup a.example on ${on}: server misbehaving (error 2)`]);
    expect(words).toContain(`the DNS server ${on} answered SERVFAIL`);
  });

  test("says so when nothing listens at the server's address", async () => {
    const resolver = new Resolver(systemFiles([await freePort()]));
    expect((await failureOf(resolver.find("a.example", NEVER))).message).toMatch(
      /: server misbehaving \(ECONNREFUSED\)$/,
    );
  });

  test("says i/o timeout when no server answers", async () => {
    const { server, resolver } = await resolverFor(
      silent,
      "options timeout:1 attempts:1\nsearch one.example two.example",
    );
    const { message, code } = await failureOf(resolver.find("slow", NEVER));
    expect([code, message]).toEqual(["ETIMEOUT", `lookup slow on 127.0.0.1:${server.port}: i/o timeout`]);
    expect(server.asked).toHaveLength(2);
  });

  test("ignores an answer to another question", async () => {
    const { resolver } = await resolverFor(({ type }) => ({
      records: [{ type: "A", name: "b.example", seconds: 5, address: "10.6.6.6" }],
      rcode: type === "A" ? 0 : 3,
    }));
    expect((await failureOf(resolver.find("a.example", NEVER))).code).toBe("ENOTFOUND");
  });
});

describe("of several DNS servers", () => {
  test("the second is asked when the first is silent, refuses or cannot say", async () => {
    for (const first of [silent, () => ({ rcode: 5 }), () => ({ rcode: 2 })] satisfies Zone[]) {
      const servers = [await dnsServer(first), await dnsServer(zoneOf({ "a.example": ["10.0.0.1"] }))];
      const ports = servers.map(({ port }) => port);
      const resolver = new Resolver(systemFiles(ports, "options timeout:1"));
      expect(await resolver.find("a.example", NEVER)).toEqual(["10.0.0.1"]);
    }
  });

  test("with rotate they take turns", async () => {
    const zone = zoneOf({ "a.example": ["10.0.0.1"] });
    const servers = [await dnsServer(zone), await dnsServer(zone)];
    const ports = servers.map(({ port }) => port);
    const resolver = new Resolver(systemFiles(ports, "options rotate"));
    for (let turn = 0; turn < 4; turn++) await resolver.find("a.example", NEVER);
    expect(servers.map(({ asked }) => asked.length)).toEqual([4, 4]);
  });
});

describe("many names at once", () => {
  const slowAnd = (quick: Readonly<Record<string, readonly string[]>>): Zone => {
    const zone = zoneOf(quick);
    return (query, how) => (query.name.startsWith("slow") ? undefined : zone(query, how));
  };

  test("a hundred names that nobody answers for do not delay one that is known", async () => {
    const { server, resolver } = await resolverFor(slowAnd({ "quick.example": ["10.0.0.1"] }), "options timeout:30");
    const failed: unknown[] = [];
    const cancels = Array.from({ length: 100 }, (_, index) =>
      resolver.lookup(`slow-${index}.example`, (found) => failed.push(found)),
    );
    expect(await resolver.find("quick.example", NEVER)).toEqual(["10.0.0.1"]);
    expect([failed, resolver.pending]).toEqual([[], 100]);
    await expect.poll(() => server.asked.filter((question) => question.includes("slow")).length, BUSY).toBe(200);
    for (const cancel of cancels) cancel();
    expect(resolver.pending).toBe(0);
  });

  test("at the bound the one that has waited longest fails, so that filling it keeps nobody out", async () => {
    const server = await dnsServer(slowAnd({ "quick.example": ["10.0.0.1"] }));
    const resolver = new Resolver({ ...systemFiles([server.port], "options timeout:30"), maxPending: 3 });
    const failed: string[] = [];
    const slow = (name: string) =>
      resolver.lookup(name, (found) => failed.push(String((found as LookupError).message)));
    const cancels = ["slow-1", "slow-2", "slow-3"].map(slow);
    expect(await resolver.find("quick.example", NEVER)).toEqual(["10.0.0.1"]);
    expect(failed).toEqual([
      "lookup slow-1: too many dials wait for names (more than 3 names are being looked up, this one for the longest time)",
    ]);
    for (const cancel of cancels) cancel();
    expect([failed.length, resolver.pending]).toEqual([1, 0]);
  });

  test("equal names are looked up together, for as long as anybody waits", async () => {
    let answers = false;
    const zone = zoneOf({ "a.example": ["10.0.0.1"] });
    const { server, resolver } = await resolverFor(
      (query, how) => (answers ? zone(query, how) : undefined),
      "options timeout:1",
    );
    const told: unknown[] = [];
    const cancels = [1, 2, 3].map(() => resolver.lookup("a.example", (found) => told.push(found)));
    await expect.poll(() => server.asked.length, BUSY).toBe(2);
    cancels[0]!();
    expect(resolver.pending).toBe(1);
    answers = true;
    await expect.poll(() => told, BUSY).toEqual([["10.0.0.1"], ["10.0.0.1"]]);
    expect(resolver.pending).toBe(0);
  });

  test("a signal ends the wait with its own reason", async () => {
    const { resolver } = await resolverFor(silent, "options timeout:30");
    const stop = new AbortController();
    const found = resolver.find("a.example", stop.signal);
    stop.abort(new Error("the client left"));
    await expect(found).rejects.toThrow("the client left");
    expect(resolver.pending).toBe(0);
  });
});

test("files that change are read again, and those that went away stay in force", async () => {
  const server = await dnsServer(zoneOf({ "a.example": ["10.0.0.1"] }));
  const other = await dnsServer(zoneOf({ "a.example": ["10.0.0.2"] }));
  const files = systemFiles([server.port]);
  const resolver = new Resolver(files);
  expect(await resolver.find("a.example", NEVER)).toEqual(["10.0.0.1"]);
  writeFileSync(files.resolvConf, `nameserver [127.0.0.1]:${other.port}\n`);
  const now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now + 6_000);
  expect(await resolver.find("a.example", NEVER)).toEqual(["10.0.0.2"]);
  files.remove();
  vi.spyOn(performance, "now").mockImplementation(() => now + 12_000);
  expect(await resolver.find("a.example", NEVER)).toEqual(["10.0.0.2"]);
});
