import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PoolStatus } from "../../../cluster/nodes/controller/status.js";
import { type DecisionEntry, decide } from "../../../cluster/nodes/csr/decide.js";
import type { Condition } from "../../../cluster/nodes/pool/node-pool.js";
import { startTime } from "../../../cluster/nodes/testing/pools.js";
import { clusterState, inventoryOf, pool, signingRequest, worker } from "../../../cluster/nodes/testing/requests.js";
import { endOfDecisionLog, pendingDecision, settledDecision, withLog } from "./decisions.js";
import { claimInfos, poolInfo } from "./pools.js";
import { keepToken } from "./token.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "db-page-nodes-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const condition = (type: string, status: Condition["status"], message = ""): Condition => ({
  ...{ type, status, reason: "Because", message, lastTransitionTime: "2031-01-01T00:00:00Z" },
});

const poolStatus = (change: Partial<PoolStatus> = {}): PoolStatus => ({
  ...{ name: pool, cluster: "demo", replicas: 2, version: "4.18.0", hash: "abc", ready: true, userDataSecret: "u" },
  conditions: [condition("ValidMachineConfig", "True")],
  tokens: [
    {
      ...{ secret: "token-workers-abc", current: true, generated: "2031-01-01T00:00:00Z", expires: "" },
      ...{ reached: false, payload: "AsExpected" },
    },
  ],
  ...change,
});

const nobody = { inventory: undefined, memory: undefined };

describe("a pool on the page", () => {
  test("has its numbers, and the time of its token's rotation", () => {
    expect(poolInfo(poolStatus(), nobody)).toEqual({
      ...{ name: pool, cluster: "demo", version: "4.18.0", replicas: 2, hash: "abc", ready: true },
      ...{ tokenMadeAt: Date.UTC(2031, 0), tokenRotatesAt: Date.UTC(2031, 0, 1, 5, 30), payload: "AsExpected" },
      troubles: [],
    });
  });

  test("names the conditions that are not as they should be, and no others", () => {
    const conditions = [
      condition("ValidMachineConfig", "False", "x".repeat(2_000)),
      condition("UpdatingConfig", "False"),
      condition("IgnitionEndpointAvailable", "False"),
    ];
    const { troubles } = poolInfo(poolStatus({ conditions, ready: false }), nobody);
    expect(troubles).toEqual([
      { type: "ValidMachineConfig", message: "x".repeat(500), sinceAt: Date.UTC(2031, 0) },
      { type: "IgnitionEndpointAvailable", message: "Because", sinceAt: Date.UTC(2031, 0) },
    ]);
  });

  test("says that no controller has looked at it, and has no token before one did", () => {
    const info = poolInfo(poolStatus({ conditions: [], tokens: [], hash: "" }), nobody);
    expect(info.troubles).toEqual([{ type: "", message: "no controller has looked at it yet" }]);
    expect(info).not.toHaveProperty("tokenRotatesAt");
  });

  test("counts who is expected, who fetched and who joined", () => {
    const workers = ["w0", "w1", "w2", "w3"].map((name) => ({ ...worker, name, joined: name === "w3" }));
    const claims = [
      { pool, worker: "w0", at: 1 },
      { pool, worker: "w0", at: 2 },
      { pool: "other/pool", worker: "w1", at: 2 },
      { pool, at: 3 },
    ];
    const memory = new Map([
      ["w0", { pool, joinedAt: 5 }],
      ["w1", { pool, joinedAt: 5, goneSince: 6 }],
    ]);
    const info = poolInfo(poolStatus(), { inventory: inventoryOf(workers, { claims }), memory });
    expect(info.workers).toEqual({ expected: 4, fetched: 1, joined: 2 });
  });
});

describe("claims", () => {
  test("are the newest, newest first, and as many as a page can show", () => {
    const claims = Array.from({ length: 250 }, (_, at) => ({ pool, at, ...(at % 2 ? { worker: `w${at}` } : {}) }));
    const shown = claimInfos({ claims });
    expect(shown.claims).toHaveLength(100);
    expect(shown.leftOut).toBe(150);
    expect(shown.claims.slice(0, 2)).toEqual([
      { pool, at: 249, worker: "w249" },
      { pool, at: 248 },
    ]);
  });
});

describe("decisions", () => {
  test("about pending requests are what an approver would do, and why", async () => {
    const request = await signingRequest("client", { spec: { username: "mallory" } });
    const decision = await decide(request, clusterState("client"));
    expect(pendingDecision(request, decision!)).toMatchObject({
      ...{ request: "csr-client", node: "w0", pool, user: "mallory", kind: "client", outcome: "pending" },
      ...{ would: "leave", rule: "bootstrap-identity", at: startTime + 60_000, why: decision?.explanation },
    });
  });

  test("about settled requests have the reason of whoever decided", async () => {
    const settled = async (type: string, message: string) => {
      const conditions = [{ type, status: "True", message, lastUpdateTime: "2031-01-01T00:00:00Z" }];
      return settledDecision(await signingRequest("client", { status: { conditions } }), "w0");
    };
    const denied = await settled("Denied", "drawbridge: it asks for too much (rule subject-group)");
    expect(denied).toMatchObject({ outcome: "denied", why: "it asks for too much", rule: "subject-group" });
    expect(denied.at).toBe(Date.UTC(2031, 0));
    const approved = await settled("Approved", "drawbridge: w0 is expected");
    expect(approved).toMatchObject({ outcome: "approved", why: "w0 is expected", kind: "client" });
    expect(approved.rule).toBeUndefined();
    expect(await settled("Approved", "This CSR was approved by kubectl.")).toMatchObject({
      why: "This CSR was approved by kubectl.",
    });
    expect((await settled("Failed", "")).why).toBe("no reason was given");
    expect(JSON.stringify(denied)).not.toContain("CERTIFICATE");
  });

  const entry = (
    request: string,
    action: DecisionEntry["action"],
    more: Partial<DecisionEntry> = {},
  ): DecisionEntry => ({
    ...{ at: "2031-01-01T00:00:00.000Z", by: "leader", action, rule: "expected", explanation: "nobody expects it" },
    ...{ request, uid: "", signer: "", user: "u", node: "w9", pool: "", ...more },
  });

  test("are joined with the log, which has who decided and the deleted requests", async () => {
    const conditions = [{ type: "Denied", status: "True", message: "m", lastUpdateTime: "2031-01-02T00:00:00Z" }];
    const known = settledDecision(await signingRequest("client", { status: { conditions } }), "w0");
    const all = withLog([known], [entry("csr-client", "deny", { pool }), entry("a", "leave"), entry("b", "approve")]);
    expect(all.map(({ request, outcome, by }) => `${request} ${outcome} ${by}`)).toEqual([
      "csr-client denied leader",
      "a gone leader",
      "b approved leader",
    ]);
    expect(all[0]).toMatchObject({ pool, why: "m" });
    // A log that says otherwise is about another request of that name.
    expect(withLog([known], [entry("csr-client", "approve")])[0]).not.toHaveProperty("by");
  });

  test("are read from the end of a log, whatever else is in it", async () => {
    const file = join(folder, "log.jsonl");
    expect(await endOfDecisionLog(file)).toEqual([]);
    const long = JSON.stringify(entry("old", "leave", { explanation: "x".repeat(300_000) }));
    const newest = JSON.stringify(entry("new", "deny"));
    writeFileSync(file, `${long}\nnonsense\n{"request": 5}\n${newest}\n{"at": "cut off in the midd`);
    expect((await endOfDecisionLog(file)).map(({ request }) => request)).toEqual(["new"]);
    await expect(endOfDecisionLog(join(file, "below"))).rejects.toMatchObject({ code: "DB_CSR_LOG" });
    await expect(endOfDecisionLog(folder)).rejects.toMatchObject({ code: "DB_CSR_LOG" });
  });
});

describe("the page's token", () => {
  test("is made once, for its owner only, and an existing one is kept", async () => {
    const path = join(folder, "made", "token");
    expect(await keepToken(path)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "made")).mode & 0o777).toBe(0o700);
    expect(await keepToken(path)).toBe(false);
    writeFileSync(path, "\n");
    const sentence = expect.stringMatching(/^The token file .*token cannot be used: it is empty\.$/);
    const refused = (failure: object) => ({
      code: "DB_ADMIN_TOKEN_FILE",
      remedy: expect.stringMatching(/ --token-file/),
      ...failure,
    });
    await expect(keepToken(path)).rejects.toMatchObject(refused({ message: sentence }));
    await expect(keepToken(folder)).rejects.toMatchObject(
      refused({ message: expect.stringContaining("it is a directory") }),
    );
    await expect(keepToken(join(path, "below"))).rejects.toMatchObject(refused({}));
  });
});
