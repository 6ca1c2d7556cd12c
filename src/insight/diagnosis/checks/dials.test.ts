/** What a process remembers of ten minutes, judged. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Finding } from "../../../base/finding.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import type { AgentPeer } from "../../observe/admin/contract.js";
import { ProcessHistory } from "../../observe/history/process-history.js";
import { agent, snapshot } from "../../watch/testing/samples.js";
import { healthOf } from "../health.js";
import { processFindings } from "./admin.js";

let clock: ManualClock;
let history: ProcessHistory;
beforeEach(() => {
  clock = new ManualClock();
  history = new ProcessHistory(clock);
});

const agentPeer = (id: string, roundTripMs = 1): AgentPeer => agent(1, { id, roundTripMs });

function diagnosed(agents: readonly AgentPeer[]): Promise<readonly Finding[]> {
  const { process, ...facts } = snapshot({ agents });
  return processFindings({ ...facts, process: { ...process, now: clock.date() } }, history.describe());
}

async function shorts(agents: readonly AgentPeer[] = [agentPeer("node-1")]): Promise<string[]> {
  return (await diagnosed(agents)).flatMap(({ check, state, short }) =>
    state === "warning" && ["targets", "slow-agents", "agents-left"].includes(check) ? [short!] : [],
  );
}

function dials(target: string, count: number, error?: string): void {
  for (let made = 0; made < count; made++) history.dialEnded({ target, peer: "node-1", ms: 2, error });
}

describe("targets", () => {
  test("one that fails is named with its share of all dials", async () => {
    dials("10.0.0.1:443", 83);
    dials("10.0.0.2:443", 17, "connection refused");
    expect(await shorts()).toEqual(["10.0.0.2:443 fails (17 % of all dials)"]);
  });

  test("one that failed before and answers since is not said to fail", async () => {
    dials("10.0.0.2:443", 5, "connection refused");
    for (let step = 0; step < 6; step++) {
      clock.advance(10_000);
      dials("10.0.0.2:443", 5);
    }
    expect(await shorts()).toEqual([]);
  });

  test("a single failed dial is spoken of for a minute, two for three", async () => {
    dials("10.0.0.2:443", 1, "connection refused");
    dials("10.0.0.3:443", 2, "connection refused");
    expect(await shorts()).toEqual(["10.0.0.3:443 and 10.0.0.2:443 fail (100 % of all dials)"]);
    clock.advance(60_000);
    expect(await shorts()).toEqual(["10.0.0.3:443 fails (67 % of all dials)"]);
    clock.advance(120_000);
    expect(await shorts()).toEqual([]);
  });

  test("one that answers again is not said to fail, from its first answer on", async () => {
    dials("10.0.0.2:443", 20, "connection refused");
    expect(await shorts()).toHaveLength(1);
    dials("10.0.0.2:443", 1);
    expect(await shorts()).toEqual([]);
  });

  test("one that comes and goes fails at times, also right after an answer", async () => {
    for (let turn = 0; turn < 3; turn++) {
      dials("10.0.0.2:443", 1, "connection refused");
      dials("10.0.0.2:443", 1);
    }
    expect(await shorts()).toEqual(["10.0.0.2:443 fails at times (50 % of all dials)"]);
    clock.advance(10_000);
    dials("10.0.0.2:443", 5);
    expect(await shorts()).toEqual([]);
  });

  test("several are named worst first, each with its reason, and every cause has its own remedy once", async () => {
    dials("10.0.0.2:443", 2, "dial tcp 10.0.0.2:443: connect: connection refused");
    dials("no-such.svc:80", 3, "dial tcp: lookup no-such.svc on 10.0.0.10:53: no such host");
    dials("10.0.0.3:443", 4, "dial tcp 10.0.0.3:443: connect: connection refused");
    dials("10.9.0.1:80", 1, "dial tcp 10.9.0.1:80: connect: network is unreachable");
    const found = (await diagnosed([agentPeer("node-1")])).find(({ check }) => check === "targets");
    expect(found?.short).toMatch(/^10\.0\.0\.3:443, no-such\.svc:80 and 2 more targets fail /);
    expect(found?.evidence).toEqual([
      expect.stringMatching(/^10\.0\.0\.3:443: .*connection refused \(4 times/),
      expect.stringMatching(/^no-such\.svc:80: .*no such host \(3 times/),
      expect.stringMatching(/^10\.0\.0\.2:443: .*connection refused \(2 times/),
      expect.stringMatching(/^10\.9\.0\.1:80: .*network is unreachable \(once/),
    ]);
    const { remedy = "" } = found ?? {};
    expect(remedy).toMatch(/^10\.0\.0\.3:443, 10\.0\.0\.2:443: The agent reached the host/);
    expect(remedy).toMatch(/ no-such\.svc:80: Correct the name.* 10\.9\.0\.1:80: Fix the route/);
    expect(remedy.split("The agent reached the host")).toHaveLength(2);
  });

  test("a name that does not exist is what has to be corrected", async () => {
    dials("no-such.svc:80", 2, "dial tcp: lookup no-such.svc on 10.0.0.10:53: no such host");
    const { process, ...facts } = snapshot({ agents: [agentPeer("node-1")] });
    const now = { ...process, now: clock.date() };
    const findings = await processFindings({ ...facts, process: now }, history.describe());
    expect(findings.find(({ check }) => check === "targets")?.remedy).toMatch(/^Correct the name/);
  });

  test("a dial that nobody could take says nothing of its target", async () => {
    history.dialEnded({ target: "10.0.0.2:443", ms: 1, error: "No agent available", isUndecided: true });
    expect(await shorts()).toEqual([]);
  });
});

describe("refused dials", () => {
  const judged = async (agents: readonly AgentPeer[], why: string) => {
    const { process, ...facts } = snapshot({ agents });
    const refused = [{ id: "R", at: clock.date() - 30_000, target: "10.0.0.1:443", why }];
    const overview = { ...facts, refusals: refused, process: { ...process, now: clock.date() } };
    const findings = await processFindings(overview, history.describe());
    return findings.flatMap(({ check, state, message }) => (check === "refusals" ? [`${state}: ${message}`] : []));
  };

  test("those from before the first agent are over once there is one", async () => {
    expect(await judged([], "No agent is connected.")).toEqual(["warning: 1 dial was refused in the last 10 min"]);
    expect(await judged([agentPeer("node-1")], "No agent is connected.")).toEqual([
      "ok: 1 dial refused in the last 10 min, for reasons that are over",
    ]);
  });

  test("one whose target was reached since is over, and no other", async () => {
    clock.advance(60_000);
    dials("10.0.0.2:443", 1);
    expect(await judged([agentPeer("node-1")], "No agent of 1 takes it.")).toEqual([
      "warning: 1 dial was refused in the last 10 min",
    ]);
    dials("10.0.0.1:443", 1);
    expect(await judged([agentPeer("node-1")], "No agent of 1 takes it.")).toEqual([
      "ok: 1 dial refused in the last 10 min, for reasons that are over",
    ]);
  });
});

describe("agents", () => {
  test("one that is much slower than the others is named with its delay", async () => {
    const agents = [agentPeer("node-1", 4), agentPeer("node-2", 5), agentPeer("node-3", 342)];
    expect(await shorts(agents)).toEqual(["node-3 342 ms"]);
  });

  test("more than three are told by their number, the slowest first", async () => {
    const slow = Array.from({ length: 12 }, (_, index) => agentPeer(`node-${index}`, 300 + index));
    const findings = await diagnosed([
      ...slow,
      ...Array.from({ length: 13 }, (_, index) => agentPeer(`fast-${index}`, 1)),
    ]);
    expect(healthOf(findings).causes.map(({ text }) => text)).toEqual([
      "12 agents are slow (node-11, node-10, node-9, …)",
    ]);
  });

  test("one that is slower than others, but answers soon, is not", async () => {
    expect(await shorts([agentPeer("node-1", 1), agentPeer("node-2", 40)])).toEqual([]);
  });

  test("one that left is named until another agent of its host is here", async () => {
    history.peerLeft({ id: "node-9", address: "10.9.9.9:4711", connectedAt: 0, reason: "the connection was reset" });
    clock.advance(4 * 60_000);
    expect(await shorts()).toEqual(["node-9 gone for 4 min"]);
    const sameHost = { ...agentPeer("node-9b"), remote: "10.9.9.9:5" };
    expect(await shorts([{ ...sameHost, connectedAt: clock.date() }])).toEqual([]);
  });

  test("one that left is named although others behind the same address are still here", async () => {
    const others = { ...agentPeer("node-8"), remote: "10.9.9.9:5", connectedAt: clock.date() };
    clock.advance(1000);
    for (const id of ["node-9", "node-10"])
      history.peerLeft({ id, address: "10.9.9.9:4711", connectedAt: 0, reason: "the connection was reset" });
    clock.advance(60_000);
    expect(await shorts([others])).toEqual(["node-9 gone for 1 min", "node-10 gone for 1 min"]);
    const successor = { ...others, key: 2, id: "new", connectedAt: clock.date() };
    expect(await shorts([others, successor])).toHaveLength(1);
  });

  test("one that drained before it left was ended by somebody", async () => {
    const peer = { address: "10.9.9.9:4711", connectedAt: 0, reason: "the stream ended" };
    history.peerLeft({ id: "node-9", ...peer, isDrained: true });
    expect(await shorts()).toEqual([]);
  });

  test("one slow dial makes no slow agent, ten of them do", async () => {
    const slow = () => history.dialEnded({ target: "10.0.0.1:443", peer: "node-1", ms: 900 });
    slow();
    expect(await shorts()).toEqual([]);
    for (let made = 0; made < 9; made++) slow();
    expect(await shorts()).toEqual([expect.stringMatching(/^node-1 \d+ ms$/)]);
  });
});
