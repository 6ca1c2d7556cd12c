/** What a person sees of a process within three seconds, and what a key press tells more about. */
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { type Finding, failed, warning } from "../../../base/finding.js";
import { healthOf } from "../../diagnosis/health.js";
import type { HistoryInfo } from "../../observe/admin/contract.js";
import { agent, NOW, snapshot, totals, tunnel, tunnelChange } from "../testing/samples.js";
import { History } from "../view/history.js";
import { ProcessView } from "../view/process-view.js";
import { type Choices, FIRST_CHOICES, listsOf } from "./choices.js";
import { pressed } from "./keys.js";
import { screen, type Watched } from "./screen.js";

const slow: Finding = {
  ...{
    check: "slow-agents",
    about: "",
    subject: "node-3.eu.example.internal",
    short: "node-3.eu.example.internal 342 ms",
  },
  ...warning("the agent node-3 answers after 342 ms", "Look at the way."),
};
const steps = (...last: number[]): number[] => [...new Array<number>(60 - last.length).fill(0), ...last];
const past: HistoryInfo = {
  ...{ stepMs: 10_000, fromAt: NOW - 600_000 },
  total: { dials: steps(7), failures: steps(2), kibToTarget: steps(), kibFromTarget: steps(), tunnels: steps() },
  peers: [{ id: "node-3.eu.example.internal", dials: steps(4, 4), failures: steps(0, 2), p50Ms: 340, p99Ms: 400 }],
  targets: [],
  failures: [{ target: "10.0.0.2:443", reason: "refused", count: 2, firstAt: NOW, lastAt: NOW, peers: ["node-3"] }],
  left: [{ id: "node-9", address: "10.0.0.9:1", connectedAt: NOW, leftAt: NOW - 60_000, reason: "reset" }],
};
const agents = [1, 2, 3].map((key) =>
  agent(key, { id: `node-${key}.eu.example.internal`, roundTripMs: key === 3 ? 342.4 : 1.2, tunnels: 1234567 }),
);

function watched(parts: Partial<Watched> = {}): Watched {
  const view = new ProcessView(snapshot({ agents }), NOW);
  view.apply(tunnelChange(tunnel(1), tunnel(2)));
  return { view, history: new History(), problem: "", health: healthOf([slow]), past, ...parts };
}

const draw = (what: Watched, choices: Choices = FIRST_CHOICES, columns = 100, rows = 40): string[] =>
  screen(what, choices, { columns, rows }, NOW).map((line) => stripVTControlCharacters(line).trimEnd());
const keyed = (...keys: string[]): Choices =>
  keys.reduce<Choices>((choices, key) => pressed(key, choices) ?? choices, FIRST_CHOICES);

describe("the first lines", () => {
  test.each([40, 60, 80, 200])("state, readiness and cause come first, at %i columns too", (columns) => {
    const [first, second] = draw(watched(), FIRST_CHOICES, columns);
    expect(first).toMatch(/^DEGRADED {2}ready/);
    expect(second).toBe("node-3.eu.example.internal 342 ms");
  });

  test("a process without anything wrong is healthy in one line", () => {
    const [first, second] = draw(watched({ health: healthOf([]) }));
    expect(first).toMatch(/^HEALTHY {2}ready {2}server server-1/);
    expect(second).toMatch(/^from targets/);
  });

  test("the host and the process are named", () => {
    const view = new ProcessView(snapshot({ process: { ...snapshot().process, host: "cp-1", pid: 4711 } }), NOW);
    expect(draw(watched({ view }))[0]).toContain("server server-1  on cp-1 (pid 4711)  up");
  });

  test.each([40, 60, 80, 100])("no word of the first line is cut at %i columns", (columns) => {
    const named = { ...snapshot().process, host: "control-plane-1.example", pid: 4711 };
    const [first] = draw(watched({ view: new ProcessView(snapshot({ process: named }), NOW) }), FIRST_CHOICES, columns);
    const whole = draw(watched({ view: new ProcessView(snapshot({ process: named }), NOW) }), FIRST_CHOICES, 200)[0]!;
    expect(whole.split("  ").slice(0, first!.split("  ").length).join("  ")).toBe(first);
  });

  test.each([60, 80, 120])("no digit of a sum is cut at %i columns", (columns) => {
    const sums = totals({ bytesToTarget: 61.8 * 2 ** 20, bytesFromTarget: 999 * 2 ** 30 });
    const text = draw(watched({ view: new ProcessView(snapshot({ totals: sums }), NOW) }), FIRST_CHOICES, columns);
    expect(text.join("\n")).toMatch(/ 999 GiB in all .*\n.* 61\.8 MiB in all /);
  });

  test("a failure makes it down, and its cause is first", () => {
    const bad: Finding = { check: "x", about: "", ...failed("no agent is connected", "Start one.") };
    const [first, second] = draw(watched({ health: healthOf([slow, bad]) }));
    expect(first).toMatch(/^DOWN/);
    expect(second).toBe("no agent is connected · node-3.eu.example.internal 342 ms");
  });
});

describe("agents", () => {
  test("columns have headings, the slow one says so, and numbers are whole", () => {
    const text = draw(watched()).join("\n");
    expect(text).toMatch(/NAME .* STATE .* AGE +RTT +P50 +P99 FAILED TUNNELS +BYTES/);
    expect(text).toMatch(/node-3\S* +slow .* 342 ms +340 ms +400 ms +25 % 1234567/);
    expect(text).toMatch(/node-1\S* +ok /);
  });

  test("at 60 columns the names still differ and the state is there", () => {
    const lines = draw(watched(), FIRST_CHOICES, 60);
    const names = lines.filter((line) => /node-\d.* (?:ok|slow)/.test(line));
    expect(names).toHaveLength(3);
    expect(lines.join("\n")).toMatch(/NAME +STATE +RTT/);
  });

  test("one that left stays visible with its last words", () => {
    expect(draw(watched()).join("\n")).toContain("node-9 (10.0.0.9:1) left 1 min ago: reset");
    const reason = "the connection was lost without a word";
    const narrow = draw(watched({ past: { ...past, left: [{ ...past.left[0]!, reason }] } }), FIRST_CHOICES, 60);
    expect(narrow.join(" ")).toMatch(
      /node-9 \(10\.0\.0\.9:1\) left 1 min ago: the connection was +lost without a word/,
    );
  });

  test("rows keep their order whatever the load is", () => {
    const busy = agents.map((each, at) => ({ ...each, tunnels: at * 10 }));
    const view = new ProcessView(snapshot({ agents: busy }), NOW);
    expect(listsOf(view, FIRST_CHOICES).peers.map(({ key }) => key)).toEqual([1, 2, 3]);
  });
});

test("failures are grouped by target and reason", () => {
  expect(draw(watched()).join("\n")).toMatch(/REFUSED OR FAILED IN 10 MIN\n2 × 10\.0\.0\.2:443: refused/);
});

describe("keys", () => {
  test("? shows every key", () => {
    const text = draw(watched(), keyed("?")).join("\n");
    for (const word of ["KEYS", "Tab", "Enter", "drain", "search"]) expect(text).toContain(word);
  });

  test("Enter shows all about the selected agent, with what was found about it, and any key goes back", () => {
    const choices = keyed("\t", "\u001b[B", "\u001b[B", "\r");
    const text = draw(watched(), choices).join("\n");
    expect(text).toContain("node-3.eu.example.internal");
    expect(text).toContain("the agent node-3 answers after 342 ms");
    expect(text).toContain("Do: Look at the way.");
    expect(draw(watched(), pressed("x", choices)!).join("\n")).toContain("TUNNELS 2 of 2");
  });

  test("Enter on a tunnel shows its life", () => {
    expect(draw(watched(), keyed("\r")).join("\n")).toContain("waiting for an agent");
  });

  test("the selected row is marked without colours", () => {
    const marked = draw(watched(), keyed("\t", "\u001b[B")).filter((line) => line.startsWith("›"));
    expect(marked).toEqual([expect.stringContaining("node-2")]);
  });

  test("d asks before it drains, and only for agents", () => {
    expect(draw(watched(), keyed("\t", "d")).join("\n")).toContain("Drain node-1.eu.example.internal?");
    expect(keyed("d").overlay).toBeUndefined();
  });

  test("a selection beyond the end is the last row", () => {
    const { view } = watched();
    expect(listsOf(view!, keyed("\t", "\u001b[6~")).peer?.key).toBe(3);
  });
});
