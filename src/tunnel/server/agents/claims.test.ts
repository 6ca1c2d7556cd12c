import { describe, expect, test } from "vitest";
import { parseIdentifiers } from "../../wire/identifiers.js";
import { type Principal, parseClaimRules } from "./claims.js";

const WORKER: Principal = { subject: "CN=worker-1,O=workers", issuer: "CN=node-signer", serviceAccount: "" };
const PLANE: Principal = { subject: "CN=plane", issuer: "CN=control-plane-signer", serviceAccount: "" };
const ACCOUNT: Principal = { subject: "", issuer: "", serviceAccount: "kube-system/konnectivity-agent" };

const RULES = parseClaimRules(
  {
    rules: [
      {
        match: { issuer: "CN=control-plane-signer" },
        mayClaim: ["ipv4=172.30.0.0/16", "host=*.svc", "cidr=172.30.0.0/16"],
      },
      { match: { subject: "CN=worker-*,O=workers" }, mayClaim: ["default-route", "ipv6=fd00::/64"] },
      { match: { serviceAccount: "kube-system/*" }, mayClaim: [] },
    ],
  },
  "claims.yaml",
);

const allowed = (principal: Principal, identifiers: string, rules = RULES) =>
  rules.refusal(principal, parseIdentifiers(identifiers)) === undefined;

describe("who may claim what", () => {
  test.each<[Principal, string, boolean]>([
    [PLANE, "ipv4=172.30.0.1", true],
    [PLANE, "ipv4=172.30.0.1&ipv4=172.31.0.1", false],
    [PLANE, "ipv4=db.internal", false],
    [PLANE, "ipv4=172.30.0.1/0", false],
    [PLANE, "host=webhook.svc", true],
    [PLANE, "host=webhook.svc.evil", false],
    [PLANE, "host=webhookXsvc", false],
    [PLANE, "host=172.30.0.1", false],
    [PLANE, "cidr=172.30.4.0/24", true],
    [PLANE, "cidr=172.0.0.0/8", false],
    [PLANE, "cidr=0.0.0.0/0", false],
    [PLANE, "default-route=true", false],
    [PLANE, "default-route=false", true],
    [PLANE, "", true],
    [WORKER, "default-route=true", true],
    [WORKER, "default-route=true&ipv6=fd00::7", true],
    [WORKER, "ipv6=fd00:0:0:1::7", false],
    [WORKER, "ipv4=10.0.0.1", false],
    [ACCOUNT, "", true],
    [ACCOUNT, "default-route=true", false],
    [{ subject: "CN=stranger", issuer: "CN=other", serviceAccount: "" }, "", false],
  ])("%o %s -> %s", (principal, identifiers, expected) => {
    expect(allowed(principal, identifiers)).toBe(expected);
  });

  test("agents with one certificate count as one in the choice only where their rule says so", () => {
    const rules = parseClaimRules(
      {
        rules: [
          { match: { subject: "CN=worker-*" }, mayClaim: [], countAsOne: true },
          { match: { serviceAccount: "kube-system/*" }, mayClaim: [] },
        ],
      },
      "claims.yaml",
    );
    expect([WORKER, PLANE, ACCOUNT].map((each) => rules.countsAsOne(each))).toEqual([true, false, false]);
  });

  test("the first rule that matches decides", () => {
    const rules = parseClaimRules(
      {
        rules: [
          { match: { subject: "*" }, mayClaim: [] },
          { match: { subject: "CN=plane" }, mayClaim: ["default-route"] },
        ],
      },
      "f",
    );
    expect(allowed(PLANE, "default-route=true", rules)).toBe(false);
  });

  test.each(["172.30.0.0/", "172.30.0.0/0x0", "172.30.0.0/ 0", "172.30.0.0/1e0"])(
    "a mistyped prefix %j never allows more than was meant",
    (prefix) => {
      let rules: ReturnType<typeof parseClaimRules>;
      try {
        rules = parseClaimRules({ rules: [{ match: { issuer: "*" }, mayClaim: [`ipv4=${prefix}`] }] }, "f");
      } catch {
        return;
      }
      expect(allowed(PLANE, "ipv4=8.8.8.8", rules)).toBe(false);
    },
  );
});

describe("the document of claim rules", () => {
  test.each<[unknown, string]>([
    [null, "rules"],
    [{ rules: {} }, "rules"],
    [{ rules: [{}] }, "rule 1 needs a `match`"],
    [{ rules: [{ match: {}, mayClaim: [] }] }, "rule 1 needs a `match`"],
    [{ rules: [{ match: { user: "x" }, mayClaim: [] }] }, "`user`"],
    [{ rules: [{ match: { subject: 1 }, mayClaim: [] }] }, "must be text"],
    [{ rules: [{ match: { subject: "x" } }] }, "`mayClaim`"],
    [{ rules: [{ match: { subject: "x" }, mayClaim: ["ip=1"] }] }, "no identifier"],
    [{ rules: [{ match: { subject: "x" }, mayClaim: ["host="] }] }, "no identifier"],
  ])("%j is refused, naming the fault", (document, words) => {
    expect(() => parseClaimRules(document, "claims.yaml")).toThrow(
      expect.objectContaining({ code: "DB_CLAIMS_FILE", message: expect.stringContaining(words) }),
    );
  });
});

describe("what a rule may claim exclusively", () => {
  const mayClaim = ["ipv4=10.0.0.1", "ipv6=fd00::/64", "cidr=172.30.0.0/16", "host=*.internal", "default-route"];
  const rulesWith = (exclusive: unknown) =>
    parseClaimRules({ rules: [{ match: { issuer: "CN=x" }, mayClaim, exclusive }] }, "claims.yaml");

  test.each([
    ["10.0.0.1", true],
    ["::ffff:10.0.0.1", true],
    ["10.0.0.2", false],
    ["fd00::7", true],
    ["fd01::7", false],
    ["172.30.9.9", true],
    ["172.31.9.9", false],
    ["db.internal", true],
    ["internal", false],
  ])("%s: %s", (host, reserved) => {
    expect(rulesWith(true).reserves(host)).toBe(reserved);
    expect(rulesWith(false).reserves(host)).toBe(false);
    expect(rulesWith(undefined).reserves(host)).toBe(false);
  });

  test("anything but yes and no is a mistake", () => {
    expect(() => rulesWith("yes")).toThrow(/rule 1: `exclusive` must be true or false/);
    // YAML reads `exclusive:` without a value as null.
    expect(() => rulesWith(null)).toThrow(/rule 1: `exclusive` must be true or false/);
  });
});
