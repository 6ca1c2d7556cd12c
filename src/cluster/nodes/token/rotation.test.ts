import { describe, expect, test } from "vitest";
import { annotation, encoded, type Secret, secretNames, secretText } from "../objects.js";
import { cleanUpWrites, tokenStep, type WantedSecrets, withExpiry } from "./token-secret.js";

const start = Date.parse("2031-01-01T00:00:00Z");
const hour = 3_600_000;
const iso = (time: number) => new Date(time).toISOString();

function secret(
  annotations: Record<string, string>,
  data: Record<string, string>,
  name = "token-workers-11111111",
): Secret {
  return {
    metadata: {
      name,
      namespace: "clusters-demo",
      resourceVersion: "41",
      annotations: { [annotation.nodePool]: "clusters/workers", ...annotations },
    },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encoded(value)])),
  };
}
const fresh = secret({ [annotation.tokenGenerated]: iso(start) }, { token: "one", config: "kept" });
const tokens = (value: Secret) => [secretText(value, "token"), secretText(value, "old_token")];
const unused = () => {
  throw new Error("no token is needed");
};

/** As a server that does what the step says. */
function rotate(value: Secret, now: number, token: string) {
  const step = tokenStep(value, now, () => token);
  if (step.action !== "rotate") throw new Error(`${step.action} at ${iso(now)}`);
  return step;
}

describe("a token's life", () => {
  test("stays for five and a half hours and names the moment it ends", () => {
    for (const age of [0, hour, 5.5 * hour - 1]) {
      expect(tokenStep(fresh, start + age, unused)).toEqual({ action: "keep", lookAgainAt: start + 5.5 * hour });
    }
  });

  test("then becomes the old one, and the third revokes the first", () => {
    const first = rotate(fresh, start + 5.5 * hour, "two");
    expect(tokens(first.secret)).toEqual(["two", "one"]);
    expect(first.revoked).toBeUndefined();
    expect(first.lookAgainAt).toBe(start + 11 * hour);
    expect(first.secret.metadata).toMatchObject({
      resourceVersion: "41",
      annotations: { [annotation.tokenGenerated]: "2031-01-01T05:30:00Z", [annotation.nodePool]: "clusters/workers" },
    });
    expect(secretText(first.secret, "config")).toBe("kept");
    expect(tokenStep(first.secret, start + 11 * hour - 1, unused).action).toBe("keep");
    const second = rotate(first.secret, start + 11 * hour, "three");
    expect(tokens(second.secret)).toEqual(["three", "two"]);
    expect(second.revoked).toBe("one");
  });

  test("is renewed at once when its time is missing, unreadable or far in the future", () => {
    for (const stamp of [undefined, "yesterday", iso(start + 6 * hour)]) {
      const value = secret(stamp === undefined ? {} : { [annotation.tokenGenerated]: stamp }, { token: "one" });
      expect(tokens(rotate(value, start, "two").secret)).toEqual(["two", "one"]);
    }
    for (const ahead of [60_000, hour, 5 * hour]) {
      const fromAnotherClock = secret({ [annotation.tokenGenerated]: iso(start + ahead) }, { token: "one" });
      expect(tokenStep(fromAnotherClock, start, unused).action).toBe("keep");
    }
  });

  test("an empty token is replaced and never kept as the old one", () => {
    const step = rotate(secret({ [annotation.tokenGenerated]: iso(start) }, { token: "" }), start + 1, "two");
    expect(tokens(step.secret)).toEqual(["two", undefined]);
    expect(() => tokenStep(fresh, start + 6 * hour, () => "")).toThrow("empty token");
  });

  test("ends with its Secret: passed or unreadable ends delete it, later ones are looked at in time", () => {
    const ends = (end: string) =>
      secret({ [annotation.tokenGenerated]: iso(start), [annotation.tokenExpires]: end }, { token: "one" });
    const gone = { action: "delete", resourceVersion: "41" };
    expect(tokenStep(ends(iso(start + hour)), start + hour, unused)).toEqual(gone);
    expect(tokenStep(ends("soon"), start, unused)).toEqual(gone);
    expect(tokenStep(ends(iso(start + hour)), start, unused)).toEqual({ action: "keep", lookAgainAt: start + hour });
    expect(rotate(ends(iso(start + 6 * hour)), start + 5.5 * hour, "two").lookAgainAt).toBe(start + 6 * hour);
  });

  test("gets its end once, two hours ahead", () => {
    const ending = withExpiry(fresh, start)!;
    expect(ending.metadata?.annotations?.[annotation.tokenExpires]).toBe("2031-01-01T02:00:00Z");
    expect(ending.metadata?.resourceVersion).toBe("41");
    expect(ending.data).toEqual(fresh.data);
    expect(withExpiry(ending, start + hour)).toBeUndefined();
  });
});

describe("the clean-up of Secrets", () => {
  const userData = secret({}, { value: "{}" }, "user-data-workers-11111111");
  const current = (hash: string) => secretNames("workers", hash);
  const gone = (value: Secret) => [{ verb: "delete", object: value }];
  const expire = [{ verb: "update", object: withExpiry(fresh, start) }];

  test.each<[string, Secret, WantedSecrets, unknown]>([
    ["a token of a pool that is gone", fresh, "no pool", gone(fresh)],
    ["user data of a pool that is gone", userData, "no pool", gone(userData)],
    ["a token whose cluster is gone", fresh, [], expire],
    ["user data whose cluster is gone", userData, [], gone(userData)],
    ["an outdated token", fresh, current("22222222"), expire],
    ["outdated user data", userData, current("22222222"), gone(userData)],
    ["the current token", fresh, current("11111111"), []],
    ["current user data", userData, current("11111111"), []],
    ["anything while the hash cannot be told", userData, undefined, []],
    ["a token that has its end already", withExpiry(fresh, start - hour)!, current("22222222"), []],
    ["another Secret with the annotation", secret({}, {}, "pull-secret"), "no pool", []],
    ["a Secret of nobody", { metadata: { name: "token-x" } }, "no pool", []],
  ])("judges %s", (_, value, wanted, writes) => {
    expect(cleanUpWrites(value, wanted, start)).toEqual(writes);
  });
});
