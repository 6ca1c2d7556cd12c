import type { FrontendKind } from "../../test/support/processes/server.js";
import type { ContenderName } from "../contenders/contender.js";
import type { DriveResult, Scenario } from "../load/drive.js";
import { faultsOf, LOAD_SHARE, type Metered, metered } from "./metered.js";
import { type Bar, metric, type Row } from "./row.js";

export interface RequestsKind {
  readonly name: string;
  readonly tunnels: number;
  readonly frontend: FrontendKind;
  readonly contenders: readonly ContenderName[];
  readonly bars: readonly Bar[];
}

export const requestMetrics = (unit: string) => [
  metric("rate", "rate", unit),
  metric("p50", "p50", "µs"),
  metric("p99", "p99", "µs"),
  metric("cpuPerRequest", "CPU, server + agent, each", "µs", 1),
  LOAD_SHARE,
];

export const latencyValues = ({ latencyMicros, frozen }: DriveResult) => ({
  p50: frozen ? Number.POSITIVE_INFINITY : (latencyMicros?.p50 ?? 0),
  p99: frozen ? Number.POSITIVE_INFINITY : (latencyMicros?.p99 ?? 0),
});

export const requestValues = ({ result, cpu, cpuOfRoles, loadPercent }: Metered) => ({
  rate: result.requestsPerSecond ?? 0,
  ...latencyValues(result),
  ...(cpu > 0 && { cpuPerRequest: (cpu * 1e6) / Math.max(1, result.requestsTotal ?? 0) }),
  ...cpuOfRoles,
  loadPercent,
});

const requests = (
  { name, tunnels, frontend, contenders, bars }: RequestsKind,
  scenario: Scenario,
  about: string,
  unit: string,
): Row => ({
  ...{ name, about, frontend, contenders, bars, metrics: requestMetrics(unit) },
  async measure(run) {
    const contender = await run.fixture.shared(run);
    const cost = await metered(run, contender, scenario, { tunnels, seconds: run.seconds });
    return { values: requestValues(cost), faults: faultsOf(cost.result) };
  },
});

/** 1 KB there and back, one request at a time in each tunnel. */
export const pingPong = (kind: RequestsKind): Row =>
  requests(
    kind,
    "ping-pong",
    "Each tunnel sends 1 KB, waits for it to come back, compares it and begins again.",
    "req/s",
  );

export const newTunnels = (kind: RequestsKind): Row =>
  requests(
    kind,
    "new-tunnels",
    `${kind.tunnels} at a time: dial, one byte there and back, close; p50 and p99 are from dial to byte.`,
    "tunnels/s",
  );
