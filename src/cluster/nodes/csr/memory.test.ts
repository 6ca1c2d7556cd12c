import { describe, expect, test } from "vitest";
import { type HeldNames, heldNamesOf, isInForce, withApproval, withCertificate, withoutApproval } from "./memory.js";

const names = ["DNS:w0", "IP:10.0.0.1"];
const others = ["DNS:w0", "IP:10.0.0.2"];

describe("certificates for the same names", () => {
  test("are one entry, which ends with the last of them", () => {
    const first = withCertificate(withApproval([], "a", names), "a", { names, until: 100 });
    expect(first).toEqual([{ names, until: 100 }]);
    const renewed = withApproval(first, "b", names);
    expect(renewed).toEqual([{ names, request: "b", until: 100 }]);
    expect(withCertificate(renewed, "b", { names, until: 50 })).toEqual([{ names, until: 100 }]);
    expect(withCertificate(renewed, "b", { names, until: 200 })).toEqual([{ names, until: 200 }]);
  });

  test("have no known end once two were approved before the first was seen", () => {
    const both = withApproval(withApproval([], "long", names), "short", names);
    const seen = withCertificate(both, "short", { names, until: 10 });
    expect(seen).toEqual([{ names, until: 10, lost: true }]);
    expect(seen.every((one) => isInForce(one, 1000))).toBe(true);
  });
});

describe("certificates for other names", () => {
  test("are entries of their own", () => {
    const held = withApproval(withCertificate([], "a", { names, until: 100 }), "b", others);
    expect(held).toEqual([
      { names, until: 100 },
      { names: others, request: "b", until: 0 },
    ]);
    // A signer that gave other names than were asked for has answered all the same.
    expect(withCertificate(held, "b", { names, until: 300 })).toEqual([
      { names: others, until: 0 },
      { names, until: 300 },
    ]);
  });
});

describe("a certificate that is known already", () => {
  test("changes nothing", () => {
    const held: readonly HeldNames[] = [{ names, until: 100 }];
    expect(withCertificate(held, "a", { names, until: 100 })).toBe(held);
    expect(withoutApproval(held, "a")).toBe(held);
  });
});

describe("what is held", () => {
  test("lives while a request is unanswered, an end is unknown or to come", () => {
    expect(isInForce({ names, until: 0, request: "a" }, 5)).toBe(true);
    expect(isInForce({ names, until: 0, lost: true }, 5)).toBe(true);
    expect(isInForce({ names, until: 6 }, 5)).toBe(true);
    expect(isInForce({ names, until: 5 }, 5)).toBe(false);
  });

  test("is known of records from before it was kept", () => {
    expect(heldNamesOf({ pool: "a/b" })).toEqual([]);
    expect(heldNamesOf({ pool: "a/b", serving: { request: "a", at: 1, names } })).toEqual([
      { names, until: 0, lost: true },
    ]);
  });
});
