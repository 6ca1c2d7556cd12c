import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { identifierPairs, parseIdentifiers } from "./identifiers.js";

describe("agent identifiers", () => {
  test("reads repeated keys and escapes", () => {
    expect(
      parseIdentifiers("host=a&host=b%2Ec&ipv4=1.2.3.4&ipv6=fd00%3A%3A1&cidr=10.0.0.0/8&default-route=true"),
    ).toEqual({ host: ["a", "b.c"], ipv4: ["1.2.3.4"], ipv6: ["fd00::1"], cidr: ["10.0.0.0/8"], defaultRoute: true });
  });

  test.each(["1", "t", "T", "TRUE", "true", "True"])("takes Go's %s for true", (truth) => {
    expect(parseIdentifiers(`default-route=${truth}`).defaultRoute).toBe(true);
  });

  test.each(["yes", "", "tRUE", "false&default-route=true"])(
    "takes only the first default-route, and %j is false",
    (text) => {
      expect(parseIdentifiers(`default-route=${text}`).defaultRoute).toBe(false);
    },
  );

  test("ignores keys it does not know and empty parts", () => {
    expect(parseIdentifiers("&uid=1&&host=x&")).toMatchObject({ host: ["x"] });
    expect(identifierPairs("uid=1&host=x")).toEqual([
      ["uid", "1"],
      ["host", "x"],
    ]);
  });

  test("refuses what Go refuses", () => {
    expect(() => parseIdentifiers("host=a;b")).toThrow("invalid semicolon separator in query");
    expect(() => parseIdentifiers("host=%zz")).toThrow('invalid URL escape "%zz"');
    expect(() => parseIdentifiers("host=a%4")).toThrow('invalid URL escape "%4"');
  });

  test("reads back what URLSearchParams writes, and never crashes on the rest", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme-ascii" })), (hosts) => {
        const query = new URLSearchParams(hosts.map((host): [string, string] => ["host", host])).toString();
        expect(parseIdentifiers(query).host).toEqual(hosts);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseIdentifiers(text);
        } catch (error) {
          expect((error as Error).message).toMatch(/^invalid (semicolon|URL escape)/);
        }
      }),
    );
  });
});
