import { type DriveOptions, drive, type Scenario } from "../load/drive.js";
import { cpuSecondsOf, residentMiB } from "../load/procfs.js";
import { faultsOf } from "../rows/metered.js";
import { type Fault, type Measurement, type Metric, metric } from "../rows/row.js";
import type { Ends } from "./ends.js";

export interface PeerRow {
  readonly name: string;
  readonly title: string;
  /** What is done, in one sentence. */
  readonly about: string;
  /** The first one is what tunnels are ranked by and what is drawn. */
  readonly metrics: readonly [Metric, ...Metric[]];
  readonly better: "more" | "less";
  /** Nothing to compare with where there is no tunnel. */
  readonly onlyTunnels?: true;
  /** It ends processes or may break them: they are started again for the next row. */
  readonly breaks?: true;
  measure(ends: Ends, seconds: number): Promise<Measurement>;
}

const WARM_UP_SECONDS = 0.3;
const MIB = 2 ** 20;
/** Sent in all tunnels together, for each second that a run is given. */
const UP_MIB = 384;
const CPU_PER_GB = metric("cpuPerGB", "CPU of both ends", "s/GB", 2);
const P99 = metric("p99", "p99", "ms", 2);

const bulk = (direction: "down" | "up", tunnels: 1 | 8): PeerRow => ({
  name: `bulk-${direction}-${tunnels}`,
  title: `Bulk ${direction}, ${tunnels} tunnel${tunnels === 1 ? "" : "s"}`,
  about:
    direction === "down"
      ? "The target sends as fast as it can; the driver compares every byte."
      : `The driver sends ${UP_MIB} MiB in all (for each second of a run) as fast as it can; the target compares every byte, and the time ends when all are acknowledged.`,
  metrics: [metric("rate", "throughput", "MB/s"), CPU_PER_GB],
  better: "more",
  async measure(ends, seconds) {
    // Acknowledgements may be held up behind what is sent (rathole does), so uploads are timed to their end.
    const bytes = Math.ceil((UP_MIB * seconds) / tunnels) * MIB;
    const amount = direction === "up" ? { bytes } : { seconds };
    const { result, cpu } = await metered(ends, `bulk-${direction}`, { tunnels, ...amount });
    const rate = (result.bytesPerSecond ?? 0) / 1e6;
    const gigabytes = (result.bytesTotal ?? 0) / 1e9;
    const values = { rate, ...(ends.hasProcesses && gigabytes > 0 && { cpuPerGB: cpu / gigabytes }) };
    return { values, faults: faultsOf(result) };
  },
});

const requestsOne: PeerRow = {
  name: "requests-1",
  title: "1 KB requests, 1 tunnel",
  about: "One tunnel sends 1 KB, waits for it to come back, compares it and begins again.",
  metrics: [metric("p50", "p50", "µs"), metric("p99", "p99", "µs"), metric("rate", "rate", "req/s")],
  better: "less",
  async measure({ route }, seconds) {
    const result = await drive(route, "ping-pong", { tunnels: 1, seconds, warmupSeconds: WARM_UP_SECONDS });
    const { p50 = 0, p99 = 0 } = result.latencyMicros ?? {};
    return { values: { p50, p99, rate: result.requestsPerSecond ?? 0 }, faults: faultsOf(result) };
  },
};

/** Tunnels side by side that do the same small thing again and again. */
const manyAtOnce = (
  { name, title, about }: Pick<PeerRow, "name" | "title" | "about">,
  scenario: Scenario,
  tunnels: number,
  unit: string,
): PeerRow => ({
  ...{ name, title, about, metrics: [metric("rate", "rate", unit), P99], better: "more" },
  async measure({ route }, seconds) {
    const result = await drive(route, scenario, { tunnels, seconds, warmupSeconds: WARM_UP_SECONDS });
    const p99 = result.frozen ? Number.POSITIVE_INFINITY : (result.latencyMicros?.p99 ?? 0) / 1000;
    return { values: { rate: result.requestsPerSecond ?? 0, p99 }, faults: faultsOf(result) };
  },
});

const requestsMany = manyAtOnce(
  {
    name: "requests-64",
    title: "1 KB requests, 64 tunnels",
    about: "Each of 64 tunnels sends 1 KB, waits for it to come back, compares it and begins again.",
  },
  "ping-pong",
  64,
  "req/s",
);

const newTunnels = manyAtOnce(
  {
    name: "new-tunnels",
    title: "New tunnels",
    about: "32 at a time: open, one byte there and back, close; p99 is from the beginning to that byte.",
  },
  "new-tunnels",
  32,
  "tunnels/s",
);

const clientBack: PeerRow = {
  name: "client-back",
  title: "Far end killed and back",
  about:
    "The end beside the target, a reverse tunnel's client, is killed and started again; the time from its start until a new tunnel has carried a byte both ways (one is tried every 10 ms).",
  metrics: [metric("back", "serves again after", "ms")],
  better: "less",
  onlyTunnels: true,
  async measure(ends) {
    await ends.killFar();
    const began = performance.now();
    ends.startFar();
    await ends.untilServed();
    return { values: { back: performance.now() - began }, faults: [] };
  },
};

const stalledReader: PeerRow = {
  name: "stalled-reader",
  title: "Beside a reader that stalls",
  about:
    "One tunnel plays 1 KB requests alone, and then beside a caller that asks for endless bulk and reads none of it: the share of its rate that is left (more than all of it is noise and counts as all), and the longest time without an answer.",
  metrics: [metric("share", "rate left", "%"), metric("pause", "longest pause", "ms", 1)],
  better: "more",
  onlyTunnels: true,
  breaks: true,
  async measure({ route }, seconds) {
    const alone = await drive(route, "ping-pong", { tunnels: 1, seconds, warmupSeconds: WARM_UP_SECONDS });
    const beside = await drive(route, "stalled-reader", { seconds, warmupSeconds: 0 });
    const faults: Fault[] = [alone, beside].flatMap(faultsOf);
    if (!beside.servesAgain) faults.push({ kind: "not serving again", text: "no new tunnel worked after the stall" });
    const share = Math.min(1, (beside.requestsPerSecond ?? 0) / (alone.requestsPerSecond ?? Number.NaN)) * 100;
    const pause = beside.frozen ? Number.POSITIVE_INFINITY : (beside.longestPauseMicros ?? 0) / 1000;
    return { values: { share, pause }, faults };
  },
};

/** In the order in which they are played; what ends or breaks processes comes last. */
export const roundRows: readonly PeerRow[] = [
  ...[bulk("down", 1), bulk("up", 1), bulk("down", 8), bulk("up", 8)],
  ...[requestsOne, requestsMany, newTunnels],
  ...[clientBack, stalledReader],
];

/** Measured by run.ts itself: all tunnels wait at the same time, once. */
export const IDLE_TUNNELS = 2_000;
export const SETTLE_SECONDS = 30;

export const memory: Omit<PeerRow, "measure"> = {
  name: "memory",
  title: "Memory, 2,000 idle tunnels",
  about: `Resident memory of both ends, fresh and then with 2,000 tunnels that have been idle for ${SETTLE_SECONDS} seconds (each proven to work before and after), in one round. The kernel's own buffers are not in it.`,
  metrics: [
    metric("held", "both ends", "MiB", 1),
    metric("fresh", "before the first tunnel", "MiB", 1),
    metric("each", "each tunnel", "KiB", 1),
  ],
  better: "less",
  onlyTunnels: true,
};

export const residentOf = ({ pids }: Ends): number => pids.reduce((sum, pid) => sum + residentMiB(pid), 0);

async function metered({ pids, route }: Ends, scenario: Scenario, options: DriveOptions) {
  const before = cpuSecondsOf(pids);
  const result = await drive(route, scenario, { ...options, warmupSeconds: WARM_UP_SECONDS });
  return { result, cpu: cpuSecondsOf(pids) - before };
}
