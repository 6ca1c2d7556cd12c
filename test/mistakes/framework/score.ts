/** Before the table: what flags there are. After it: the score. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { ours } from "../../support/processes/executables.js";
import type { Verdict } from "./play.js";
import { groups, LEAST } from "./row.js";

declare module "vitest" {
  export interface ProvidedContext {
    mistakes: { readonly folder: string; readonly flagsFile: string };
  }
}

const OUT = new URL("../../../out/", import.meta.url);

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "db-mistakes-"));
  const flagsFile = join(folder, "flags");
  writeFileSync(flagsFile, JSON.stringify(await flagsOfCommands()));
  project.provide("mistakes", { folder, flagsFile });
  return () => {
    const verdicts = readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .flatMap((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as Verdict[]);
    rmSync(folder, { recursive: true, force: true });
    if (verdicts.length === 0) return;
    const text = scoreText(verdicts);
    process.stdout.write(`\n${text}`);
    mkdirSync(OUT, { recursive: true });
    writeFileSync(new URL("mistakes.md", OUT), text);
  };
}

export function scoreText(verdicts: readonly Verdict[]): string {
  const sorted = verdicts.toSorted(
    (one, other) => groups.indexOf(one.group) - groups.indexOf(other.group) || one.id.localeCompare(other.id),
  );
  const yes = (is: boolean): string => (is ? "yes" : "NO");
  const rows = sorted.map(
    ({ id, title, cause, remedy, untrue, open }) =>
      `| ${id} | ${title} | ${yes(cause)} | ${yes(remedy)} | ${untrue.length === 0 ? "" : "UNTRUE"} | ${open ?? ""} |`,
  );
  const count = (is: (verdict: Verdict) => boolean): number => sorted.filter(is).length;
  const total = sorted.length;
  const perGroup = groups.map(
    (group) => `${group} ${count((each) => each.group === group)} of at least ${LEAST[group]}`,
  );
  return [
    "| Mistake | | Cause named | Remedy named | Untrue | Open |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
    `cause ${count(({ cause }) => cause)}/${total}, remedy ${count(({ remedy }) => remedy)}/${total}, untrue ${count(({ untrue }) => untrue.length > 0)}`,
    `${perGroup.join(", ")}`,
    "",
  ].join("\n");
}

const execute = promisify(execFile);

/** The flags of every command, out of its own --help. */
async function flagsOfCommands(): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  const read = async (words: readonly string[]): Promise<void> => {
    const { stdout } = await execute(ours("drawbridge"), [...words, "--help"]);
    const commands = /\nCommands:\n([\s\S]*?)\n\n/.exec(stdout)?.[1] ?? "";
    const names = [...commands.matchAll(/^ {2}([a-z][a-z0-9-]*) /gm)].map(([, name = ""]) => name);
    if (words.length > 0)
      found[words.join(" ")] = [...stdout.matchAll(/^ +(?:-\w, )?(--[a-z][a-z0-9-]*)/gm)].map(([, flag = ""]) => flag);
    // A few at a time: each is a process.
    for (let at = 0; at < names.length; at += 4) {
      await Promise.all(names.slice(at, at + 4).map((name) => read([...words, name])));
    }
  };
  await read([]);
  return found;
}
