import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromJson, toJson } from "../results/json.js";
import { metric } from "../rows/row.js";
import { comparisonChart } from "./chart.js";
import { choose } from "./choose.js";
import { available, comparisonOf } from "./compare.js";
import { type Comparison, placeOf, sameKindOf } from "./comparison.js";
import { lacking } from "./programs.js";
import { type PeerRow, roundRows } from "./rows.js";
import { comparisonText, readmeBlock, withBlock } from "./text.js";
import type { Tunnel } from "./tunnel.js";
import { allTunnels } from "./tunnels/index.js";

const machine = { processor: "p", cores: 2, memoryGiB: 8, kernel: "6", node: "v20", upstream: "v0", loadBefore: 0.2 };
const run = { machine, rounds: 2, seconds: 1, minutes: 1, leftOut: [] };

/** As if version() could be asked on every machine. */
const tunnels = allTunnels.map((tunnel): Tunnel => ({ ...tunnel, version: () => "1.0" }));
const tunnel = (name: string) => tunnels.find((each) => each.name === name)!;
const row = (name: string): PeerRow => roundRows.find((each) => each.name === name)!;

/** A comparison of one row: for each tunnel, what its first metric was in each round. */
function compared(name: string, figures: Record<string, number[]>, facts: Partial<typeof run> = {}): Comparison {
  const { key } = row(name).metrics[0];
  const steps = Object.entries(figures).flatMap(([who, values]) =>
    values.map((value, round) => {
      const measurement = { values: { [key]: value }, faults: [] };
      return { row: row(name), tunnel: tunnel(who), round, measurement };
    }),
  );
  const chosen = tunnels.filter((each) => each.name in figures);
  return comparisonOf({ ...run, ...facts }, chosen, [name], steps);
}

const placeIn = (comparison: Comparison) => placeOf(comparison.rows[0]!, sameKindOf(comparison));

test("ours is ranked by the median among the multiplexed reverse tunnels only", () => {
  const rates = { drawbridge: [50, 10, 20], upstream: [15, 15, 15], openssh: [21, 1, 25], haproxy: [99, 99, 99] };
  expect(placeIn(compared("bulk-down-8", rates))).toMatchObject({ place: 2, of: 3, first: { name: "openssh" } });
  expect(placeIn(compared("bulk-down-8", rates))?.share).toBeCloseTo(20 / 21);
});

test("where less is better the least is first, and equal is as good as first", () => {
  expect(placeIn(compared("requests-1", { drawbridge: [9], upstream: [10] }))).toMatchObject({ place: 1, share: 1 });
  expect(placeIn(compared("requests-1", { drawbridge: [10], upstream: [10] }))).toMatchObject({
    place: 1,
    first: { name: "drawbridge" },
  });
  expect(placeIn(compared("requests-1", { upstream: [10] }))).toBeUndefined();
});

test("what is written as JSON is read back, also what never ended", () => {
  const comparison = compared("stalled-reader", { drawbridge: [98.76543], upstream: [Number.POSITIVE_INFINITY] });
  const again = fromJson<Comparison>(toJson(comparison));
  expect(again.rows[0]?.values).toEqual({
    drawbridge: [{ share: 98.77 }],
    upstream: [{ share: Number.POSITIVE_INFINITY }],
  });
  expect(toJson(again)).toBe(toJson(comparison));
});

test("a fault that is called frozen is still called so after it was written as JSON", () => {
  const measurement = { values: { share: 0 }, faults: [{ kind: "frozen" as const, text: "no answer for seconds" }] };
  const steps = [{ row: row("stalled-reader"), tunnel: tunnel("upstream"), round: 0, measurement }];
  const comparison = comparisonOf(run, [tunnel("upstream")], ["stalled-reader"], steps);
  expect(fromJson<Comparison>(toJson(comparison)).faults).toEqual(comparison.faults);
});

test("a round that failed is not a figure, and is told", () => {
  const measurement = { values: {}, faults: [{ kind: "failed" as const, text: "it ended\nwith a log" }] };
  const steps = [0, 1].map((round) => ({ row: row("bulk-up-1"), tunnel: tunnel("openssh"), round, measurement }));
  const comparison = comparisonOf(run, [tunnel("openssh")], ["bulk-up-1"], steps);
  expect(comparison.rows[0]?.values).toEqual({ openssh: [null, null] });
  const text = comparisonText(comparison);
  expect(text).toContain("Bytes were intact in every run. Seen beside that:");
  expect(text).toContain("- bulk-up-1, OpenSSH -R: failed, it ended (2 runs)");
  expect(text).toContain("| OpenSSH -R | – | – |");
});

test("wrong bytes are not called intact", () => {
  const measurement = { values: { rate: 1 }, faults: [{ kind: "wrong bytes" as const, text: "byte 7" }] };
  const steps = [{ row: row("bulk-up-1"), tunnel: tunnel("upstream"), round: 0, measurement }];
  const text = comparisonText(comparisonOf(run, [tunnel("upstream")], ["bulk-up-1"], steps));
  expect(text).toContain("**Bytes were not intact.**");
  expect(text).not.toContain("Bytes were intact");
});

test("the page says where ours is first, where it is not and why", () => {
  const first = comparisonText(compared("bulk-down-8", { drawbridge: [20], upstream: [10], direct: [90] }));
  expect(first).toContain("drawbridge is first of the multiplexed reverse tunnels in 1 of 1 rows.\n");
  expect(first).toContain("| **20** | 10 | 90 |");
  const second = comparisonText(compared("new-tunnels", { drawbridge: [10], upstream: [20] }));
  expect(second).toContain("in 0 of 1 rows. Where it is not:\n\n- New tunnels: 2 of 2, 0.50 × upstream (Go); 27 %");
});

test("a row that ours is behind in without a known reason says that", () => {
  const text = comparisonText(compared("bulk-up-8", { drawbridge: [10], openssh: [20] }));
  expect(text).toContain("- Bulk up, 8 tunnels: 2 of 2, 0.50 × OpenSSH -R; why is not known yet\n");
});

test("a busy machine is told on the page and in README", () => {
  const comparison = compared("bulk-down-8", { drawbridge: [1] }, { machine: { ...machine, loadBefore: 2.34 } });
  for (const text of [comparisonText(comparison), readmeBlock(comparison)]) {
    expect(text).toContain("**The machine was not quiet** (load 2.3 before)");
  }
  expect(readmeBlock(compared("bulk-down-8", { drawbridge: [1] }))).not.toContain("quiet");
});

test("README's block is replaced and nothing else", () => {
  const block = readmeBlock(compared("bulk-down-8", { drawbridge: [508], openssh: [601], direct: [3402] }));
  expect(block).toContain("| **508** | 601 |\n");
  const readme = (figures: string) => withBlock(`before\n${readmeBlock(compared("bulk-up-8", {}))}\nafter\n`, figures);
  expect(readme(block)).toBe(`before\n${block}\nafter\n`);
  expect(() => withBlock("nothing", block)).toThrow(/no place/);
});

test("the longest bar is the most of all rounds, and what has no figure has no bar", () => {
  const svg = comparisonChart(
    compared("bulk-down-8", { drawbridge: [50, 100], upstream: [200, 200], openssh: [], direct: [4000, 4000] }),
  );
  const bars = [...svg.matchAll(/<path class="(\w+)" d="M(\d+) \d+h([\d.]+)/g)].map(([, kind, , width]) => [
    kind,
    Number(width),
  ]);
  const [, [, full] = []] = bars;
  expect(bars.map(([kind]) => kind)).toEqual(["ours", "same"]);
  expect((Number(bars[0]?.[1]) + 3) / (Number(full) + 3)).toBeCloseTo(75 / 200, 2);
  expect(svg).toContain("not measured");
  expect(svg).toContain("without a tunnel 4,000");
});

test("a title with special characters stays one", () => {
  const comparison = compared("bulk-down-8", { drawbridge: [1] });
  const rows = comparison.rows.map((each) => ({
    ...each,
    title: "a < b & c",
    metrics: [metric("rate", "r", "u")] as const,
  }));
  expect(comparisonChart({ ...comparison, rows })).toContain(">a &lt; b &amp; c<");
});

test("programs that cannot be found are named with the Debian packages that bring them", () => {
  expect(lacking("coreutils", "ls")).toBeUndefined();
  expect(lacking("one and two", "ls", "no-such-program")).toBe(
    "no-such-program cannot be found: install the Debian packages one and two",
  );
});

test("rows and tunnels are chosen by the beginning of their names", () => {
  expect(choose(allTunnels, ["rathole", "nginx"], "tunnel").map(({ name }) => name)).toEqual([
    "rathole-tls",
    "rathole-noise",
    "nginx",
  ]);
  expect(choose(allTunnels, [], "tunnel")).toBe(allTunnels);
  expect(() => choose(allTunnels, ["chisel"], "tunnel")).toThrow(
    /There is no tunnel called chisel; choose from drawbridge, /,
  );
});

test("what is not installed is left out, with one sentence for each reason", () => {
  const without = (name: string, reason: string) => ({ ...tunnel(name), problem: () => reason });
  const ratholes = ["rathole-tls", "rathole-noise"].map((name) => without(name, "it is not built"));
  const found = available([...ratholes, tunnel("direct"), without("nginx", "install nginx-core")]);
  expect(found.leftOut).toEqual([
    "rathole, TLS and rathole, Noise: it is not built",
    "nginx stream twice: install nginx-core",
  ]);
  expect(found.tunnels.map(({ name }) => name)).toEqual(["direct"]);
});

test("the page, its picture and README are what docs/comparison.json says", () => {
  const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
  const comparison = fromJson<Comparison>(read("docs/comparison.json"));
  expect(read("docs/comparison.md")).toBe(comparisonText(comparison));
  expect(read("docs/images/comparison.svg")).toBe(comparisonChart(comparison));
  expect(read("README.md")).toContain(readmeBlock(comparison));
});
