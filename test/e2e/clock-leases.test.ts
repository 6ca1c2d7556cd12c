/** Servers that are counted by leases, on hosts whose clocks are set by hours; the kube-apiserver keeps the true time. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { Fleet, makeFleetFiles } from "../support/lab/fleet.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { metric } from "../support/lab/metrics.js";
import { AGENT_METRIC } from "../support/lab/proxy-agent.js";
import { Scope } from "../support/lab/scope.js";
import { AGENT_NAMESPACE, AUDIENCE, accessObjects, requestToken, writeToken } from "../support/lab/service-account.js";
import { until } from "../support/lab/wait.js";
import { clocksCanBeSet, HostClock } from "../support/processes/host-clock.js";

const LABEL = "lab-fleet=clocks";
const HOUR_MS = 3_600_000;
/** A lease's duration, and some time to notice. */
const COUNTED_OUT_WITHIN_MS = 40_000;
/** A server looks every fifteen seconds, and has to have seen the whole duration. */
const REMOVED_WITHIN_MS = 70_000;

interface Lease {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly holderIdentity: string; readonly renewTime: string };
}

const ready = clocksCanBeSet() && (await equipped({ controlPlane: true }));

describe.skipIf(!ready)("leases and tokens on hosts whose clocks are set", () => {
  let scope: Scope;
  let plane: ControlPlane;
  let fleet: Fleet;
  const clocks = new Map<string, HostClock>();

  /** By the first letter of the role and the number. */
  function clockOf(name: string): HostClock {
    const clock = clocks.get(name) ?? new HostClock(scope.file(`${name}.clock`));
    clocks.set(name, clock);
    return clock;
  }

  beforeAll(async () => {
    scope = new Scope("clocks");
    scope.defer(() => HostClock.sweep());
    // Good for twelve hours before and after now.
    const issuer = new HostClock(scope.file("issuer.clock"), -12);
    plane = await startOnLoopback(scope, undefined, { issuerEnv: issuer.env });
    await plane.admin.apply(...accessObjects);
    const tokenFile = writeToken(scope.file("agent.token"), await requestToken(plane.admin, { audience: AUDIENCE }));
    const forTheApi = writeToken(scope.file("agent-api.token"), await requestToken(plane.admin, {}));
    fleet = await Fleet.make(scope, makeFleetFiles(scope, plane, forTheApi, issuer.env), {
      ...{ name: "clocks", server: "ours", agent: "ours", serverCount: "leases", tokenFile, leaseLabel: LABEL },
      serverEnv: (index) => clockOf(`s${index}`).env,
      agentEnv: (index) => clockOf(`a${index}`).env,
    });
    await fleet.scale(3, 1);
    await until("the agent to know three servers", 60_000, async () => (await known(0)) === 3);
  });
  afterAll(async () => {
    await fleet?.stop();
    await scope?.close();
  });

  const gauge = async (agent: number, name: string) => metric((await fleet.agents[agent]?.metrics()) ?? "", name);
  const known = (agent: number) => gauge(agent, `${AGENT_METRIC}_known_server_count`);
  const open = (agent: number) => gauge(agent, `${AGENT_METRIC}_open_server_connections`);
  const leases = async () =>
    (await plane.admin.json<{ items: Lease[] }>(["get", "leases", "-n", AGENT_NAMESPACE, "-l", LABEL])).items;

  test("one server's clock six hours ahead, another's behind, and the agent's ahead: all count, until one is dead", async () => {
    const before = new Set((await leases()).map(({ metadata }) => metadata.name));
    expect(before.size).toBe(3);
    clockOf("s0").set(6);
    clockOf("s1").set(-6);
    clockOf("a0").set(6);
    const counts: number[] = [];
    const missing: string[] = [];
    let dead = "";
    const look = async () => {
      counts.push(await known(0));
      const there = new Set((await leases()).map(({ metadata }) => metadata.name));
      missing.push(...[...before].filter((name) => name !== dead && !there.has(name)));
      return there.size;
    };
    const ahead = await until("a renewal with the clock ahead, and one with the clock behind", 40_000, async () => {
      await look();
      const times = (await leases()).map((lease) => ({ lease, ms: Date.parse(lease.spec.renewTime) - Date.now() }));
      const first = times.find(({ ms }) => ms > 5 * HOUR_MS);
      return times.some(({ ms }) => ms < -5 * HOUR_MS) ? first?.lease : undefined;
    });
    // A newcomer whose clock is wrong from the start: tokens are for the API to judge, leases count with their next renewal.
    clockOf("a1").set(-6);
    await fleet.scale(3, 2);
    await until("the newcomer to be connected to all", 60_000, async () => (await look()) && (await open(1)) === 3);
    expect([...new Set(counts)]).toEqual([3]);

    dead = ahead.metadata.name;
    await fleet.servers[0]?.kill();
    const killed = performance.now();
    for (const agent of [0, 1]) {
      const left = COUNTED_OUT_WITHIN_MS - (performance.now() - killed);
      await until(
        `agent ${agent} to count two servers`,
        left,
        async () => (await look()) && (await known(agent)) === 2,
      );
    }
    const left = REMOVED_WITHIN_MS - (performance.now() - killed);
    await until("the dead server's lease to be removed", left, async () => (await look()) === 2);
    expect(missing).toEqual([]);
    expect([...new Set(counts)]).toEqual([3, 2]);
    expect([await open(0), await open(1)]).toEqual([2, 2]);
  });
});
