/**
 * docs/ha.md's balancer before servers with agents on both sides: the first strategy is destHost, and /readyz, which the
 * balancer asks, is upstream's by default. Who claims 127.0.0.2 is an agent of the control plane; everything else is the
 * workers'.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { equipped } from "../support/lab/equipment.js";
import { HaFleet } from "../support/lab/ha-fleet.js";
import { dialOnce, Load } from "../support/lab/load.js";
import { metric } from "../support/lab/metrics.js";
import { AGENT_METRIC } from "../support/lab/proxy-agent.js";
import { Scope } from "../support/lab/scope.js";
import { makeTunnelCertificates } from "../support/lab/tunnel-certificates.js";
import { until } from "../support/lab/wait.js";
import { listen, type Target } from "../support/targets/listener.js";

const ready = await equipped({ upstream: true, balancer: true });

const SLOTS = [0, 1, 2];
const DIALS = `${AGENT_METRIC}_dial_duration_seconds_count`;
const NOTHING_FAILED = { refusals: [], unserved: [], lost: [], hung: [] };

describe.skipIf(!ready)("docs/ha.md's HAProxy and servers whose first strategy is destHost", () => {
  let scope: Scope;
  let fleet: HaFleet;
  let claimed: Target;
  let other: Target;

  const echoAt = async (host: string) => {
    const target = await listen((socket) => socket.pipe(socket), host);
    scope.defer(() => target.close());
    return target;
  };
  const agents = (identifiers: string) =>
    Promise.all(
      (["ours", "theirs"] as const).map((origin) => fleet.addAgent(origin, `--agent-identifiers=${identifiers}`)),
    );
  const servers = async (...flags: readonly string[]) => {
    await Promise.all(SLOTS.map((slot) => fleet.startServer(slot, ...flags)));
    await fleet.settled();
  };
  const isServed = async (target: Target) => {
    const tunnel = await dialOnce(fleet.frontend(), target.address).catch(() => undefined);
    tunnel?.destroy();
    return tunnel !== undefined;
  };
  /** What becomes of dials to all of these at once, from the moment that the balancer knows its servers. */
  const load = async (...targets: readonly Target[]) => {
    await until("the balancer to serve", 10_000, () => isServed(targets[0]!));
    const loads = targets.map(({ address }) => Load.start(() => fleet.frontend(), address, 3));
    await until("the clients to be answered", 60_000, () => loads.every(({ answered }) => answered > 150));
    return Promise.all(loads.map((each) => each.stop()));
  };
  const dialsOf = async (side: Awaited<ReturnType<typeof agents>>) => {
    const counts = await Promise.all(side.map(async ({ process }) => metric(await process.metrics(), DIALS)));
    return counts.reduce((sum, count) => sum + count);
  };

  let workers: Awaited<ReturnType<typeof agents>>;
  let controlPlane: Awaited<ReturnType<typeof agents>>;

  beforeAll(async () => {
    scope = new Scope("ha-readiness");
    [claimed, other] = [await echoAt("127.0.0.2"), await echoAt("127.0.0.1")];
    fleet = await HaFleet.make(scope, {
      ...{ name: "readiness", slots: SLOTS.length, certificates: makeTunnelCertificates(scope, "127.0.0.1") },
      ...{ serverFlags: ["--server-count=3", "--proxy-strategies=destHost,defaultRoute"], agentFlags: [] },
    });
    await Promise.all(SLOTS.map((slot) => fleet.startServer(slot)));
    workers = await agents("default-route=true");
  });
  afterAll(() => scope?.close());

  test.each([
    { rule: "upstream's rule", flags: [] },
    { rule: "--readiness=all", flags: ["--readiness=all"] },
  ])("workers only, $rule: every server has every agent, and not one dial is served", async ({ flags }) => {
    await servers(...flags);
    for (const slot of SLOTS) expect(await fleet.slots[slot]!.health("/readyz")).toMatchObject({ status: 500 });
    await until("the balancer to know that no server is ready", 10_000, async () => !(await isServed(other)));
    const dials = await Promise.all(Array.from({ length: 60 }, () => isServed(other)));
    expect(dials.filter(Boolean)).toEqual([]);
    // The servers themselves would have served it.
    (await dialOnce(fleet.frontend(0), other.address)).destroy();
  });

  test("workers only, --readiness=any: every dial is served", async () => {
    await servers("--readiness=any");
    expect(await load(other)).toMatchObject([NOTHING_FAILED]);
  });

  test.each(["any", "all"])(
    "agents on both sides, --readiness=%s: every dial is served, each by its own side",
    async (rule) => {
      controlPlane ??= await agents("ipv4=127.0.0.2");
      await servers(`--readiness=${rule}`);
      const before = { claimed: claimed.accepted, other: other.accepted };
      const [plane, nodes] = [await dialsOf(controlPlane), await dialsOf(workers)];
      expect(await load(claimed, other)).toMatchObject([NOTHING_FAILED, NOTHING_FAILED]);
      expect((await dialsOf(controlPlane)) - plane).toBe(claimed.accepted - before.claimed);
      expect((await dialsOf(workers)) - nodes).toBe(other.accepted - before.other);
    },
  );
});
