import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { annotation, encoded, FINALIZER, type Secret, secretText } from "../objects.js";
import { afterWrites, cluster, makeInput, pool, poolWith, startTime } from "../testing/pools.js";
import type { PassInput, PoolCluster } from "./input.js";
import { MACHINES_ANNOTATION, type NodePool } from "./node-pool.js";
import { type ReconcileResult, reconcile } from "./reconcile.js";

const now = startTime;
const hour = 3_600_000;
const withCluster = (change: Partial<PoolCluster>): Partial<PassInput> => ({ cluster: { ...cluster, ...change } });
const run = (change: Partial<PassInput> = {}, at = now) => reconcile(makeInput(change), at);

function brief({ conditions }: ReconcileResult): string[] {
  return conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}

function about(result: ReconcileResult, type: string) {
  return result.conditions.find((condition) => condition.type === type);
}

function verbs({ writes }: ReconcileResult): string[] {
  return writes.map(({ verb, object }) => `${verb} ${object.kind ?? ""} ${object.metadata?.name}`);
}

const healthy = [
  "AutoscalingEnabled=False/AsExpected",
  "UpdateManagementEnabled=True/AsExpected",
  "ValidArchPlatform=True/AsExpected",
  "ReconciliationActive=True/ReconciliationActive",
  "ValidMachineConfig=True/AsExpected",
];

describe("a healthy pool", () => {
  test("leaves the conditions of machines, and whether they are updated, to a machine controller that it names", () => {
    const condition = {
      status: "False" as const,
      reason: "Said",
      message: "so",
      lastTransitionTime: "2030-01-01T00:00:00Z",
    };
    const conditions = ["Ready", "AllMachinesReady", "AllNodesHealthy", "AutorepairEnabled", "UpdatingConfig"].map(
      (type) => ({ type, ...condition }),
    );
    const annotations = { [MACHINES_ANNOTATION]: "command" };
    const named = { ...pool, metadata: { ...pool.metadata, annotations }, status: { replicas: 2, conditions } };
    expect(run({ pool: named }).conditions.slice(0, conditions.length)).toEqual(conditions);
  });

  test("gets its Secrets in the first pass, and every condition in order", () => {
    const result = run();
    expect(result.stopped).toBeUndefined();
    expect(brief(result)).toEqual([
      ...healthy,
      "UpdatingConfig=True/AsExpected",
      "UpdatingVersion=True/AsExpected",
      "ValidGeneratedPayload=False/NotFound",
      "ReachedIgnitionEndpoint=False/NotFound",
      "ValidPlatformConfig=True/AsExpected",
    ]);
    expect(verbs(result)).toEqual([
      "create Secret token-workers-83935368",
      "create Secret user-data-workers-83935368",
      "update NodePool workers",
    ]);
    expect(result.version).toBe("4.18.0");
    expect(result.writes[2]?.object.metadata).toMatchObject({
      resourceVersion: "7",
      annotations: {
        "hypershift.openshift.io/nodePoolCurrentConfig": "0db5756d",
        "hypershift.openshift.io/nodePoolCurrentConfigVersion": "83935368",
      },
    });
  });

  test("is updating for exactly one pass, and then nothing is written any more", () => {
    let input = afterWrites(makeInput(), run());
    const second = reconcile(input, now + 60_000);
    expect(second.writes).toEqual([]);
    expect(brief(second)).toContain("UpdatingConfig=False/AsExpected");
    expect(brief(second)).toContain("UpdatingVersion=False/AsExpected");
    expect(about(second, "ValidGeneratedPayload")).toMatchObject({
      status: "Unknown",
      message: "Unable to get status data from token secret",
    });
    expect(about(second, "ReachedIgnitionEndpoint")).toMatchObject({ status: "False", reason: "ignitionNotReached" });
    input = afterWrites(input, second);
    expect(reconcile(input, now + 120_000).writes).toEqual([]);
  });

  test("moves the time of transition only with the status", () => {
    const input = afterWrites(makeInput(), run());
    const later = reconcile(input, now + hour);
    expect(about(later, "UpdatingConfig")).toMatchObject({
      lastTransitionTime: "2031-01-01T01:00:00Z",
      observedGeneration: 2,
    });
    expect(about(later, "ReachedIgnitionEndpoint")?.lastTransitionTime).toBe("2031-01-01T00:00:00Z");
  });

  test("follows what the Ignition server writes into the token Secret", () => {
    const input = afterWrites(makeInput(), run());
    const told = (reason: string, message: string, reached = false): PassInput => ({
      ...input,
      secrets: input.secrets.map((secret) => ({
        ...secret,
        metadata: {
          ...secret.metadata,
          annotations: {
            ...secret.metadata?.annotations,
            ...(reached ? { [annotation.ignitionReached]: "True" } : {}),
          },
        },
        data: { ...secret.data, reason: encoded(reason), message: encoded(message) },
      })),
    });
    const fine = reconcile(told("AsExpected", "Payload generated successfully", true), now);
    expect(about(fine, "ValidGeneratedPayload")).toMatchObject({
      status: "True",
      message: "Payload generated successfully",
    });
    expect(about(fine, "ReachedIgnitionEndpoint")?.status).toBe("True");
    const broken = reconcile(told("InvalidConfig", "no such thing"), now);
    expect(about(broken, "ValidGeneratedPayload")).toMatchObject({
      status: "False",
      reason: "InvalidConfig",
      message: "no such thing",
    });
  });

  test("rewrites user data, and nothing else, when the token was rotated", () => {
    const input = afterWrites(makeInput(), run());
    const secrets = input.secrets.map((secret) =>
      secret.metadata?.name?.startsWith("token")
        ? { ...secret, data: { ...secret.data, token: encoded("rotated") } }
        : secret,
    );
    const result = reconcile({ ...input, secrets }, now);
    expect(verbs(result)).toEqual(["update Secret user-data-workers-83935368"]);
    const [write] = result.writes;
    expect(secretText(write!.object as Secret, "value")).toContain(encoded("rotated"));
    expect(write!.object.metadata?.resourceVersion).toBe("50");
  });

  test("leaves user data alone while its token is empty", () => {
    const input = afterWrites(makeInput(), run());
    const secrets = input.secrets.map((secret) => ({ ...secret, data: { ...secret.data, token: "" } }));
    expect(reconcile({ ...input, secrets }, now).writes).toEqual([]);
  });
});

describe("a change of configuration", () => {
  const settled = afterWrites(afterWrites(makeInput(), run()), reconcile(afterWrites(makeInput(), run()), now));
  const changed: PassInput = {
    ...settled,
    release: { version: "4.18.1", arch: "multi" },
  };

  test("ends the old token in two hours, takes the old user data away, and makes new ones", () => {
    const result = reconcile(changed, now);
    const hash = verbs(result)[2]!.slice(-8);
    expect(verbs(result)).toEqual([
      "update Secret token-workers-83935368",
      "delete Secret user-data-workers-83935368",
      `create Secret token-workers-${hash}`,
      `create Secret user-data-workers-${hash}`,
      "update NodePool workers",
    ]);
    expect(result.writes[0]?.object.metadata?.annotations?.[annotation.tokenExpires]).toBe("2031-01-01T02:00:00Z");
    expect(about(result, "UpdatingVersion")).toMatchObject({
      status: "True",
      message: expect.stringContaining("4.18.1"),
    });
    expect(about(result, "UpdatingConfig")?.status).toBe("False");
  });

  test("does so once, and going back revives the old token for good", () => {
    const first = reconcile(changed, now);
    // The pool's own update was lost: everything is decided again, the end of the old token is not moved.
    const lost = afterWrites(changed, { ...first, writes: first.writes.slice(0, -1) });
    expect(verbs(reconcile(lost, now + hour))).toEqual(["update NodePool workers"]);
    const back: PassInput = { ...afterWrites(changed, first), release: { version: "4.18.0", arch: "multi" }, cluster };
    const result = reconcile(back, now + hour);
    expect(verbs(result)).toContain("update Secret token-workers-83935368");
    const revived = result.writes.find(({ object }) => object.metadata?.name === "token-workers-83935368");
    expect(revived?.object.metadata?.annotations).not.toHaveProperty([annotation.tokenExpires]);
  });

  test("keeps ReachedIgnitionEndpoint for machines that are updated in place, and only for them", () => {
    const reached = (pool: NodePool): PassInput => ({
      ...changed,
      pool: {
        ...pool,
        status: {
          conditions: [
            {
              type: "ReachedIgnitionEndpoint",
              status: "True",
              reason: "AsExpected",
              message: "",
              lastTransitionTime: "2030-01-01T00:00:00Z",
            },
          ],
        },
      },
    });
    expect(about(reconcile(reached(pool), now), "ReachedIgnitionEndpoint")?.status).toBe("True");
    const replaced = poolWith({ management: { upgradeType: "Replace", replace: {} } });
    expect(about(reconcile(reached(replaced), now), "ReachedIgnitionEndpoint")?.status).toBe("False");
  });
});

describe("a pass that ends early", () => {
  const config = (text: string | undefined) => ({ where: "ConfigMap clusters/extra", text });
  const configs = (...sources: PassInput["configs"]): Partial<PassInput> => ({
    configs: sources,
  });

  test.each<[what: string, change: Partial<PassInput>, last: string | undefined, retry: boolean]>([
    ["no cluster", { cluster: undefined }, undefined, true],
    [
      "management that is wrong",
      { pool: poolWith({ management: { upgradeType: "Now" } }) },
      "UpdateManagementEnabled=False/ValidationFailed",
      false,
    ],
    ["no release image", { pool: poolWith({ release: {} }) }, "ValidReleaseImage=False/ValidationFailed", true],
    [
      "a release nobody finds",
      { release: { problem: "no such image" } },
      "ValidReleaseImage=False/ValidationFailed",
      true,
    ],
    [
      "no Ignition endpoint",
      withCluster({ ignitionEndpoint: "" }),
      "IgnitionEndpointAvailable=False/IgnitionEndpointMissing",
      false,
    ],
    [
      "no Ignition CA",
      withCluster({ ignitionCaPem: "" }),
      "IgnitionEndpointAvailable=False/IgnitionCACertMissing",
      false,
    ],
    [
      "an unknown architecture",
      { pool: poolWith({ arch: "s390x" }) },
      "ValidArchPlatform=False/InvalidArchPlatform",
      false,
    ],
    [
      "another platform",
      { pool: poolWith({ platform: { type: "AWS" } }) },
      "ValidArchPlatform=False/InvalidArchPlatform",
      false,
    ],
    [
      "a release for other machines",
      { release: { version: "4.18.0", arch: "arm64" } },
      "ValidArchPlatform=False/InvalidArchPlatform",
      true,
    ],
    [
      "a cluster without kubeconfig",
      withCluster({ kubeconfigReady: false }),
      "ReconciliationActive=True/ReconciliationActive",
      false,
    ],
    ["a config that is missing", configs(config(undefined)), "ValidMachineConfig=False/ValidationFailed", true],
    [
      "a config of a wrong kind",
      configs(config("kind: Pod\nmetadata: {name: x}")),
      "ValidMachineConfig=False/ValidationFailed",
      true,
    ],
    [
      "too many configs",
      { pool: poolWith({ config: Array.from({ length: 11 }, () => ({ name: "x" })) }) },
      "ValidMachineConfig=False/ValidationFailed",
      true,
    ],
    ["a cluster that goes", withCluster({ deleting: true }), "ValidPlatformConfig=True/AsExpected", false],
    [
      "no pull secret",
      withCluster({ pullSecret: { name: "pull-secret", content: undefined } }),
      "ValidPlatformConfig=True/AsExpected",
      true,
    ],
    [
      "no trust bundle",
      withCluster({ trustBundle: { name: "ca", content: undefined } }),
      "ValidPlatformConfig=True/AsExpected",
      true,
    ],
  ])("because of %s says so and writes nothing", (_, change, last, retry) => {
    const result = run(change);
    expect(brief(result).at(-1)).toBe(last);
    expect(result.stopped).toEqual({ because: expect.stringMatching(/./), retry });
    expect(result.writes).toEqual([]);
  });

  test("still reports what was found before, and forgets what was mended", () => {
    const stopped = run(withCluster({ ignitionEndpoint: "" }));
    const mended = reconcile(afterWrites(makeInput(), stopped), now);
    expect(about(mended, "IgnitionEndpointAvailable")).toBeUndefined();
    expect(mended.stopped).toBeUndefined();
  });

  test("because of a stream that the release does not have says so", () => {
    const result = run({ pool: poolWith({ osImageStream: { name: "rhel-10" } }) });
    expect(about(result, "ValidMachineConfig")).toMatchObject({ status: "False", reason: "ValidationFailed" });
    const runc = {
      apiVersion: "machineconfiguration.openshift.io/v1",
      kind: "ContainerRuntimeConfig",
      metadata: { name: "runc" },
      spec: { containerRuntimeConfig: { defaultRuntime: "runc" } },
    };
    const five = { release: { version: "5.0.0", arch: "multi" } };
    const kept = run({ ...five, ...configs(config(JSON.stringify(runc))) });
    expect(secretText(kept.writes[0]?.object as Secret, "os-stream")).toBe("rhel-9");
  });

  test("because of a pull secret that went away writes nothing either", () => {
    const settled = afterWrites(makeInput(), run());
    const rotated = settled.secrets.map((secret) => ({
      ...secret,
      data: { ...secret.data, token: encoded("rotated") },
    }));
    const gone = { ...cluster, pullSecret: { name: "pull-secret", content: undefined } };
    expect(reconcile({ ...settled, secrets: rotated }, now).writes).toHaveLength(1);
    const result = reconcile({ ...settled, secrets: rotated, cluster: gone }, now);
    expect(result).toMatchObject({
      writes: [],
      stopped: { retry: true, because: expect.stringContaining("pull-secret") },
    });
  });

  test("finds a configuration that fits into no Secret", () => {
    const source = `data:;base64,${randomBytes(1_200_000).toString("base64")}`;
    const text = JSON.stringify({
      apiVersion: "machineconfiguration.openshift.io/v1",
      kind: "MachineConfig",
      metadata: { name: "big" },
      spec: {
        config: { ignition: { version: "3.2.0" }, storage: { files: [{ path: "/big", contents: { source } }] } },
      },
    });
    const result = run(configs(config(text)));
    expect(about(result, "ValidMachineConfig")).toMatchObject({
      status: "False",
      message: expect.stringContaining("the API allows 1048576"),
    });
    expect(result).toMatchObject({ writes: [], stopped: { retry: true } });
  });

  test("lets mistakes of the program through", () => {
    const newToken = () => {
      throw new TypeError("a bug");
    };
    expect(() => run({ newToken })).toThrow("a bug");
  });
});

describe("conditions that end nothing", () => {
  test.each<[what: string, change: Partial<PassInput>, condition: string]>([
    [
      "replicas and autoscaling",
      { pool: poolWith({ autoScaling: { min: 1, max: 2 } }) },
      "AutoscalingEnabled=False/ValidationFailed",
    ],
  ])("%s", (_, change, condition) => {
    const result = run(change);
    expect(brief(result)).toContain(condition);
    expect(result.stopped).toBeUndefined();
    expect(result.writes).toHaveLength(3);
  });
});

describe("a pause", () => {
  const paused = (pausedUntil: string) => run({ pool: poolWith({ pausedUntil }) });

  test.each([
    ["2031-01-01T00:00:01Z", now + 1000],
    ["true", undefined],
    ["True", undefined],
  ])("until %s writes no Secret and wakes up in time", (until, requeueAt) => {
    const result = paused(until);
    expect(result).toMatchObject({ writes: [], requeueAt, stopped: undefined });
    expect(about(result, "ReconciliationActive")).toMatchObject({ status: "False", reason: "ReconciliationPaused" });
    expect(result.version).toBeUndefined();
  });

  test.each(["2031-01-01T00:00:00Z", "2030-12-31T23:59:59+00:00", "false", "False", ""])("is over with %j", (until) => {
    expect(paused(until).writes).toHaveLength(3);
    expect(about(paused(until), "ReconciliationActive")?.reason).toBe("ReconciliationActive");
  });

  test.each(["tomorrow", "TRUE", "2031"])("that cannot be read (%s) is ignored, and a condition says so", (until) => {
    expect(paused(until).writes).toHaveLength(3);
    expect(about(paused(until), "ReconciliationActive")).toMatchObject({
      status: "True",
      reason: "InvalidPausedUntilValue",
    });
  });
});

describe("creation and deletion of a pool", () => {
  test("begins with finalizer and owner, and nothing else", () => {
    const { finalizers: _f, ownerReferences: _o, ...metadata } = pool.metadata!;
    const result = run({ pool: { ...pool, metadata: { ...metadata, finalizers: ["other"] } } });
    expect(verbs(result)).toEqual(["update NodePool workers"]);
    expect(result.writes[0]?.object.metadata).toEqual({
      ...metadata,
      finalizers: ["other", FINALIZER],
      ownerReferences: [
        { apiVersion: "hypershift.openshift.io/v1beta1", kind: "HostedCluster", name: "demo", uid: "cluster-uid" },
      ],
    });
  });

  const goingPool: NodePool = {
    ...pool,
    metadata: { ...pool.metadata, deletionTimestamp: "2031-01-01T00:00:00Z", finalizers: ["other", FINALIZER] },
  };
  const secrets: Secret[] = [{ kind: "Secret", metadata: { name: "token-workers-1", resourceVersion: "3" } }];
  const ownedConfigMaps = [{ kind: "ConfigMap", metadata: { name: "tuned" } }];

  test("ends with everything that was made, even when the cluster is gone, and with the finalizer last", () => {
    const result = run({ pool: goingPool, cluster: undefined, secrets, ownedConfigMaps });
    expect(verbs(result)).toEqual([
      "delete ConfigMap tuned",
      "delete Secret token-workers-1",
      "update NodePool workers",
    ]);
    expect(result.writes[2]?.object).toMatchObject({ metadata: { finalizers: ["other"] } });
  });

  test("leaves a pool alone that no longer has our finalizer", () => {
    const released = { ...goingPool, metadata: { ...goingPool.metadata, finalizers: ["other"] } };
    expect(run({ pool: released, secrets })).toMatchObject({ writes: [], stopped: undefined });
  });
});

describe("labels and taints of a pool", () => {
  const token = ({ secrets }: PassInput) => secrets.find(({ metadata }) => metadata?.name?.startsWith("token-"));
  const noted = (input: PassInput) => token(input)?.metadata?.annotations?.["drawbridge/node-registration"];
  const nodeLabels = { tier: "front", "a.example/x": "y" };
  const taints = [{ key: "dedicated", effect: "NoSchedule", more: "x" }];

  test("reach the Ignition server by the token Secret, sorted, and change neither hash nor token", () => {
    const settled = afterWrites(makeInput(), run());
    expect(noted(settled)).toBeUndefined();
    const asked: PassInput = {
      ...settled,
      pool: { ...settled.pool, spec: { ...settled.pool.spec!, nodeLabels, taints } },
    };
    const changed = afterWrites(asked, reconcile(asked, now));
    expect(noted(changed)).toBe(
      '{"nodeLabels":{"a.example/x":"y","tier":"front"},"taints":[{"key":"dedicated","effect":"NoSchedule"}]}',
    );
    const named = ({ secrets }: PassInput) => secrets.map(({ metadata }) => metadata?.name).sort();
    expect(named(changed)).toEqual(named(settled));
    expect(token(changed)?.data).toEqual(token(settled)?.data);
    expect(reconcile(changed, now).writes).toEqual([]);
    const { pool: without } = settled;
    const back = { ...changed, pool: without };
    expect(noted(afterWrites(back, reconcile(back, now)))).toBeUndefined();
  });

  test("are there from the first token Secret on", () => {
    const input = makeInput({ pool: poolWith({ nodeLabels }) });
    expect(noted(afterWrites(input, reconcile(input, now)))).toBe(
      '{"nodeLabels":{"a.example/x":"y","tier":"front"},"taints":[]}',
    );
  });
});
