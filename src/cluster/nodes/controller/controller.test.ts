import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Clock } from "../../../base/clock.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import { annotation, type ConfigMap, FINALIZER, secretText } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { readTokenSecret } from "../token/token-secret.js";
import { readUserData } from "../token/user-data.js";
import { clusterMap, makePool, namespace, PoolFixture } from "./testing/fixture.js";

const machineConfig = (name: string) => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: ${name}}
spec: {config: {ignition: {version: 3.2.0}}}
`;

let fixture: PoolFixture;

beforeEach(() => {
  fixture = new PoolFixture();
});

afterEach(() => fixture.close());

const soon = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 10_000, interval: 20 });

/** The pool once nothing is left to do for it. */
function settled(name = "workers"): Promise<NodePool> {
  return soon(async () => {
    const pool = await fixture.pool(name);
    expect(condition(pool, "UpdatingConfig")).toBe("False AsExpected");
    expect(condition(pool, "UpdatingVersion")).toBe("False AsExpected");
    // A pass whose copy of the Secrets is behind says NotFound, and another one comes.
    expect(condition(pool, "ValidGeneratedPayload")).toMatch(/^Unknown/);
    expect((await fixture.secrets("user-data-")).length).toBeGreaterThan(0);
    return pool;
  });
}

function condition({ status }: NodePool, type: string): string | undefined {
  const found = status?.conditions?.find((each) => each.type === type);
  return found && `${found.status} ${found.reason}`;
}

const hashOf = ({ metadata }: NodePool) => metadata?.annotations?.[annotation.currentConfigVersion] ?? "";

async function configMap(name: string, config: string): Promise<void> {
  const map: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { config } };
  await fixture.api.apply(namedPath("ConfigMap", { namespace, name }), map, { fieldManager: "test" });
}

describe("a pool's controller", () => {
  test("makes the Secrets of a pool and says so in its status", async () => {
    await fixture.addObjects(makePool());
    fixture.start();
    const pool = await settled();
    expect(pool.metadata).toMatchObject({
      finalizers: [FINALIZER],
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "demo" }],
    });
    expect(pool.status?.version).toBe("4.18.0");
    expect(condition(pool, "ValidMachineConfig")).toBe("True AsExpected");
    expect(condition(pool, "ValidGeneratedPayload")).toMatch(/^Unknown/);
    for (const type of ["ValidReleaseImage", "SupportedVersionSkew", "AllMachinesReady", "AllNodesHealthy"]) {
      expect(condition(pool, type)).toBeUndefined();
    }
    const [token] = await fixture.secrets("token-");
    const [userData] = await fixture.secrets("user-data-");
    expect(token?.metadata?.name).toBe(`token-workers-${hashOf(pool)}`);
    expect(readUserData(userData!)).toContain(`Bearer ${token?.data?.token}`);
    expect(fixture.errors).toEqual([]);
  });

  test("comes to rest: nothing is written once all is well", async () => {
    await fixture.addObjects(makePool());
    fixture.start();
    const before = await settled();
    const secrets = await fixture.secrets("");
    await configMap("unrelated", "x");
    await configMap("unrelated-2", "x");
    await fixture.api.create(collectionPath("NodePool", namespace), makePool("others"));
    await soon(async () => expect(condition(await fixture.pool("others"), "UpdatingConfig")).toBe("False AsExpected"));
    expect((await fixture.pool()).metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
    expect(await fixture.secrets("")).toEqual(expect.arrayContaining(secrets));
  });

  test("gives the old token two hours once, and the new configuration its own Secrets", async () => {
    await configMap("extra", machineConfig("one"));
    await fixture.addObjects(makePool("workers", { config: [{ name: "extra" }] }));
    fixture.start();
    const first = hashOf(await settled());
    await configMap("extra", machineConfig("two"));
    await soon(async () => expect(hashOf(await fixture.pool())).not.toBe(first));
    const second = hashOf(await settled());
    const expiry = async (hash: string) =>
      (await fixture.secrets(`token-workers-${hash}`))[0]?.metadata?.annotations?.[annotation.tokenExpires];
    const end = await expiry(first);
    expect(Date.parse(end ?? "") - Date.now()).toBeGreaterThan(119 * 60_000);
    expect(await expiry(second)).toBeUndefined();
    expect((await fixture.secrets("user-data-")).map(({ metadata }) => metadata?.name)).toEqual([
      `user-data-workers-${second}`,
    ]);
    fixture.aheadMs = 60_000;
    await configMap("extra", machineConfig("three"));
    await soon(async () => expect(hashOf(await fixture.pool())).not.toBe(second));
    await settled();
    expect(await expiry(first)).toBe(end);
  });

  test("follows a rotation of the token with the user data", async () => {
    await fixture.addObjects(makePool());
    fixture.start();
    await settled();
    const [secret] = await fixture.secrets("token-");
    const rotated = { ...secret!, data: { ...secret!.data, token: Buffer.from("fresh").toString("base64") } };
    await fixture.api.update(namedPath("Secret", { namespace, name: secret?.metadata?.name ?? "" }), rotated);
    await soon(async () => {
      const [userData] = await fixture.secrets("user-data-");
      expect(readUserData(userData!)).toContain(`Bearer ${Buffer.from("fresh").toString("base64")}`);
    });
  });

  test("writes nothing while paused, and goes on when the pause ends", async () => {
    const hour = 3_600_000;
    await fixture.addObjects(makePool("workers", { pausedUntil: new Date(Date.now() + hour).toISOString() }));
    let endPause: (() => void) | undefined;
    const after: Clock["after"] = (ms, run) => {
      if (ms < hour / 2) return fixture.clock.after(ms, run);
      endPause = run;
      return () => {};
    };
    fixture.start({ clock: { ...fixture.clock, after } });
    await soon(async () =>
      expect(condition(await fixture.pool(), "ReconciliationActive")).toBe("False ReconciliationPaused"),
    );
    expect(await fixture.secrets("token-")).toEqual([]);
    await soon(async () => expect(endPause).toBeDefined());
    fixture.aheadMs = hour;
    endPause?.();
    expect(condition(await settled(), "ReconciliationActive")).toBe("True ReconciliationActive");
  });

  test("leaves nothing of a pool that is deleted", async () => {
    await fixture.addObjects(makePool(), makePool("others"));
    fixture.start();
    await settled();
    await settled("others");
    await fixture.api.delete(namedPath("NodePool", { namespace, name: "workers" }));
    await soon(async () => expect(await fixture.secrets("token-workers")).toEqual([]));
    await soon(async () => expect(fixture.pool()).rejects.toMatchObject({ status: 404 }));
    expect(await fixture.secrets("user-data-workers")).toEqual([]);
    expect((await fixture.secrets("token-others")).length).toBe(1);
    expect((await fixture.secrets("pull-secret")).length).toBe(1);
  });

  test("cleans up after a pool that vanished, also when it vanished before the start", async () => {
    await fixture.addObjects(makePool());
    const first = fixture.start();
    await settled();
    await first.stop();
    await fixture.change("workers", (pool) => ({ ...pool, metadata: { ...pool.metadata, finalizers: [] } }));
    await fixture.api.delete(namedPath("NodePool", { namespace, name: "workers" }));
    fixture.start();
    await soon(async () =>
      expect([...(await fixture.secrets("token-")), ...(await fixture.secrets("user-data-"))]).toEqual([]),
    );
  });

  test("expires tokens of a cluster that is gone", async () => {
    await fixture.addObjects(makePool());
    fixture.start();
    await settled();
    await fixture.api.delete(namedPath("ConfigMap", { namespace, name: "demo" }));
    await soon(async () => {
      const [token] = await fixture.secrets("token-");
      expect(readTokenSecret(token!).expiresAt).toBeGreaterThan(Date.now());
      expect(await fixture.secrets("user-data-")).toEqual([]);
    });
    // Said at the end of the pass.
    await soon(async () => expect(fixture.errors.join()).toContain("the cluster demo does not exist"));
    await fixture.api.create(collectionPath("ConfigMap", namespace), clusterMap);
    await soon(async () => {
      const [token] = await fixture.secrets("token-");
      expect(readTokenSecret(token!).expiresAt).toBeUndefined();
      expect((await fixture.secrets("user-data-")).length).toBe(1);
    });
  });

  test.each([
    ["a pull secret", { pullSecret: "other" }, undefined, "pull secret other is missing"],
    ["a version", { version: "" }, "ValidReleaseImage", "has no version"],
    ["sense in the cluster's keys", { versoin: "1" }, "ValidReleaseImage", "unknown key versoin"],
    [
      "a map where one belongs",
      { networks: "[1" },
      "ValidReleaseImage",
      "key networks that cannot be used: line 1 is not YAML",
    ],
    ["an Ignition endpoint", { ignitionEndpoint: "" }, "IgnitionEndpointAvailable", "Ignition server is not known"],
  ])("says what is missing without %s, writes no Secret, and recovers", async (_, data, type, sentence) => {
    await fixture.addObjects(makePool());
    const path = namedPath("ConfigMap", { namespace, name: "demo" });
    const broken = { ...clusterMap, data: { ...clusterMap.data, ...data } as Record<string, string> };
    await fixture.api.update(path, broken);
    fixture.start();
    await soon(async () => expect(fixture.errors.join()).toContain(sentence));
    if (type !== undefined) await soon(async () => expect(condition(await fixture.pool(), type)).toMatch(/^False /));
    expect(await fixture.secrets("token-")).toEqual([]);
    await fixture.api.update(path, clusterMap);
    await settled();
  });

  test("reports a document that no machine could use, by the condition", async () => {
    await configMap("extra", machineConfig("one").replace("3.2.0", "9.9.9"));
    await fixture.addObjects(makePool("workers", { config: [{ name: "extra" }] }));
    fixture.start();
    await soon(async () =>
      expect(condition(await fixture.pool(), "ValidMachineConfig")).toBe("False ValidationFailed"),
    );
    await configMap("extra", machineConfig("one"));
    await settled();
  });

  test.each(["create", "update", "delete"])("converges when every other %s gets no answer", async (verb) => {
    await configMap("extra", machineConfig("one"));
    await fixture.addObjects(makePool("workers", { config: [{ name: "extra" }] }));
    fixture.pace = 10;
    let calls = 0;
    fixture.isAway = (called) => called === verb && calls++ % 2 === 0;
    fixture.start();
    const first = hashOf(await settled());
    await configMap("extra", machineConfig("two"));
    await soon(async () => expect(hashOf(await fixture.pool())).not.toBe(first));
    const pool = await settled();
    const names = (await fixture.secrets("user-data-")).map(({ metadata }) => metadata?.name);
    expect(names).toEqual([`user-data-workers-${hashOf(pool)}`]);
    expect((await fixture.secrets("token-")).length).toBe(2);
  });

  test("writes the status although a Secret cannot be made", async () => {
    await fixture.addObjects(makePool());
    fixture.isAway = (verb) => verb === "create";
    fixture.start();
    await soon(async () => expect(condition(await fixture.pool(), "ValidGeneratedPayload")).toBe("False NotFound"));
    expect((await fixture.pool()).status?.version).toBeUndefined();
  });

  test("deletes nothing because a copy lags behind", async () => {
    await fixture.addObjects(makePool());
    fixture.start();
    await settled();
    // A replica that has the Secrets but not yet the pool.
    fixture.start({
      api: {
        ...fixture.api,
        list: async (path, options) => {
          const list = await fixture.api.list<never>(path, options);
          return path.endsWith("nodepools") ? { ...list, items: [] } : list;
        },
        watch: async function* (path, options) {
          if (path.endsWith("nodepools")) await new Promise((done) => options.signal.addEventListener("abort", done));
          else yield* fixture.api.watch(path, options);
        },
      },
      onPass: (key) => fixture.passes.push(`behind ${key}`),
    });
    await soon(async () => expect(fixture.passes).toContain("behind clusters/workers"));
    expect((await fixture.secrets("token-")).length).toBe(1);
  });

  test("makes each thing once when two replicas take themselves for the leader", async () => {
    await fixture.addObjects(makePool(), makePool("others"));
    fixture.start();
    fixture.start();
    await settled();
    await settled("others");
    expect((await fixture.secrets("token-")).length).toBe(2);
    for (const name of ["workers", "others"]) {
      await soon(async () => {
        const [token] = await fixture.secrets(`token-${name}`);
        const [userData] = await fixture.secrets(`user-data-${name}`);
        expect(secretText(userData!, "value")).toContain(token?.data?.token);
      });
    }
    expect(fixture.errors).toEqual([]);
  });

  test("does nothing unless it leads, and everything once it does", async () => {
    await fixture.addObjects(makePool());
    let leads = false;
    let asked = 0;
    const leading = () => {
      asked++;
      return leads;
    };
    const controller = fixture.start({ leading });
    await soon(async () => expect(asked).toBeGreaterThan(0));
    expect((await fixture.pool()).metadata).not.toHaveProperty("finalizers");
    leads = true;
    controller.lookAtAll();
    await settled();
  });

  test.each([
    ["fell silent and ended", () => {}],
    [
      "forgot where it was (410)",
      () => {
        throw new KubeApiError("too old", { status: 410, reason: "Expired" });
      },
    ],
  ])("misses nothing when every first watch %s", async (_, end) => {
    await configMap("extra", machineConfig("one"));
    await fixture.addObjects(makePool("workers", { config: [{ name: "extra" }] }));
    const opened = new Set<string>();
    let endWatches = () => {};
    const ending = new Promise<void>((resolve) => {
      endWatches = resolve;
    });
    fixture.start({
      api: {
        ...fixture.api,
        watch: async function* (path, options) {
          if (opened.has(path)) return yield* fixture.api.watch(path, options);
          opened.add(path);
          await Promise.race([ending, new Promise((done) => options.signal.addEventListener("abort", done))]);
          end();
        },
      },
    });
    // Without a watch it acts on the first list, and does not see the result.
    await soon(async () => expect((await fixture.pool()).metadata?.finalizers).toEqual([FINALIZER]));
    await configMap("extra", machineConfig("two"));
    expect(opened.size).toBe(3);
    endWatches();
    await soon(async () => {
      const [token] = await fixture.secrets(`token-workers-${hashOf(await settled())}`);
      expect(readTokenSecret(token!).rawConfig()).toContain("two");
    });
  });

  test("makes one pass for many changes while it is busy", async () => {
    await configMap("extra", machineConfig("one"));
    await fixture.addObjects(makePool("workers", { config: [{ name: "extra" }] }));
    const controller = fixture.start();
    await settled();
    const first = hashOf(await fixture.pool());
    let release = () => {};
    fixture.hold = new Promise((resolve) => {
      release = resolve;
    });
    let isHeld = false;
    fixture.isAway = (verb) => {
      isHeld ||= verb === "create";
      return false;
    };
    await configMap("extra", machineConfig("two"));
    await soon(async () => expect(isHeld).toBe(true));
    for (let i = 0; i < 50; i++) {
      await fixture.change("workers", (pool) => ({ ...pool, spec: { ...pool.spec, replicas: i } }));
    }
    await soon(async () => {
      expect(controller.view.pools.get(`${namespace}/workers`)?.spec?.replicas).toBe(49);
      expect(controller.queued).toBe(1);
    });
    const before = fixture.passes.length;
    release();
    await soon(async () => expect(hashOf(await fixture.pool())).not.toBe(first));
    await settled();
    // One that was held, some whose copy was behind, one for the change, one for each write of ours.
    expect(fixture.passes.length - before).toBeLessThan(25);
    expect((await fixture.pool()).spec?.replicas).toBe(49);
  });
});
