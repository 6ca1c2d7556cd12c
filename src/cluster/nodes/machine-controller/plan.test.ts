import { describe, expect, test } from "vitest";
import { annotation, type Node } from "../objects.js";
import { MACHINES_ANNOTATION, type NodePool } from "../pool/node-pool.js";
import { NO_SHAPE } from "../providers/settings.js";
import { poolWith } from "../testing/pools.js";
import type { Worker } from "../workers/worker.js";
import { isImplausible, type PlanInput, planMachines, unhealthyWorkers } from "./plan.js";
import { foreignMachine, healthRuleOf, leftAlone, rollingRuleOf } from "./rules.js";

const now = Date.parse("2031-01-01T12:00:00Z");
const time = (minutesAgo: number) => new Date(now - minutesAgo * 60_000).toISOString();

const worker = (name: string, change: Partial<Worker> = {}): Worker => ({
  ...{ name, pool: "clusters/workers", zone: "", provider: "command", shape: NO_SHAPE, hash: "new", ips: [] },
  ...{ notBefore: time(60), deadline: time(-60), made: true, ownToken: true, createCommand: [], deleteCommand: [] },
  ...change,
});

const node = (status: "True" | "False" | "Unknown", minutesAgo = 60): Node => ({
  status: { conditions: [{ type: "Ready", status, lastTransitionTime: time(minutesAgo) }] },
});

const input = (change: Partial<PlanInput>): PlanInput => ({
  ...{ desired: 3, workers: [], nodes: new Map(), hash: "new", provider: "command", repaired: [] },
  rolling: { surge: 1, unavailable: 0, replaces: true },
  ...change,
});

const readyNodes = (workers: readonly Worker[]) => new Map(workers.map(({ name }) => [name, node("True")]));
const removed = (plan: ReturnType<typeof planMachines>) => plan.remove.map(({ name }) => name);

describe("the plan for a pool's machines", () => {
  test("makes what is missing, and finishes what has no machine yet", () => {
    const workers = [worker("w-0"), worker("w-1", { made: false })];
    const plan = planMachines(input({ workers, nodes: readyNodes(workers.slice(0, 1)) }));
    expect([plan.make, plan.unmade, plan.remove]).toEqual([1, ["w-1"], []]);
  });

  test("of too many removes what is not Ready, then what is behind, then the youngest", () => {
    const workers = ["w-0", "w-1", "w-2", "w-3"].map((name) => worker(name, name === "w-1" ? { hash: "old" } : {}));
    const nodes = readyNodes(workers).set("w-0", node("False"));
    const rolling = { surge: 1, unavailable: 0, replaces: false };
    const to = (desired: number) => removed(planMachines(input({ workers, nodes, rolling, desired })));
    expect([to(3), to(2), to(1), to(0)]).toEqual([
      ["w-0"],
      ["w-0", "w-1"],
      ["w-0", "w-1", "w-3"],
      ["w-0", "w-1", "w-3", "w-2"],
    ]);
  });

  test.each(
    [
      ...[1, 3, 5].flatMap((desired) =>
        [0, 1, 2].flatMap((surge) => [0, 1, 2].map((unavailable) => [desired, surge, unavailable] as const)),
      ),
    ].filter(([, surge, unavailable]) => surge + unavailable > 0),
  )(
    "replaces %i workers with surge %i and %i unavailable: never more, never fewer Ready, to the end",
    (desired, surge, unavailable) => {
      const rolling = { surge, unavailable, replaces: true };
      let workers = Array.from({ length: desired }, (_, index) => worker(`w-${index}`, { hash: "old" }));
      let next = desired;
      const nodes = readyNodes(workers);
      for (let round = 0; workers.some(({ hash }) => hash === "old"); round++) {
        expect(round).toBeLessThan(desired * 4);
        const plan = planMachines(input({ desired, workers, nodes, rolling }));
        for (let made = 0; made < plan.make; made++) workers.push(worker(`w-${next++}`));
        expect(workers.length).toBeLessThanOrEqual(desired + surge);
        for (const name of removed(plan)) nodes.delete(name);
        workers = workers.filter(({ name }) => !removed(plan).includes(name));
        expect(nodes.size).toBeGreaterThanOrEqual(desired - unavailable);
        // Every other round what was made becomes Ready.
        if (round % 2 === 1) for (const { name } of workers) nodes.set(name, node("True"));
      }
      for (const { name } of workers) nodes.set(name, node("True"));
      const { make, remove } = planMachines(input({ desired, workers, nodes, rolling }));
      expect([workers.length + make, remove.length]).toEqual([desired, 0]);
    },
  );

  test("replaces nothing where the pool's rule does not", () => {
    const workers = ["w-0", "w-1", "w-2"].map((name) => worker(name, { hash: "old" }));
    const rolling = { surge: 1, unavailable: 0, replaces: false };
    const plan = planMachines(input({ workers, nodes: readyNodes(workers), rolling }));
    expect([plan.make, plan.remove, plan.behind]).toEqual([0, [], ["w-0", "w-1", "w-2"]]);
  });

  test("goes on with a removal that was begun, once another node is Ready in its place", () => {
    const workers = ["w-0", "w-1", "w-2"].map((name) => worker(name, name === "w-0" ? { leaving: "removed" } : {}));
    const nodes = readyNodes(workers);
    const first = planMachines(input({ workers, nodes }));
    expect([first.make, removed(first)]).toEqual([1, []]);
    const more = [...workers, worker("w-3")];
    expect(removed(planMachines(input({ workers: more, nodes })))).toEqual([]);
    expect(removed(planMachines(input({ workers: more, nodes: readyNodes(more) })))).toEqual(["w-0"]);
    // Somebody wants one less: nothing is made for it.
    const fewer = planMachines(input({ desired: 2, workers, nodes }));
    expect([fewer.make, removed(fewer)]).toEqual([0, ["w-0"]]);
  });

  test("counts machines of other providers, and never removes one", () => {
    const workers = ["w-0", "w-1"].map((name) => worker(name, { provider: "none", hash: "old" }));
    const plan = planMachines(input({ desired: 0, workers, nodes: readyNodes(workers) }));
    expect([plan.make, plan.remove, plan.behind]).toEqual([0, [], []]);
  });

  test("removes what is repaired, and makes its successor afterwards", () => {
    const workers = ["w-0", "w-1", "w-2"].map((name) => worker(name));
    const nodes = readyNodes(workers).set("w-1", node("Unknown"));
    const plan = planMachines(input({ workers, nodes, repaired: ["w-1"] }));
    expect([plan.make, plan.remove]).toEqual([0, [{ name: "w-1", why: "it is not healthy" }]]);
    expect(planMachines(input({ workers: [workers[0]!, workers[2]!], nodes })).make).toBe(1);
  });
});

describe("health", () => {
  const rule = { timeoutMs: 16 * 60_000, startupMs: 20 * 60_000, maxUnhealthy: 2 };
  const look = (one: Worker, its: Node | undefined, missing?: number) =>
    unhealthyWorkers({
      ...{ workers: [one], now, rule, nodes: new Map(its === undefined ? [] : [[one.name, its]]) },
      missingSince: new Map(missing === undefined ? [] : [[one.name, now - missing * 60_000]]),
    }).unhealthy;

  test.each<[string, Worker, Node | undefined, number | undefined, boolean]>([
    ["Ready", worker("w"), node("True"), undefined, false],
    ["not Ready for 15 minutes", worker("w"), node("False", 15), undefined, false],
    ["not Ready for 16 minutes", worker("w"), node("False", 16), undefined, true],
    ["unknown for 16 minutes", worker("w"), node("Unknown", 16), undefined, true],
    ["without a word of its kubelet", worker("w"), {}, undefined, false],
    ["made 19 minutes ago, and no node", worker("w", { notBefore: time(19) }), undefined, undefined, false],
    ["made 20 minutes ago, and no node", worker("w", { notBefore: time(20) }), undefined, undefined, true],
    ["not made", worker("w", { made: false }), undefined, undefined, false],
    ["gone for 15 minutes", worker("w", { readyAt: time(50) }), undefined, 15, false],
    ["gone for 16 minutes", worker("w", { readyAt: time(50) }), undefined, 16, true],
    ["leaving", worker("w", { leaving: "removed" }), node("False"), undefined, false],
  ])("%s", (_, one, its, missing, isUnhealthy) => {
    expect(look(one, its, missing)).toEqual(isUnhealthy ? ["w"] : []);
  });

  test("counts against the limit whatever is not Ready, for however long", () => {
    const workers = ["a", "b", "c", "d"].map((name) => worker(name, { notBefore: time(1) }));
    const nodes = new Map([
      ["a", node("False", 60)],
      ["b", node("False", 1)],
      ["d", node("True")],
    ]);
    const seen = unhealthyWorkers({ workers, nodes, now, rule, missingSince: new Map() });
    expect(seen).toEqual({ unhealthy: ["a"], notReady: 3, isTooMany: true });
  });

  test("counts those whose removal takes its time, or nodes that fail two by two would all be removed", () => {
    const leaving = { leaving: "removed" } as const;
    const workers = [worker("a", leaving), worker("b", leaving), worker("c"), worker("d"), worker("e")];
    const nodes = new Map(workers.map(({ name }) => [name, node(name === "e" ? "True" : "Unknown")]));
    const seen = unhealthyWorkers({ workers, nodes, now, rule, missingSince: new Map() });
    expect(seen).toEqual({ unhealthy: ["c", "d"], notReady: 4, isTooMany: true });
  });

  test("is HyperShift's for platform None, and HyperShift's annotations change it", () => {
    const pool = poolWith({});
    expect(healthRuleOf(pool, 10)).toEqual(rule);
    const annotations = {
      [annotation.healthTimeout]: "8m",
      [annotation.startupTimeout]: "1h30m5s",
      [annotation.maxUnhealthy]: "45%",
    };
    expect(healthRuleOf({ ...pool, metadata: { annotations } }, 10)).toEqual({
      ...{ timeoutMs: 480_000, startupMs: 5_405_000, maxUnhealthy: 4 },
    });
    const wrong = { [annotation.healthTimeout]: "soon", [annotation.maxUnhealthy]: "most" };
    expect(healthRuleOf({ ...pool, metadata: { annotations: wrong } }, 10)).toEqual(rule);
  });
});

describe("the pool's rules", () => {
  const rolling = (replicas: number, maxSurge?: number | string, maxUnavailable?: number | string) =>
    rollingRuleOf(
      poolWith({
        replicas,
        management: {
          upgradeType: "Replace",
          replace: {
            rollingUpdate: {
              ...(maxSurge !== undefined && { maxSurge }),
              ...(maxUnavailable !== undefined && { maxUnavailable }),
            },
          },
        },
      }),
    );

  test("round surge up and unavailable down, and never leave both at 0", () => {
    expect(rolling(10)).toEqual({ surge: 1, unavailable: 0, replaces: true });
    expect(rolling(10, "25%", "25%")).toEqual({ surge: 3, unavailable: 2, replaces: true });
    expect(rolling(3, 0, "10%")).toEqual({ surge: 0, unavailable: 1, replaces: true });
    expect(rolling(3, "0%", "2")).toEqual({ surge: 0, unavailable: 2, replaces: true });
  });

  test("replace workers for Replace with RollingUpdate only", () => {
    const replaces = (management: NonNullable<NodePool["spec"]>["management"]) =>
      rollingRuleOf(poolWith(management === undefined ? {} : { management })).replaces;
    expect(replaces({ upgradeType: "Replace" })).toBe(true);
    expect(replaces({ upgradeType: "Replace", replace: { strategy: "OnDelete" } })).toBe(false);
    expect(replaces({ upgradeType: "InPlace" })).toBe(false);
  });

  const chosen = (change: Parameters<typeof poolWith>[0], value = "command") =>
    leftAlone(poolWith(change, { metadata: { annotations: { [MACHINES_ANNOTATION]: value } } }), "command", now);

  test("leave alone what did not ask for it, and what others scale", () => {
    expect(leftAlone(poolWith({}), "command", now)?.isQuiet).toBe(true);
    expect(chosen({})).toBeUndefined();
    expect(chosen({}, "gcloud")?.why).toContain("is another controller's");
    expect(chosen({}, "magic")?.why).toContain("is not known");
    expect(chosen({ platform: { type: "AWS" } })?.why).toContain("HyperShift makes its machines");
    expect(chosen({ autoScaling: { min: 1, max: 2 } })?.why).toContain("spec.autoScaling");
    for (const replicas of [null, -1, 1.5, "0"] as number[]) {
      expect(chosen({ replicas })?.why).toContain("spec.replicas");
    }
    expect(chosen({ pausedUntil: "true" })?.why).toContain("pausedUntil");
    expect(foreignMachine({ metadata: { annotations: { "cluster.x-k8s.io/machine": "m-1" } } })).toBe("m-1");
  });

  test.each([
    [10, 5, 10, false],
    [10, 4, 10, true],
    [1, 0, 1, true],
    [0, 0, 3, false],
    [3, 0, 0, false],
    [5, 2, 2, false],
  ])("of %i workers %i are left and %i are wanted", (before, seen, desired, isWrong) => {
    expect(isImplausible(before, seen, desired)).toBe(isWrong);
  });
});
