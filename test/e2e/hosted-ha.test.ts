/**
 * Several servers behind one real HAProxy, agents of ours and of upstream's that know only its address, and clients that
 * never stop asking while servers and agents come and go. What "nothing is lost" means is in docs/ha.md:
 *
 *   refused   a dial failed before a byte of the request was sent: the client dials again and is served in time
 *   lost      a request failed after its first byte was sent: never, while processes are asked to end
 *   hung      somebody waited longer than the deadline: never at all
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { closingPhaseMs } from "../../src/tunnel/connection/closing-phase.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { makeFleetFiles } from "../support/lab/fleet.js";
import { DRAIN_MS, HaFleet } from "../support/lab/ha-fleet.js";
import { HANGS_AFTER_MS, Load, type LoadReport, SERVED_WITHIN_MS } from "../support/lab/load.js";
import { LongTunnel } from "../support/lab/long-tunnel.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { Scope } from "../support/lab/scope.js";
import { AGENT_NAMESPACE, accessObjects, requestToken, writeToken } from "../support/lab/service-account.js";
import { makeTunnelCertificates, type TunnelCertificates } from "../support/lab/tunnel-certificates.js";
import { until } from "../support/lab/wait.js";
import { startEcho } from "../support/targets/echo.js";
import type { Target } from "../support/targets/listener.js";

const ready = await equipped({ upstream: true, controlPlane: true, balancer: true });

/** Runs `change` while clients ask; the load is over when this resolves. */
async function underLoad(fleet: HaFleet, target: string, change: () => Promise<void>) {
  const load = Load.start(() => fleet.frontend(), target);
  let ended: LoadReport | undefined;
  onTestFinished(async () => void (ended ?? (await load.stop())));
  await until("the clients to be at it", 30_000, () => load.answered > 50);
  await change();
  const before = load.answered;
  await until("the clients to be served afterwards", 30_000, () => load.answered > before + 50);
  ended = await load.stop();
  expect(fleet.running.size).toBeGreaterThan(0);
  return ended;
}

/** Nothing that a client could not have put right by dialling again. */
function expectNothingLost(report: LoadReport): void {
  const { unserved, lost, hung } = report;
  expect({ unserved, lost, hung }).toEqual({ unserved: [], lost: [], hung: [] });
  expect(report.longestDialMs).toBeLessThan(SERVED_WITHIN_MS);
  // Most requests never noticed.
  expect(report.refusals.length).toBeLessThan(report.answered / 4);
}

describe.skipIf(!ready)("three servers behind HAProxy, found by ID and count", () => {
  let scope: Scope;
  let fleet: HaFleet;
  let certificates: TunnelCertificates;
  let echo: Target;

  beforeAll(async () => {
    scope = new Scope("ha");
    certificates = makeTunnelCertificates(scope, "127.0.0.1");
    echo = await startEcho();
    scope.defer(() => echo.close());
    const serverFlags = ["--server-count=3"];
    fleet = await HaFleet.make(scope, { name: "count", slots: 4, certificates, serverFlags, agentFlags: [] });
    await Promise.all([0, 1, 2].map((slot) => fleet.startServer(slot)));
    await Promise.all((["ours", "theirs", "ours", "theirs"] as const).map((origin) => fleet.addAgent(origin)));
  });
  afterAll(() => scope?.close());

  test("every agent connects to every server exactly once, and then rests", async () => {
    await fleet.settled();
    for (let look = 0; look < 10; look++) {
      const [byServer, byAgent] = await fleet.connections();
      expect([byServer, byAgent]).toEqual([
        [4, 4, 4],
        [3, 3, 3, 3],
      ]);
    }
  });

  test("a rolling restart of the servers costs no request", async () => {
    const report = await underLoad(fleet, echo.address, async () => {
      for (const slot of [0, 1, 2]) {
        await fleet.stopServer(slot);
        await fleet.startServer(slot);
        await fleet.settled();
      }
    });
    expectNothingLost(report);
  });

  test("a rolling restart of the agents costs no request, whoever made them", async () => {
    const report = await underLoad(fleet, echo.address, async () => {
      for (const agent of fleet.agents) {
        await fleet.restartAgent(agent);
        await fleet.settled();
      }
    });
    expectNothingLost(report);
  });

  test("a server that is asked to end lets tunnels finish, up to its deadline, and says so by closing the rest", async () => {
    const [finishing, staying] = [
      await LongTunnel.open("finishing", fleet.frontend(1), echo.address),
      await LongTunnel.open("staying", fleet.frontend(1), echo.address),
    ];
    const elsewhere = await LongTunnel.open("elsewhere", fleet.frontend(2), echo.address);
    const asked = performance.now();
    const gone = fleet.stopServer(1);
    await until("the server to say that it is leaving", 5_000, async () => {
      return (await fleet.slots[1]!.health("/readyz")).body === "shutting down";
    });
    const before = finishing.answered;
    await until("the tunnel to go on", 5_000, () => finishing.answered > before + 20);
    expect(await finishing.close()).toMatchObject({ end: "" });
    const cut = await staying.over;
    expect(cut.end).toMatch(/^the stream (ended|failed)/);
    // Between two of its requests, in the last part of the drain.
    expect(cut.endedAt - asked).toBeGreaterThan(DRAIN_MS - closingPhaseMs(DRAIN_MS));
    // By its own deadline, not by the end of its grace.
    expect(cut.endedAt - asked).toBeLessThan(DRAIN_MS + 6_000);
    await gone;
    expect(await elsewhere.close()).toMatchObject({ end: "" });
    await fleet.startServer(1);
    await fleet.settled();
  });

  test("when a server and an agent are killed, their tunnels end at once and all others go on", async () => {
    const carried = await LongTunnel.open("carried", fleet.frontend(0), echo.address);
    let killedAt = 0;
    const report = await underLoad(fleet, echo.address, async () => {
      fleet.running.delete(fleet.slots[0]!);
      killedAt = performance.now();
      await fleet.slots[0]!.kill();
      await fleet.agents[1]!.process.stop();
      await fleet.startServer(0);
      await fleet.agents[1]!.process.start();
      await fleet.settled();
    });
    const life = await carried.over;
    expect(life.end).not.toBe("");
    expect(life.endedAt - killedAt).toBeLessThan(HANGS_AFTER_MS / 2);
    // Requests in the killed processes are lost, which their clients hear at once; nobody waits in vain.
    expect({ unserved: report.unserved, hung: report.hung }).toEqual({ unserved: [], hung: [] });
    expect(report.lost.length).toBeLessThanOrEqual(12);
  });

  test("two servers become four and two again, told by their count, and no client is failed", async () => {
    const restart = async (slot: number, count: number) => {
      await fleet.stopServer(slot);
      await fleet.startServer(slot, `--server-count=${count}`);
      await fleet.settled();
    };
    await fleet.stopServer(2);
    for (const slot of [0, 1]) await restart(slot, 2);
    const report = await underLoad(fleet, echo.address, async () => {
      await Promise.all([2, 3].map((slot) => fleet.startServer(slot, "--server-count=4")));
      // Agents hear of the new number when they connect, so the old servers go last.
      for (const slot of [0, 1]) await restart(slot, 4);
      await Promise.all([2, 3].map((slot) => fleet.stopServer(slot)));
      for (const slot of [0, 1]) await restart(slot, 2);
    });
    expectNothingLost(report);
  });
});

describe.skipIf(!ready)("servers behind HAProxy, counted by their leases", () => {
  let scope: Scope;
  let plane: ControlPlane;
  let fleet: HaFleet;
  let certificates: TunnelCertificates;
  let echo: Target;

  beforeAll(async () => {
    scope = new Scope("ha-leases");
    echo = await startEcho();
    scope.defer(() => echo.close());
    plane = await startOnLoopback(scope);
    await plane.admin.apply(...accessObjects);
    const files = makeFleetFiles(
      scope,
      plane,
      writeToken(scope.file("api.token"), await requestToken(plane.admin, {})),
    );
    certificates = files.certificates;
    const serverFlags = ["--enable-lease-controller", `--kubeconfig=${files.serverKubeconfig}`];
    const agentFlags = ["--count-server-leases", `--kubeconfig=${files.agentKubeconfig}`];
    fleet = await HaFleet.make(scope, { name: "leases", slots: 4, certificates, serverFlags, agentFlags });
    await Promise.all([0, 1].map((slot) => fleet.startServer(slot)));
    await Promise.all((["ours", "theirs"] as const).map((origin) => fleet.addAgent(origin)));
  });
  afterAll(() => scope?.close());

  const leases = async () => {
    const { items } = await plane.admin.json<{ items: object[] }>([
      ...["get", "leases", "-n", AGENT_NAMESPACE, "-l", "k8s-app=konnectivity-server"],
    ]);
    return items.length;
  };

  test("two servers become four and two again, and no client is failed", async () => {
    await fleet.settled();
    const report = await underLoad(fleet, echo.address, async () => {
      await Promise.all([2, 3].map((slot) => fleet.startServer(slot)));
      await fleet.settled();
      expect(await leases()).toBe(4);
      await Promise.all([0, 1].map((slot) => fleet.stopServer(slot)));
      await fleet.settled();
      expect(await leases()).toBe(2);
    });
    expectNothingLost(report);
  });

  test("a server that drains is no longer counted, although its tunnels go on", async () => {
    const tunnel = await LongTunnel.open("last", fleet.frontend(3), echo.address);
    const gone = fleet.stopServer(3);
    await until("its lease to be gone", DRAIN_MS - 3_000, async () => (await leases()) === 1);
    const before = tunnel.answered;
    await until("the tunnel to go on", 2_000, () => tunnel.answered > before + 5);
    expect(await tunnel.close()).toMatchObject({ end: "" });
    await gone;
    await fleet.settled();
  });
});
