import { beforeEach, describe, expect, test } from "vitest";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { createTokenAuthenticator, type TokenReviewer, type TokenReviewStatus } from "./token-auth.js";

const HOUR_MS = 3_600_000;
const config = {
  namespace: "kube-system",
  serviceAccount: "konnectivity-agent",
  audience: "system:konnectivity-server",
};
const username = "system:serviceaccount:kube-system:konnectivity-agent";
const account = "kube-system/konnectivity-agent";
const accepted = { authenticated: true, user: { username }, audiences: [config.audience] };
const prefix = "Failed to validate authentication token, err:";

let clock: ManualClock;
let tokens: ReturnType<typeof authenticator>;
/** What the API server answers to a review. */
let status: TokenReviewStatus;
let failure: Error | undefined;
/** Tokens and audiences that the API server was asked about. */
let asked: { readonly token: string; readonly audiences: readonly string[] }[];

beforeEach(() => {
  status = accepted;
  failure = undefined;
  asked = [];
  clock = new ManualClock();
  tokens = authenticator(async (token, audiences) => {
    asked.push({ token, audiences });
    if (failure !== undefined) throw failure;
    return status;
  });
});

/** Every caller has a connection of its own. */
function authenticator(reviewer: TokenReviewer) {
  const made = createTokenAuthenticator(config, reviewer, { runtime: clock, qps: -1, burst: 0 });
  const sender = () => ({ connection: {}, remote: "10.0.0.1:1", signal: new AbortController().signal });
  return { authenticate: (values: readonly string[]) => made.authenticate(values, sender()) };
}

function jwt(expiresInMs: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part({ exp: (clock.date() + expiresInMs) / 1000 })}.signature`;
}

describe("token authentication", () => {
  test("has the API review the token for our audience", async () => {
    expect(await tokens.authenticate(["Bearer abc"])).toBe(account);
    expect(asked).toEqual([{ token: "abc", audiences: ["system:konnectivity-server"] }]);
  });

  test("tolerates the newline of a token file", async () => {
    await tokens.authenticate(["Bearer abc\n"]);
    expect(asked[0]!.token).toBe("abc");
  });

  test.each([
    [[], "Authentication context was not found in metadata"],
    [["Bearer a", "Bearer b", "Bearer c"], "too many (3) tokens are received"],
    [["bearer a"], 'received token does not have "Bearer " prefix'],
    [["a"], 'received token does not have "Bearer " prefix'],
  ])("refuses %j without asking anybody", async (values, message) => {
    await expect(tokens.authenticate(values)).rejects.toMatchObject({ code: "DB_AGENT_TOKEN", message });
    expect(asked).toEqual([]);
  });

  test.each([
    [{ error: "token expired", authenticated: true }, "lookup failed: service account jwt not valid"],
    [{ authenticated: false }, "lookup failed: service account jwt not valid"],
    [{}, "lookup failed: service account jwt not valid"],
    [{ ...accepted, user: { username: "system:node:n" } }, "lookup failed: unexpected username format"],
    [{ ...accepted, user: { username: `${username}:x` } }, "lookup failed: unexpected username format"],
    [{ ...accepted, user: {} }, "lookup failed: unexpected username format"],
    [{ ...accepted, user: { username: "a:b:c:d" } }, "lookup failed: username returned is not a service account"],
    [
      { ...accepted, user: { username: "system:serviceaccount:default:konnectivity-agent" } },
      'lookup failed: incoming request from "default" namespace. Expected "kube-system"',
    ],
    [
      { ...accepted, user: { username: "system:serviceaccount:kube-system:default" } },
      'lookup failed: incoming request from "default" service account. Expected "konnectivity-agent"',
    ],
    [
      { ...accepted, audiences: ["https://kubernetes.default.svc"] },
      'lookup failed: token is not meant for audience "system:konnectivity-server"',
    ],
    [{ ...accepted, audiences: [] }, 'lookup failed: token is not meant for audience "system:konnectivity-server"'],
    [
      { authenticated: true, user: { username } },
      'lookup failed: token is not meant for audience "system:konnectivity-server"',
    ],
  ])("passes a refusal on in upstream's words: %j", async (answer, why) => {
    status = answer;
    await expect(tokens.authenticate(["Bearer abc"])).rejects.toMatchObject({ message: prefix + why });
  });

  test("accepts one of several audiences", async () => {
    status = { ...accepted, audiences: ["other", config.audience] };
    await expect(tokens.authenticate(["Bearer abc"])).resolves.toBe(account);
  });

  test("refuses a token that is longer than any, without asking anybody", async () => {
    await expect(tokens.authenticate([`Bearer ${"x".repeat(16 * 1024 + 1)}`])).rejects.toThrow(/longer than 16384/);
    expect(asked).toEqual([]);
  });

  test("tells a stranger nothing of the API server when the review fails, and tries again next time", async () => {
    failure = new Error("tokenreviews is forbidden");
    const refused = await tokens.authenticate(["Bearer abc"]).catch((reason: unknown) => reason);
    expect(refused).toMatchObject({
      code: "DB_TOKEN_REVIEW",
      message: `${prefix}Failed to authenticate request`,
      cause: expect.objectContaining({ message: expect.stringContaining("tokenreviews is forbidden") }),
    });
    failure = undefined;
    await expect(tokens.authenticate(["Bearer abc"])).resolves.toBe(account);
  });

  test("has the code of what kept the API server from a review: the token is not to blame", async () => {
    failure = new DrawbridgeError("DB_API_FORBIDDEN", "tokenreviews is forbidden");
    await expect(tokens.authenticate(["Bearer abc"])).rejects.toMatchObject({
      code: "DB_API_FORBIDDEN",
      message: `${prefix}Failed to authenticate request`,
    });
  });

  test("keeps what the API server says of a bad token for the log", async () => {
    status = { error: "[invalid bearer token, no kind]", authenticated: false };
    await expect(tokens.authenticate(["Bearer abc"])).rejects.toMatchObject({
      message: `${prefix}lookup failed: service account jwt not valid`,
      cause: expect.objectContaining({ message: "[invalid bearer token, no kind]" }),
    });
  });
});

describe("remembered reviews of tokens", () => {
  const reviews = () => asked.length;

  test("spares the API a second review for a minute", async () => {
    const token = `Bearer ${jwt(3_600_000)}`;
    await tokens.authenticate([token]);
    clock.advance(59_999);
    await tokens.authenticate([token]);
    expect(reviews()).toBe(1);
    clock.advance(1);
    await tokens.authenticate([token]);
    expect(reviews()).toBe(2);
  });

  test.each([6, -6])("is as old as before when the host's clock is set by %i hours", async (hours) => {
    const token = `Bearer ${jwt(24 * HOUR_MS)}`;
    await tokens.authenticate([token]);
    clock.step(hours * HOUR_MS);
    clock.advance(59_999);
    await tokens.authenticate([token]);
    expect(reviews()).toBe(1);
    clock.advance(1);
    await tokens.authenticate([token]);
    expect(reviews()).toBe(2);
  });

  test("ends with the token when the host's clock is set to a time after it", async () => {
    const token = `Bearer ${jwt(HOUR_MS)}`;
    await tokens.authenticate([token]);
    clock.step(HOUR_MS);
    await tokens.authenticate([token]);
    expect(reviews()).toBe(2);
  });

  test("never outlives the token", async () => {
    const token = `Bearer ${jwt(10_000)}`;
    await tokens.authenticate([token]);
    clock.advance(9999);
    await tokens.authenticate([token]);
    expect(reviews()).toBe(1);
    clock.advance(1);
    status = { authenticated: false };
    await expect(tokens.authenticate([token])).rejects.toThrow(/jwt not valid/);
    expect(reviews()).toBe(2);
  });

  test("forgets a refusal after seconds", async () => {
    status = { authenticated: false };
    await expect(tokens.authenticate(["Bearer abc"])).rejects.toThrow();
    status = accepted;
    clock.advance(2999);
    await expect(tokens.authenticate(["Bearer abc"])).rejects.toThrow(/jwt not valid/);
    clock.advance(1);
    await expect(tokens.authenticate(["Bearer abc"])).resolves.toBe(account);
    expect(reviews()).toBe(2);
  });

  test("remembers the refusal of a token that has expired, too", async () => {
    status = { authenticated: false };
    const token = `Bearer ${jwt(-10_000)}`;
    for (let attempt = 0; attempt < 3; attempt++) await expect(tokens.authenticate([token])).rejects.toThrow();
    expect(reviews()).toBe(1);
  });

  test("asks once for many connections with the same token", async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => tokens.authenticate(["Bearer abc"])));
    expect(all).toHaveLength(50);
    expect(reviews()).toBe(1);
  });

  test("keeps different tokens apart", async () => {
    await tokens.authenticate(["Bearer good"]);
    status = { authenticated: false };
    await expect(tokens.authenticate(["Bearer bad"])).rejects.toThrow();
    await expect(tokens.authenticate(["Bearer good"])).resolves.toBe(account);
  });

  test("drops what was used longest ago when it is full", async () => {
    let asked = 0;
    const reviewer = async () => {
      asked++;
      return accepted;
    };
    const small = authenticator(reviewer);
    for (let n = 0; n < 4096; n++) await small.authenticate([`Bearer ${n}`]);
    await small.authenticate(["Bearer 0"]);
    await small.authenticate(["Bearer one too many"]);
    expect(asked).toBe(4097);
    await small.authenticate(["Bearer 0"]);
    expect(asked).toBe(4097);
    await small.authenticate(["Bearer 1"]);
    expect(asked).toBe(4098);
  });

  test("does not forget good tokens for bad ones", async () => {
    let asked = 0;
    const reviewer = async (token: string) => {
      asked++;
      return token === "good" ? accepted : { authenticated: false };
    };
    const crowded = authenticator(reviewer);
    await crowded.authenticate(["Bearer good"]);
    for (let n = 0; n < 5000; n++) await crowded.authenticate([`Bearer ${n}`]).catch(() => {});
    await crowded.authenticate(["Bearer good"]);
    expect(asked).toBe(5001);
  });
});
