/** `npm run bench -- --peers`. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { cargoProblem } from "../../peers/cargo.js";
import { peerPath } from "../../peers/index.js";
import { loadgen } from "../load/loadgen.js";
import { raiseOpenFiles } from "../open-files.js";
import type { BenchOptions } from "../options.js";
import { quietMachine } from "../quiet.js";
import { fromJson, toJson } from "../results/json.js";
import type { Machine } from "../results/machine.js";
import { choose } from "./choose.js";
import type { Comparison } from "./comparison.js";
import { IDLE_TUNNELS, memory, type PeerRow, roundRows } from "./rows.js";
import { playComparison, type Step } from "./run.js";
import { comparisonText } from "./text.js";
import type { Tunnel } from "./tunnel.js";
import { allTunnels } from "./tunnels/index.js";
import { writeComparison } from "./write.js";

/** The target has all idle tunnels of all contenders open at the same time. */
const OPEN_FILES = (allTunnels.length + 1) * IDLE_TUNNELS;

/** Memory is measured before the rounds and shown behind the rows that move bytes. */
export const peerRows: readonly Omit<PeerRow, "measure">[] = [...roundRows.slice(0, 7), memory, ...roundRows.slice(7)];

/** The exit code: 1 when bytes were wrong. */
export async function comparePeers(options: BenchOptions, say: (line: string) => void): Promise<number> {
  loadgen();
  const names = choose(peerRows, options.rows, "row").map(({ name }) => name);
  const asked = choose(allTunnels, options.only, "tunnel");
  if (asked.some(({ name }) => name.startsWith("rathole"))) buildRathole(say);
  const { tunnels, leftOut } = available(asked);
  for (const sentence of leftOut) say(`left out: ${sentence}`);
  const complaint = raiseOpenFiles(OPEN_FILES);
  if (complaint !== undefined) say(complaint);
  const machine = await quietMachine(options.force, say);
  say(`${names.length} rows, ${tunnels.length} tunnels, ${options.rounds} rounds`);

  const began = performance.now();
  const { rounds, seconds } = options;
  const rows = roundRows.filter(({ name }) => names.includes(name));
  const steps = await playComparison({ tunnels, rows, withMemory: names.includes(memory.name), rounds, seconds, say });
  const minutes = (performance.now() - began) / 60_000;
  const run = { machine, rounds, seconds, minutes, leftOut };
  // What is written is what the file can be read back as.
  const comparison = fromJson<Comparison>(toJson(comparisonOf(run, tunnels, names, steps)));
  process.stdout.write(options.output === "json" ? toJson(comparison) : comparisonText(comparison));
  if (options.write) say(`written: ${writeComparison(comparison).join(", ")}`);
  return comparison.faults.some(({ kind }) => kind === "wrong bytes") ? 1 : 0;
}

/** It takes minutes, once. */
function buildRathole(say: (line: string) => void): void {
  if (peerPath("rathole") !== undefined || cargoProblem() !== undefined) return;
  say("rathole is built from the crates registry; this takes minutes, once");
  const build = fileURLToPath(new URL("../../peers/build.ts", import.meta.url));
  spawnSync(process.execPath, ["--import", "tsx", build, "rathole"], { stdio: ["ignore", 2, 2] });
}

/** What can be started, and one sentence for each reason why others cannot. */
export function available(asked: readonly Tunnel[]): { tunnels: Tunnel[]; leftOut: string[] } {
  const tunnels: Tunnel[] = [];
  const reasons = new Map<string, string[]>();
  for (const tunnel of asked) {
    const problem = tunnel.problem();
    if (problem === undefined) tunnels.push(tunnel);
    else reasons.set(problem, [...(reasons.get(problem) ?? []), tunnel.title]);
  }
  return { tunnels, leftOut: [...reasons].map(([problem, titles]) => `${titles.join(" and ")}: ${problem}`) };
}

type RunFacts = Pick<Comparison, "rounds" | "seconds" | "minutes" | "leftOut"> & { readonly machine: Machine };

export function comparisonOf(
  facts: RunFacts,
  tunnels: readonly Tunnel[],
  names: readonly string[],
  steps: readonly Step[],
): Comparison {
  const rows = peerRows.filter(({ name }) => names.includes(name));
  return {
    ...facts,
    contenders: tunnels.map(({ name, title, kind, version }) => ({
      ...{ name, title, version: version() },
      ...(kind && { kind }),
    })),
    rows: rows.map(({ name, title, about, metrics, better }) => {
      const own = steps.filter(({ row }) => row.name === name);
      const values = Object.fromEntries(
        [...new Set(own.map(({ tunnel }) => tunnel))].map((tunnel) => [
          tunnel.name,
          own.filter((step) => step.tunnel === tunnel).map(({ measurement }) => valuesOf(measurement)),
        ]),
      );
      return { name, title, about, metrics, better, values };
    }),
    faults: steps.flatMap(({ row, tunnel, round, measurement }) =>
      measurement.faults.map((fault) => ({ row: row.name, name: tunnel.name, round, ...fault })),
    ),
  };
}

const valuesOf = ({ values }: Step["measurement"]) => (Object.keys(values).length === 0 ? null : values);
