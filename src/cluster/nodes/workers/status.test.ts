import { describe, expect, test } from "vitest";
import type { Node } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { NO_SHAPE } from "../providers/settings.js";
import { type PoolSnapshot, poolReport, workerStatus } from "./status.js";
import type { Worker } from "./worker.js";

const now = Date.parse("2031-01-01T00:30:00Z");

const worker: Worker = {
  ...{ name: "w-0", zone: "", pool: "c/p", provider: "none", hash: "01234567", ips: [], made: true, ownToken: true },
  ...{ createCommand: [], deleteCommand: [], notBefore: "2031-01-01T00:00:00Z", deadline: "2031-01-01T02:00:00Z" },
  shape: NO_SHAPE,
};

const pool: NodePool = { metadata: { name: "p", namespace: "c" }, spec: { nodeLabels: { tier: "front" } } };
const snapshot: PoolSnapshot = { pool, hash: "01234567", nodes: new Map(), requests: new Map(), claims: [], now };
const good: Node = {
  metadata: { name: "w-0", labels: { tier: "front" } },
  status: { conditions: [{ type: "Ready", status: "True" }] },
};
const withNode = (node: Node): Partial<PoolSnapshot> => ({ nodes: new Map([["w-0", node]]) });
const ready = (status: string, reason = "", message = ""): Partial<PoolSnapshot> =>
  withNode({ ...good, status: { conditions: [{ type: "Ready", status, reason, message }] } });
const requested = (outcome: "pending" | "approved" | "denied" | "failed"): Partial<PoolSnapshot> => ({
  requests: new Map([["w-0", { name: "csr-1", outcome }]]),
});
const reached: NodePool = {
  ...pool,
  status: {
    conditions: [{ type: "ReachedIgnitionEndpoint", status: "True", reason: "", message: "", lastTransitionTime: "" }],
  },
};

describe("the problem of a worker", () => {
  test.each<[string, Partial<Worker>, Partial<PoolSnapshot>, string, string]>([
    ["being replaced", { leaving: "replaced" }, {}, "is being replaced", "workers replace w-0"],
    ["being removed", { leaving: "removed" }, {}, "is being removed", "workers scale"],
    ["never made", { made: false }, {}, "its machine was not made", "create or up"],
    ["silent", {}, {}, "nobody has seen it fetch", "workers doctor"],
    [
      "silent, with the pool's token, of a pool that was fetched",
      { ownToken: false },
      { pool: reached },
      "no node and no certificate request yet; c/p was fetched by some machine",
      "workers doctor",
    ],
    ["silent, of a pool that was fetched, but by others", {}, { pool: reached }, "nobody has seen it fetch", "doctor"],
    [
      "fetched",
      {},
      { claims: [{ pool: "c/p", worker: "w-0", at: now - 1000 }] },
      "it fetched its configuration, and has asked for no certificate yet",
      "workers doctor",
    ],
    [
      "fetched, as its Worker says where claims are in another cluster than pools",
      { served: "01234567" },
      {},
      "it fetched its configuration, and has asked for no certificate yet",
      "workers doctor",
    ],
    [
      "fetched by an earlier machine of its name only",
      {},
      { claims: [{ pool: "c/p", worker: "w-0", at: Date.parse("2030-12-31T00:00:00Z") }] },
      "nobody has seen it fetch",
      "workers doctor",
    ],
    ["pending", {}, requested("pending"), "certificate request csr-1 is pending", "csr explain csr-1"],
    ["denied", {}, requested("denied"), "csr-1 was denied", "csr explain csr-1"],
    ["refused by the signer", {}, requested("failed"), "csr-1 was failed", "csr explain csr-1"],
    ["let in", {}, requested("approved"), "got its certificate (csr-1), and no node", "workers doctor"],
    [
      "too late",
      {},
      { now: Date.parse("2031-01-01T02:00:01Z") },
      "the time for its first certificate ended at 2031-01-01T02:00:00Z",
      "workers userdata w-0 --renew",
    ],
    [
      "NotReady",
      {},
      ready("False", "KubeletNotReady", "no network"),
      "not Ready: KubeletNotReady: no network",
      "doctor",
    ],
    ["lost", {}, ready("Unknown"), "its node is not Ready: Ready is Unknown", "doctor"],
    ["mute", {}, withNode({ metadata: { name: "w-0" } }), "its kubelet has reported nothing yet", "doctor"],
    ["cordoned", {}, withNode({ ...good, spec: { unschedulable: true } }), "is cordoned", "kubectl uncordon w-0"],
    ["bare", {}, withNode({ ...good, metadata: { name: "w-0" } }), "its node lacks label tier=front", "workers up"],
  ])("%s", (_, change, seen, what, remedy) => {
    const { problem } = workerStatus({ ...worker, ...change }, { ...snapshot, ...seen });
    expect(problem?.message).toContain(what);
    expect(problem?.remedy).toContain(remedy);
  });

  test("is undefined when nothing is missing, also when requests may not be listed", () => {
    expect(workerStatus(worker, { ...snapshot, ...withNode(good), requests: undefined })).toEqual({
      ...{ name: "w-0", made: true, fetched: "yes", registered: true, ready: true, labelled: true },
      ...{ configuration: "current", problem: undefined },
    });
  });
});

describe("a pool", () => {
  const condition = (type: string, status: "True" | "False", message = "") => ({
    ...{ type, status, message, reason: "Why", lastTransitionTime: "" },
  });
  const report = (hash: string, ...conditions: ReturnType<typeof condition>[]) =>
    poolReport("c/p", { hash, pool: { ...pool, status: { conditions } } }).problems.map(({ message }) => message);

  test("complains of what is wrong, and not of what is always so without machines", () => {
    const usual = ["AutoscalingEnabled", "AllMachinesReady", "AllNodesHealthy", "UpdatingConfig"];
    expect(
      report("h", ...usual.map((type) => condition(type, "False")), condition("ValidArchPlatform", "True")),
    ).toEqual([]);
    expect(report("h", condition("ValidMachineConfig", "False", "no such file"))).toEqual([
      "ValidMachineConfig is False: no such file",
    ]);
  });

  test("without a configuration says so, unless a condition says why", () => {
    expect(report("")).toEqual(["it has no configuration yet"]);
    expect(report("", condition("ValidReleaseImage", "False"))).toEqual(["ValidReleaseImage is False: Why"]);
  });
});
