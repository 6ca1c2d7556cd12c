/** The table of docs/security.md, made of the last results of each attack. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { writeSection } from "../../test/support/command/docs-section.js";
import { attacks } from "../attacks/index.js";
import type { Verdict } from "../harness/verdict.js";

/** What is kept of a verdict. */
interface Result {
  readonly withstood: boolean;
  readonly why: string;
  readonly p99Ms: number;
  readonly sinkP99Ms?: number;
  readonly peakMiB?: number;
}

type Results = Readonly<Record<string, { readonly ours?: Result; readonly upstream?: Result }>>;

const SECTION = { page: "security.md", name: "attacks", command: "npm run attack -- --write" };
const docs = (name: string): string => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));

export function writeDocs(verdicts: readonly Verdict[], whose: "ours" | "upstream"): void {
  const file = docs("security.json");
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : {};
  const made = verdicts.filter(({ skipped }) => skipped === undefined);
  const fresh = new Map(made.map((verdict) => [verdict.name, resultOf(verdict)]));
  const results = Object.fromEntries(
    attacks.map(({ name }) => {
      const result = fresh.get(name);
      return [name, { ...known[name], ...(result && { [whose]: result }) }];
    }),
  );
  writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  writeSection(SECTION, table(results));
}

function resultOf({ failures, p99Ms, sinkP99Ms, peakMiB }: Verdict): Result {
  const rounded = (value: number | undefined) => (value === undefined ? undefined : Math.round(value * 10) / 10);
  const [sink, peak] = [rounded(sinkP99Ms), rounded(peakMiB)];
  return {
    withstood: failures.length === 0,
    why: failures.map((failure) => failure.split("\n")[0]).join("; "),
    p99Ms: rounded(p99Ms) ?? 0,
    ...(sink !== undefined && { sinkP99Ms: sink }),
    ...(peak !== undefined && { peakMiB: peak }),
  };
}

function table(results: Results): string {
  const rows = attacks.map(({ name, against, description }) => {
    const { ours, upstream } = results[name] ?? {};
    return `| \`${name}\` | ${against} | ${description} | ${cell(ours)} | ${cell(upstream)} |`;
  });
  return ["| Attack | Against | What is done | drawbridge | upstream |", "|---|---|---|---|---|", ...rows, ""].join(
    "\n",
  );
}

function cell(result: Result | undefined): string {
  if (!result) return "–";
  const { withstood, why, p99Ms, sinkP99Ms, peakMiB } = result;
  const p99 = `p99 ${whole(p99Ms)} ms${sinkP99Ms === undefined ? "" : ` (sink ${whole(sinkP99Ms)})`}`;
  const figures = `${p99}, ${peakMiB === undefined ? "ended" : `${whole(peakMiB)} MiB`}`;
  return withstood
    ? `withstood; ${figures}`
    : `**not withstood**: ${why.replaceAll("|", "/").slice(0, 160)}; ${figures}`;
}

const whole = (value: number): string => value.toFixed(0);
