/** Results as people read them, on the terminal and in docs/reliability.md. */
import type { MutantResult } from "../runner/run-mutants.js";
import type { Tally } from "../runner/run-seeds.js";
import type { OneWorld, SeedFailure } from "../runner/serve.js";

const HOUR_MS = 3_600_000;

const number = (value: number): string => Math.round(value).toLocaleString("en-US");

export function progressLine({ seeds, virtualMs, failures }: Tally, wanted: number, seconds: number): string {
  const rate = `${number(seeds / Math.max(seconds, 0.001))} a second`;
  const failed = failures.length === 0 ? "" : `, ${number(failures.length)} failed`;
  return `sim: ${number(seeds)} of ${number(wanted)} seeds, ${rate}, ${number(virtualMs / HOUR_MS)} virtual hours${failed}`;
}

export function summary({ seeds, events, virtualMs, twice, failures }: Tally, seconds: number): string {
  const failed = failures.length === 0 ? "none failed" : `${number(failures.length)} failed`;
  return [
    `${number(seeds)} seeds in ${number(seconds)} s (${number(seeds / Math.max(seconds, 0.001))} a second), ${failed}:`,
    `${number(virtualMs / HOUR_MS)} hours of virtual time, ${number(events)} events;`,
    `${number(twice)} seeds were played twice, with the same events.`,
  ].join(" ");
}

/** For a failed run that went on: how often each property did not hold, and the first seed of each. */
export function byProperty(failures: readonly SeedFailure[]): string[] {
  return [...new Set(failures.map(({ property }) => property))].map((property) => {
    const list = failures.filter((failure) => failure.property === property);
    const first = list.reduce((least, each) => (each.seed < least.seed ? each : least));
    return `${String(list.length).padStart(6)}  ${property}; seed ${first.seed}: ${first.message.split("\n")[0]}`;
  });
}

/** `world` is the least one that fails so, if it was looked for; `mutant` the planted bug, if there is one. */
export function failureText(
  { seed, property, message }: SeedFailure,
  world: OneWorld | undefined,
  mutant?: string,
): string {
  const bug = mutant === undefined ? "" : ` --mutant ${mutant}`;
  const again = `Again: npm run sim -- --seed ${seed}${bug}${world === undefined ? "" : " --shrunk"} --trace`;
  const head = [`seed ${seed} FAILED: ${property}`, message];
  if (world === undefined) return [...head, again].join("\n");
  const how = `The least world that fails so (${number(world.plays)} worlds were tried for it):`;
  return [...head, how, ...world.story.map((line) => `  ${line}`), again].join("\n");
}

export function mutantLine({ mutant, seeds, found }: MutantResult): string {
  const how = found === undefined ? "NOT FOUND" : `found by: ${found.property}`;
  return `${mutant.name.padEnd(40)} ${number(seeds).padStart(6)} seeds  ${how}`;
}

export function mutantTable(results: readonly MutantResult[]): string {
  const rows = results.map(({ mutant, seeds, found }) => {
    const how = found === undefined ? "**not found**" : found.property;
    return `| \`${mutant.name}\` | ${mutant.what} | ${number(seeds)} | ${how} |`;
  });
  return [
    "| Planted bug | What is wrong | Seeds | Property that does not hold |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}
