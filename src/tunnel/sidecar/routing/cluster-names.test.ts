import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type DnsRecord, searchNames } from "../../wire/dns.js";
import { type AnswerParts, type DnsQuery, decodeQuery, encodeAnswer, framed } from "../../wire/testing/dns-server.js";
import { queryClusterDns } from "./cluster-dns.js";

const NEVER = new AbortController().signal;

const record = (name: string, address: string, seconds = 30): DnsRecord => {
  return { type: address.includes(":") ? "AAAA" : "A", name, seconds, address };
};

/** What a server does with one query: bytes to send, or the end of the connection. */
type Reply = Buffer | "hang-up" | "silence";

/** One connection to a server that answers each query by the script. */
function connection(reply: (query: DnsQuery) => Reply | readonly Reply[]): Duplex {
  let bytes: Buffer = Buffer.alloc(0);
  let over = false;
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
        const end = 2 + bytes.readUInt16BE(0);
        const query = decodeQuery(bytes.subarray(2, end));
        bytes = bytes.subarray(end);
        for (const part of [reply(query)].flat()) {
          if (part === "silence" || over) continue;
          over = part === "hang-up";
          stream.push(part === "hang-up" ? null : part);
        }
      }
      done();
    },
  });
  return stream;
}

/** A server that knows the records, and says NXDOMAIN to everything else. */
function serverWith(records: readonly DnsRecord[], parts: AnswerParts = {}) {
  const asked: string[] = [];
  let connections = 0;
  return {
    asked,
    connections: () => connections,
    connect: async () => {
      connections += 1;
      return connection((query) => {
        asked.push(`${query.type} ${query.name}`);
        const known = records.filter(({ name }) => name === query.name);
        const matching = known.filter(({ type }) => type === query.type || type === "CNAME");
        const rcode = known.length === 0 ? 3 : 0;
        return framed(encodeAnswer(query, { rcode, negativeSeconds: 9, records: matching, ...parts }));
      });
    },
  };
}

const scripted = (reply: (query: DnsQuery) => Reply | readonly Reply[], searchDomains: readonly string[] = []) =>
  queryClusterDns({ connect: async () => connection(reply), searchDomains, ndots: 1 });

describe("the cluster's DNS as a resolver", () => {
  test("asks for both families on one connection", async () => {
    const server = serverWith([record("a.b", "10.0.0.1"), record("a.b", "fd00::1", 20)]);
    const ask = queryClusterDns({ ...server, searchDomains: [], ndots: 1 });
    expect(await ask("a.b", NEVER)).toEqual({ addresses: ["10.0.0.1", "fd00::1"], ttlMs: 20_000 });
    expect({ asked: server.asked, connections: server.connections() }).toEqual({
      asked: ["A a.b", "AAAA a.b"],
      connections: 1,
    });
  });

  test("reports how long the absence of a name may be cached", async () => {
    const ask = queryClusterDns({ ...serverWith([]), searchDomains: [], ndots: 1 });
    expect(await ask("a.b", NEVER)).toEqual({ addresses: [], ttlMs: 9_000 });
  });

  test("goes through the search domains", async () => {
    const server = serverWith([record("db.shop.svc.cluster.local", "10.0.0.1")]);
    const ask = queryClusterDns({ ...server, searchDomains: ["svc.cluster.local", "cluster.local"], ndots: 5 });
    expect((await ask("db.shop", NEVER)).addresses).toEqual(["10.0.0.1"]);
    expect(server.asked[0]).toBe("A db.shop.svc.cluster.local");
  });

  test.each([
    ["a.b", 1, ["a.b", "a.b.x", "a.b.y"]],
    ["a.b", 2, ["a.b.x", "a.b.y", "a.b"]],
    ["a", 1, ["a.x", "a.y", "a"]],
    ["a.b.", 5, ["a.b"]],
  ])("tries %s with ndots %i in the right order", (name, ndots, expected) => {
    expect(searchNames(name, ["x", "y"], ndots)).toEqual(expected);
  });

  test("follows an alias into another answer, but not for ever", async () => {
    const alias = (name: string, target: string): DnsRecord => ({ type: "CNAME", name, seconds: 5, target });
    const good = serverWith([alias("a.b", "c.d"), record("c.d", "10.0.0.1", 60)]);
    expect(await queryClusterDns({ ...good, searchDomains: [], ndots: 1 })("a.b", NEVER)).toEqual({
      addresses: ["10.0.0.1"],
      ttlMs: 5_000,
    });
    const endless = Array.from({ length: 50 }, (_, step) => alias(step === 0 ? "a.b" : `n${step}.x`, `n${step + 1}.x`));
    const bad = serverWith(endless);
    const ask = queryClusterDns({ ...bad, searchDomains: [], ndots: 1 });
    await expect(ask("a.b", NEVER)).rejects.toThrow("do not come to an end");
    expect(bad.connections()).toBe(5);
  });

  test("is content with one family when the other fails", async () => {
    const ask = scripted((query) => {
      const parts = query.type === "A" ? { records: [record("a.b", "10.0.0.1")] } : { rcode: 2 };
      return framed(encodeAnswer(query, parts));
    });
    expect((await ask("a.b", NEVER)).addresses).toEqual(["10.0.0.1"]);
  });

  test("asks again on a new connection when the server hangs up after one answer", async () => {
    let connections = 0;
    const ask = queryClusterDns({
      searchDomains: [],
      ndots: 1,
      connect: async () => {
        connections += 1;
        let first = true;
        return connection((query) => {
          if (!first) return "silence";
          first = false;
          const address = query.type === "A" ? "10.0.0.1" : "fd00::1";
          return [framed(encodeAnswer(query, { records: [record("a.b", address)] })), "hang-up"];
        });
      },
    });
    expect((await ask("a.b", NEVER)).addresses).toEqual(["10.0.0.1", "fd00::1"]);
    expect(connections).toBe(2);
  });

  test.each<[string, (query: DnsQuery) => Reply | readonly Reply[], RegExp]>([
    ["SERVFAIL", (query) => framed(encodeAnswer(query, { rcode: 2 })), /error 2/],
    ["an answer cut short", (query) => framed(encodeAnswer(query, { truncated: true })), /cut short/],
    ["no answer", () => "hang-up", /hung up/],
    ["half an answer", (query) => [framed(encodeAnswer(query)).subarray(0, 9), "hang-up"], /hung up/],
    ["bytes that are no DNS", () => framed(Buffer.from("HTTP/1.1 400 Bad Request")), /not a DNS message/],
    [
      "answers to other questions",
      (query) => Array.from({ length: 9 }, () => framed(encodeAnswer({ ...query, name: "evil.example" }))),
      /other questions/,
    ],
    [
      "aliases in a circle",
      (query) => {
        const records: DnsRecord[] = [{ type: "CNAME", name: "a.b", seconds: 1, target: "a.b" }];
        return framed(encodeAnswer(query, { records }));
      },
      /circle/,
    ],
  ])("fails, and does not say that there is no such name, on %s", async (_, reply, words) => {
    await expect(scripted(reply)("a.b", NEVER)).rejects.toThrow(words);
  });

  test("ignores an answer with the right number for another question", async () => {
    const ask = scripted((query) => {
      const forged = encodeAnswer(
        { ...query, name: "evil.example" },
        { records: [record("evil.example", "10.6.6.6")] },
      );
      return [framed(forged), framed(encodeAnswer(query, { records: [record("a.b", "10.0.0.1")] }))];
    });
    expect((await ask("a.b", NEVER)).addresses).toEqual(["10.0.0.1"]);
  });

  test("reads answers however they are cut into pieces", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 60 }), async (sizes) => {
        const ask = scripted((query) => {
          const whole = framed(encodeAnswer(query, { records: [record("a.b", "10.0.0.1")] }));
          const pieces: Buffer[] = [];
          for (let at = 0, turn = 0; at < whole.length; turn += 1) {
            const size = sizes[turn % sizes.length]!;
            pieces.push(whole.subarray(at, at + size));
            at += size;
          }
          return pieces;
        });
        expect((await ask("a.b", NEVER)).addresses).toEqual(["10.0.0.1"]);
      }),
      { numRuns: 50 },
    );
  });

  test("stops with the signal, and closes the connection", async () => {
    const stop = new AbortController();
    const open: Duplex[] = [];
    const ask = queryClusterDns({
      searchDomains: [],
      ndots: 1,
      connect: async () => {
        open.push(connection(() => "silence"));
        return open[0]!;
      },
    });
    const asking = ask("a.b", stop.signal);
    setImmediate(() => stop.abort(new Error("enough")));
    await expect(asking).rejects.toThrow("enough");
    expect(open[0]?.destroyed).toBe(true);
  });

  test("finds no address for what cannot be a domain name", async () => {
    const ask = queryClusterDns({ ...serverWith([]), searchDomains: [], ndots: 1 });
    expect((await ask(`${"x".repeat(70)}.b`, NEVER)).addresses).toEqual([]);
  });
});
