import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { TokenStore } from "../../ignition/server/tokens.js";
import { annotation, encoded, type Secret } from "../objects.js";
import type { ComposedPayload } from "../payload/compose.js";
import type { WorkerObject, WorkerSpec } from "../workers/resource.js";
import { WORKER_TOKENS_ANNOTATION, WorkerTokens } from "./worker-tokens.js";

const pool = "clusters/workers";
const made: ComposedPayload = { text: "{}", named: { before: "before ", after: " after" } };
const tokenOf = (worker: string) => `${worker}-1234567890abcdef`;

function secret(tokens: Readonly<Record<string, string>>, name = "workers"): [string, Secret] {
  const data = Object.fromEntries(Object.entries(tokens).map(([worker, token]) => [worker, encoded(token)]));
  const annotations = { [WORKER_TOKENS_ANNOTATION]: "true", [annotation.nodePool]: pool };
  return [`ns/${name}`, { metadata: { name, namespace: "ns", annotations }, data }];
}

describe("workers with a token of their own", () => {
  let dir: string;
  let errors: string[];
  let current: { secret: string; made: ComposedPayload } | undefined;
  let tokens: TokenStore;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "drawbridge-workers-"));
    errors = [];
    current = { secret: "token-workers-1", made };
    tokens = new TokenStore();
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const workers = (file = "") =>
    new WorkerTokens({
      ...{ tokens, file },
      pools: { currentOf: (of) => (of === pool ? current : undefined) },
      onError: (sentence) => errors.push(sentence),
    });

  test("get the pool's payload with their name in it, for as long as they are listed", () => {
    const all = workers();
    all.changed(new Map([secret({ "w-1": tokenOf("w-1"), "w-2": tokenOf("w-2") })]));
    const grant = tokens.find(tokenOf("w-1"));
    expect(grant).toMatchObject({ pool, worker: "w-1", secret: "token-workers-1" });
    expect(Buffer.concat(grant?.payload().pieces ?? []).toString()).toBe(`before ${encoded("w-1\n")} after`);
    all.changed(new Map([secret({ "w-2": tokenOf("w-2") })]));
    expect([tokens.find(tokenOf("w-1")), tokens.find(tokenOf("w-2"))?.worker]).toEqual([undefined, "w-2"]);
    all.changed(new Map());
    expect(tokens.size).toBe(0);
  });

  describe("end", () => {
    const start = Date.parse("2031-01-01T00:00:00Z");
    let now: number;
    const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
    const listed = (ends: string) => new Map([secret({ "w-1": `${tokenOf("w-1")} ${ends}` })]);
    const worker = (change: Partial<WorkerSpec>, status: WorkerObject["status"] = {}) =>
      new Map([
        ["ns/w-1", { metadata: { name: "w-1" }, spec: { pool, deadline: at(60), ...change }, status }],
      ]) as ReadonlyMap<string, WorkerObject>;
    let all: WorkerTokens;

    beforeEach(() => {
      now = start;
      tokens = new TokenStore(() => now);
      all = new WorkerTokens({
        ...{ tokens, file: "", now: () => now, onError: (sentence: string) => errors.push(sentence) },
        pools: { currentOf: () => current },
      });
      all.changed(listed(at(60)));
    });
    const isGood = () => tokens.find(tokenOf("w-1")) !== undefined;

    test("when the window closes, and are good again when it is opened again", () => {
      now = start + 59 * 60_000;
      expect(isGood()).toBe(true);
      now = start + 60 * 60_000;
      expect(isGood()).toBe(false);
      all.admit();
      expect(isGood()).toBe(false);
      all.changed(listed(at(120)));
      expect(isGood()).toBe(true);
    });

    test("when the worker's node is Ready, until it is installed again", () => {
      all.workersChanged(worker({}));
      expect(isGood()).toBe(true);
      all.workersChanged(worker({}, { readyAt: at(5) }));
      expect(isGood()).toBe(false);
      all.workersChanged(worker({ reinstalled: at(10) }, { readyAt: at(5) }));
      expect(isGood()).toBe(true);
      all.workersChanged(worker({ reinstalled: at(10) }, { readyAt: at(15), installation: at(10) }));
      expect(isGood()).toBe(false);
    });

    test("when the worker is removed", () => {
      all.workersChanged(worker({ removed: at(1) }));
      expect(isGood()).toBe(false);
    });

    test("without a look at the tokens of Workers that have not changed", () => {
      all.changed(new Map([secret({ "w-1": tokenOf("w-1"), "w-2": tokenOf("w-2"), "w-3": tokenOf("w-3") })]));
      const [[, one]] = [...worker({})] as [[string, WorkerObject]];
      const called = (name: string) => ({ ...one, metadata: { name } });
      const before = ["w-1", "w-2", "w-3"].map((name) => [`ns/${name}`, called(name)] as const);
      all.workersChanged(new Map(before));
      const looks = vi.spyOn(tokens, "revoke");
      const ready = { ...called("w-2"), status: { readyAt: at(5) } };
      all.workersChanged(new Map([...before, ["ns/w-2", ready]]));
      expect(looks.mock.calls).toEqual([[tokenOf("w-2")]]);
      const goodOnes = () => ["w-1", "w-2", "w-3"].filter((name) => tokens.find(tokenOf(name)) !== undefined);
      expect(goodOnes()).toEqual(["w-1", "w-3"]);
      // A Worker that is deleted says nothing more about its token.
      all.workersChanged(new Map(before.filter(([key]) => key !== "ns/w-2")));
      expect(goodOnes()).toEqual(["w-1", "w-2", "w-3"]);
    });

    test("with the Worker's window where the list has no end, as lists of before", () => {
      all.changed(new Map([secret({ "w-1": tokenOf("w-1") })]));
      all.workersChanged(worker({}));
      expect(isGood()).toBe(true);
      now = start + 61 * 60_000;
      expect(isGood()).toBe(false);
    });
  });

  test("wait while their pool has no payload", () => {
    current = undefined;
    const all = workers();
    all.changed(new Map([secret({ "w-1": tokenOf("w-1") })]));
    expect(tokens.size).toBe(0);
    current = { secret: "token-workers-2", made };
    all.admit();
    expect(tokens.find(tokenOf("w-1"))?.secret).toBe("token-workers-2");
  });

  test("a list that breaks stays as it was, and no token is in what is said about it", () => {
    const all = workers();
    all.changed(new Map([secret({ "w-1": tokenOf("w-1") })]));
    all.changed(new Map([secret({ "w-1": "short-secret", "w-2": tokenOf("w-2") })]));
    expect([tokens.find(tokenOf("w-1"))?.worker, tokens.find(tokenOf("w-2"))]).toEqual(["w-1", undefined]);
    expect(errors).toEqual(["the Secret ns/workers has a token for w-1 that is shorter than 16 characters"]);
  });

  test("a pool's own tokens are left alone", () => {
    tokens.admit("pool-token", { payload: () => tokens.find("x")!.payload(), secret: "token-workers-1", pool });
    workers().changed(new Map());
    expect(tokens.find("pool-token")).toBeDefined();
  });

  test.each([
    ["no name of a node", secret({ "W 1": tokenOf("w-1") })[1], 'has the worker "W 1"'],
    [
      "no pool",
      { metadata: { annotations: { [WORKER_TOKENS_ANNOTATION]: "" } } },
      "does not say whose workers these are",
    ],
  ])("%s is refused", (_, broken, sentence) => {
    workers().changed(new Map([["ns/x", broken]]));
    expect(errors[0]).toContain(sentence);
  });

  test("are read from a file, too, and again when it changes", async () => {
    const file = join(dir, "workers.yaml");
    const all = workers(file);
    await all.readFile();
    expect(errors).toHaveLength(1);
    writeFileSync(
      file,
      `pool: ${pool}\nworkers: {w-1: ${tokenOf("w-1")}}\n---\npool: a/b\nworkers: {w-9: ${tokenOf("w-9")}}\n`,
    );
    await all.readFile();
    expect([tokens.find(tokenOf("w-1"))?.worker, tokens.find(tokenOf("w-9"))]).toEqual(["w-1", undefined]);
    all.changed(new Map());
    expect(tokens.size).toBe(1);
    writeFileSync(file, `pool: ${pool}\nworkers: {w-1: [${tokenOf("w-1")}\n`);
    await all.readFile();
    expect([tokens.size, errors.at(-1)]).toEqual([1, `${file} cannot be used: line 3 is not YAML`]);
  });
});
