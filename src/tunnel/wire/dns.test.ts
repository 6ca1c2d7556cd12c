import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addressesFor, type DnsRecord, decodeAnswer, decodeName, encodeName, encodeQuery } from "./dns.js";
import { decodeQuery, encodeAnswer } from "./testing/dns-server.js";

const a = (name: string, address: string, seconds = 30): DnsRecord => ({ type: "A", name, seconds, address });
const alias = (name: string, target: string, seconds = 30): DnsRecord => ({ type: "CNAME", name, seconds, target });
const query = { id: 7, name: "a.example", type: "A" } as const;

describe("a DNS query", () => {
  test("is exactly what RFC 1035 says", () => {
    expect(encodeQuery(0x1234, "db.example.", "AAAA")?.toString("hex")).toBe(
      ["123401000001000000000000", "02", "6462", "07", "6578616d706c65", "00", "001c0001"].join(""),
    );
  });

  test("says how long a datagram it takes, where one is asked for", () => {
    expect(encodeQuery(0x1234, "db", "A", 1232)?.toString("hex")).toBe(
      ["123401000001000000000001", "02", "6462", "00", "00010001", "00", "0029", "04d0", "00000000", "0000"].join(""),
    );
  });

  test.each([
    "",
    ".",
    "a..b",
    "a b.example",
    `${"x".repeat(64)}.example`,
    `${"abcdefg.".repeat(32)}example`,
    "bücher.de",
  ])("for %j is not made", (name) => {
    expect(encodeQuery(1, name, "A")).toBeUndefined();
  });

  test("names of every legal shape survive", () => {
    const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 8 }), fc.constantFrom("A", "AAAA"), (labels, type) => {
        const name = labels.join(".");
        expect(decodeQuery(encodeQuery(9, name, type)!)).toEqual({ id: 9, name, type });
      }),
    );
  });
});

describe("a DNS answer", () => {
  test("gives back what a server put into it, in either family", () => {
    const records: DnsRecord[] = [
      alias("a.example", "b.example", 60),
      a("b.example", "10.0.0.1"),
      { type: "AAAA", name: "b.example", seconds: 5, address: "fd00::1" },
    ];
    expect(decodeAnswer(encodeAnswer(query, { records, rcode: 0 }))).toEqual({
      id: 7,
      rcode: 0,
      truncated: false,
      question: { name: "a.example", type: 1 },
      records,
      negativeSeconds: undefined,
    });
  });

  test("says how long a name stays unknown", () => {
    expect(decodeAnswer(encodeAnswer(query, { rcode: 3, negativeSeconds: 17 }))).toMatchObject({
      rcode: 3,
      negativeSeconds: 17,
    });
  });

  test("is none when it is a question, or stops anywhere before its end", () => {
    expect(decodeAnswer(encodeQuery(1, "a.example", "A")!)).toBeUndefined();
    const whole = encodeAnswer(query, { records: [a("a.example", "10.0.0.1")] });
    for (let length = 0; length < whole.length; length += 1) {
      expect(decodeAnswer(whole.subarray(0, length))).toBeUndefined();
    }
  });

  test("is none when a name points to itself, forward, or round in a circle", () => {
    const whole = encodeAnswer(query, { records: [a("a.example", "10.0.0.1")] });
    const pointer = whole.lastIndexOf(Buffer.of(0xc0, 12));
    for (const target of [pointer, pointer + 2, 0x3fff]) {
      const bad = Buffer.from(whole);
      bad.writeUInt16BE(0xc000 | target, pointer);
      expect(decodeAnswer(bad)).toBeUndefined();
    }
    // Two pointers, each to the other.
    expect(decodeName(Buffer.of(0xc0, 2, 0xc0, 0), 2)).toBeUndefined();
  });

  test("is none when compression blows a name up beyond 255 bytes", () => {
    const long = encodeName(`${"x".repeat(60)}.${"y".repeat(60)}.${"z".repeat(60)}.${"w".repeat(60)}`)!;
    const tail = Buffer.concat([long, Buffer.of(20), Buffer.alloc(20, 0x71), Buffer.of(0xc0, 0)]);
    expect(decodeName(tail, 0)?.name).toHaveLength(243);
    expect(decodeName(tail, long.length)).toBeUndefined();
  });

  test("keeps a dot inside a label apart from the dots between labels", () => {
    expect(decodeName(Buffer.from("\x03a.b\x02cd\0", "latin1"), 0)).toEqual({ name: "a\\.b.cd", next: 8 });
  });

  test("of arbitrary bytes is read or refused, never worse", () => {
    const header = fc.tuple(fc.nat(3), fc.nat(3)).map(([answers, authority]) => {
      return Buffer.from([0, 7, 0x81, 0x80, 0, 1, 0, answers, 0, authority, 0, 0]);
    });
    const body = fc.uint8Array({ maxLength: 80 });
    fc.assert(
      fc.property(
        fc.oneof(
          body,
          fc.tuple(header, body).map((parts) => Buffer.concat(parts)),
        ),
        (bytes) => {
          const answer = decodeAnswer(Buffer.from(bytes));
          if (answer !== undefined)
            expect(addressesFor("a.example", "A", answer)?.addresses ?? []).toBeInstanceOf(Array);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test("with a few bytes changed is read or refused, too", () => {
    const records = [alias("a.example", "b.example"), a("b.example", "10.0.0.1")];
    const whole = encodeAnswer(query, { records, negativeSeconds: 3 });
    const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(changes, (list) => {
        const bytes = Buffer.from(whole);
        for (const [at, value] of list) bytes[at] = value;
        const answer = decodeAnswer(bytes);
        if (answer !== undefined) expect(answer.records.length).toBeLessThanOrEqual(2);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("the addresses in an answer", () => {
  const find = (...records: DnsRecord[]) => {
    return addressesFor("A.example.", "A", decodeAnswer(encodeAnswer(query, { records }))!);
  };

  test("are those at the end of the aliases, believed as long as the shortest of them", () => {
    expect(
      find(
        a("c.example", "10.0.0.1", 50),
        alias("b.example", "c.example", 20),
        alias("a.example", "b.example", 40),
        a("c.example", "10.0.0.2", 60),
      ),
    ).toEqual({ addresses: ["10.0.0.1", "10.0.0.2"], seconds: 20, end: "c.example" });
  });

  test("do not include those of other names", () => {
    expect(find(a("evil.example", "10.6.6.6"), a("a.example", "10.0.0.1"))?.addresses).toEqual(["10.0.0.1"]);
  });

  test("are none, with the name to ask for next, when an alias leads out of the answer", () => {
    expect(find(alias("a.example", "b.example"))).toMatchObject({ addresses: [], end: "b.example" });
  });

  test("are refused when aliases lead in a circle or on and on", () => {
    expect(find(alias("a.example", "b.example"), alias("b.example", "a.example"))).toBeUndefined();
    const chain = Array.from({ length: 20 }, (_, step) =>
      alias(step === 0 ? "a.example" : `x${step}.example`, `x${step + 1}.example`),
    );
    expect(find(...chain)).toBeUndefined();
  });

  test("are bounded in number", () => {
    const many = Array.from({ length: 500 }, (_, index) => a("a.example", `10.0.${index >> 8}.${index & 255}`));
    expect(find(...many)?.addresses).toHaveLength(64);
  });
});
