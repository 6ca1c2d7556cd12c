import { expect, test } from "vitest";
import { capacityOf, type Pieces, reachOf } from "./paper.js";
import { growthText, rough } from "./report.js";
import type { GrowthReport } from "./run.js";

const weight = (residentMiB: number, ownKiB: number, cpuMillis: number) => ({
  ...{ residentMiB, ownMiB: residentMiB / 2, files: 1_000, cpuSeconds: 1 },
  each: { ownKiB, files: 1, cpuMillis },
});

const pieces: Pieces = {
  costs: {
    gigabyteDown: { server: 2, agent: 1 },
    gigabyteUp: { server: 1, agent: 4 },
    request: { server: 2e-5, agent: 1e-5 },
    newTunnel: { server: 1e-4, agent: 2e-4 },
  },
  tunnels: { count: 10_000, server: weight(140, 5, 0.2), agent: weight(140, 10, 0.2) },
  agents: { count: 1_000, server: weight(140, 100, 4), idlePercent: 2 },
};

const reach = (what: string) => reachOf(pieces).find((each) => each.what === what)!;

test("work is limited by the process that uses more of its core for it", () => {
  expect(reach("bulk down").limits).toEqual([
    { by: "the server's core", at: 500 },
    { by: "the agent's core", at: 1_000 },
  ]);
  expect(reach("bulk up").limits[0]).toEqual({ by: "the agent's core", at: 250 });
  expect(reach("new tunnels").limits[0]).toMatchObject({ by: "the agent's core", at: 5_000 });
});

test("held tunnels are limited by ports, memory and files, the least first", () => {
  // 10,000 are there, and 500 MiB are left: 51,200 more at 10 KiB, 102,400 at 5 KiB.
  expect(reach("tunnels held").limits.map(({ at }) => at)).toEqual([28_232, 61_200, 112_400, 1_048_576]);
});

test("agents are limited by the time of their handshakes before memory and idle CPU", () => {
  expect(reach("agents of one server").limits.map(({ at }) => at)).toEqual([2_500, 5_000, 6_120, 1_048_576]);
});

test("a cost that is too small to be measured limits nothing", () => {
  const none = { ...pieces, agents: { ...pieces.agents, idlePercent: 0 } };
  const { limits } = reachOf(none).find(({ what }) => what === "agents of one server")!;
  expect(limits.map(({ at }) => at)).toEqual([2_500, 6_120, 1_048_576]);
});

test("on more cores work grows with the processes, and the number of agents does not", () => {
  const [eight, many] = [capacityOf(8, pieces), capacityOf(64, pieces)];
  expect(eight).toMatchObject({ tunnels: 8 * 112_400, agents: 2_500, memoryGiB: 5 });
  expect([eight.gigabytesDown, eight.requests, eight.newTunnels]).toEqual([2.8, 280_000, 56_000].map(near));
  expect(many.gigabytesDown / eight.gigabytesDown).toBeCloseTo(8);
  expect(many.agents).toBe(eight.agents);
});

const near = (value: number) => expect.closeTo(value, 5);

test("estimates are given with two digits", () => {
  expect([rough(123_456), rough(5.68), rough(0.0123)]).toEqual(["120,000", "6", "0"]);
});

test("the text has what was measured and, where the pieces are enough, what they add up to", () => {
  const machine = { processor: "p", cores: 2, memoryGiB: 8, kernel: "6", node: "v20", upstream: "v0", loadBefore: 0 };
  const { tunnels, agents, costs } = pieces;
  const report: GrowthReport = {
    ...{ machine, date: "2026-11-18", minutes: 1, problems: [], recoveries: [], costs },
    tunnels: [{ tunnels: 10_000, openedSeconds: 3, server: tunnels.server, agent: tunnels.agent }],
    agents: [
      {
        ...{ agents: 1_000, connectedSeconds: 5, server: agents.server, agentsOwnMiB: 400 },
        idleCpuPercent: { server: 2, agents: 3 },
      },
    ],
    bytes: [{ bytes: 1024, direction: "there and back", megabytesPerSecond: 9, cpuSecondsPerGB: 70 }],
  };
  const text = growthText(report);
  expect(text).toContain("| 10,000 | 3.00 | 140 (70) | 5.0 | 1.00 | 0.20 | 140 (70) | 10.0 | 1.00 | 0.20 |");
  expect(text).toContain("| 1 KiB | there and back | 9.0 | 70.00 |");
  expect(text).toContain("| bulk up, MB/s | the agent's core | 250 | the server's core at 1,000 |");
  expect(text).toContain("| tunnels held | 900,000 | 7,200,000 |");
  expect(growthText({ ...report, tunnels: [] })).not.toContain("64 cores");
});
