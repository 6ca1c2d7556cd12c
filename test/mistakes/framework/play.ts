/** Plays each mistake: made, asked about, judged; then taken back, and asked again. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, inject, test } from "vitest";
import { equipped } from "../../support/lab/equipment.js";
import { waitUntil } from "../../support/processes/deadline.js";
import { open } from "../open.js";
import { pageRows, unsaid } from "./page.js";
import type { Mistake, Scene, Wanted } from "./row.js";
import { Stage } from "./stage.js";
import { type KnownFlags, lineOf, type Said, untruths } from "./truth.js";

/** One row of the score. */
export interface Verdict extends Pick<Mistake, "id" | "group" | "title"> {
  /** See open.ts. */
  readonly open?: string;
  readonly cause: boolean;
  readonly remedy: boolean;
  /** Everything that was said and is not so, the mistake's own words after it was taken back included. */
  readonly untrue: readonly string[];
  /** Everything else that is not as it must be. */
  readonly problems: readonly string[];
}

const SAY_WITHIN_MS = 12_000;
const WORK_WITHIN_MS = 30_000;
const ASK_AGAIN_MS = 250;

/** The tests of these rows. `prepare` gets each stage before it is used; it may join it to a cluster, say. */
export function playAll(
  rows: readonly Mistake[],
  prepare: (stage: Stage) => Promise<void> = async () => undefined,
): void {
  const verdicts: Verdict[] = [];
  afterAll(() => {
    const name = `${rows[0]?.id ?? "none"}.json`;
    writeFileSync(join(inject("mistakes").folder, name), JSON.stringify(verdicts));
  });
  describe.concurrent("the mistake is named with its remedy, and nothing untrue is said", () => {
    test.each(rows.map((row) => [row.id, row] as const))("%s", async (_, row) => {
      if (!(await equipped({ namespaces: true, ...row.needs }))) return;
      const { verdict, transcript } = await judge(row, prepare);
      verdicts.push(verdict);
      if (process.env.DRAWBRIDGE_MISTAKES_SHOW) process.stderr.write(transcript);
      const isGood = verdict.cause && verdict.remedy && verdict.untrue.length + verdict.problems.length === 0;
      if (open[row.id] !== undefined)
        return expect(isGood, `${row.id} is good now: take it out of open.ts`).toBe(false);
      expect({ ...verdict, isGood }, transcript).toMatchObject({ cause: true, remedy: true, untrue: [], problems: [] });
    });
  });
}

async function judge(row: Mistake, prepare: (stage: Stage) => Promise<void>) {
  const { id, group, title } = row;
  const problems: string[] = [];
  const untrue: string[] = [];
  let named = { cause: false, remedy: false };
  let transcript = "";
  const stage = await Stage.make();
  try {
    await prepare(stage);
    const wrong = await row.play(stage, true);
    checkPlaces(row, wrong);
    const said = await askUntilSaid(row, wrong);
    named = whatIsNamed(row, said, problems);
    untrue.push(...(await judgeTruth(stage, row, said)));
    if (!row.isHarmless && (await wrong.works())) problems.push("the thing works in spite of the mistake");
    problems.push(...pageProblems(row, said));
    transcript += transcriptOf(`${id}: ${title}`, said);
    const healed = await askWithout(stage, row, wrong);
    untrue.push(...healed.untrue);
    problems.push(...healed.problems);
    transcript += transcriptOf(`${id}, taken back`, healed.said);
  } catch (reason) {
    problems.push(reason instanceof Error ? (reason.stack ?? reason.message) : String(reason));
  } finally {
    await stage.close();
  }
  const verdict: Verdict = {
    id,
    group,
    title,
    ...(open[id] !== undefined && { open: open[id] }),
    ...named,
    untrue,
    problems,
  };
  return { verdict, transcript: `${transcript}\n${JSON.stringify(verdict, undefined, 2)}\n` };
}

function checkPlaces({ id, tells }: Mistake, { places }: Scene): void {
  for (const place of Object.keys(tells))
    if (places[place] === undefined) throw new Error(`${id} has no place ${place}`);
}

/** What a place complains of: of a report only what is not in order, for "ok" names no cause and helps nobody. */
function complaints({ place, text }: Said): string {
  if (place.endsWith("doctor")) return text.replaceAll(/^(?:ok|skipped) .*\n(?: {9}.*\n)*/gm, "");
  if (!place.endsWith("findings")) return text;
  const items = /^200 (\{.*\})/s.exec(text)?.[1];
  if (items === undefined) return text;
  const { items: findings } = JSON.parse(items) as { items: { state: string }[] };
  return JSON.stringify(findings.filter(({ state }) => state === "failed" || state === "warning"));
}

const isSaid = (text: string, { cause, remedy }: Wanted): boolean =>
  (cause === undefined || cause.test(text)) && (remedy === undefined || remedy.test(text));

/** One place after the other, each until it has said what it must, or nobody has time left; then what each says. */
async function askUntilSaid({ tells, withinMs = SAY_WITHIN_MS }: Mistake, { places }: Scene): Promise<Said[]> {
  const giveUpAt = Date.now() + withinMs;
  const said: Said[] = [];
  for (const [place, ask] of Object.entries(places)) {
    let text = await ask();
    while (!isSaid(complaints({ place, text }), tells[place] ?? {}) && Date.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
      text = await ask();
    }
    said.push({ place, text });
  }
  return said;
}

function whatIsNamed({ tells }: Mistake, said: readonly Said[], problems: string[]) {
  const named = { cause: true, remedy: true };
  for (const part of ["cause", "remedy"] as const) {
    const wanted = Object.entries(tells).flatMap(([place, { [part]: pattern }]) =>
      pattern ? [[place, pattern] as const] : [],
    );
    if (wanted.length === 0) throw new Error(`no place must tell the ${part}`);
    for (const [place, pattern] of wanted) {
      if (pattern.test(complaints(said.find((each) => each.place === place)!))) continue;
      named[part] = false;
      problems.push(`${place} does not tell the ${part} (${pattern})`);
    }
  }
  return named;
}

async function judgeTruth(
  stage: Stage,
  { timesOut, quotes, untrue = [] }: Mistake,
  said: readonly Said[],
): Promise<string[]> {
  const own = said.flatMap(({ place, text }) =>
    untrue.flatMap((pattern) => {
      const line = lineOf(text, pattern);
      return line === undefined ? [] : [`${place} says ${pattern}: ${line.trim().slice(0, 300)}`];
    }),
  );
  return [...own, ...(await untruths(stage, said, { timesOut, quotes, known: knownFlags() }))];
}

async function askWithout(stage: Stage, row: Mistake, wrong: Scene) {
  const problems: string[] = [];
  const before = new Map<string, string>();
  let scene = wrong;
  if (wrong.heal === undefined) {
    await stage.clear();
    scene = await row.play(stage, false);
  } else {
    for (const [place, ask] of Object.entries(wrong.places)) before.set(place, await ask());
    await wrong.heal();
  }
  await waitUntil("the thing to work with the mistake taken back", () => scene.works(), {
    withinMs: WORK_WITHIN_MS,
  }).catch((reason: Error) => problems.push(reason.message));
  const said: Said[] = [];
  for (const [place, ask] of Object.entries(scene.places)) {
    const text = await ask();
    const old = before.get(place) ?? "";
    said.push({ place, text: old !== "" && text.startsWith(old) ? text.slice(old.length) : text });
  }
  const untrue = said.flatMap(({ place, text: whole }) =>
    Object.entries(row.tells[place] ?? {}).flatMap(([part, pattern]: [string, RegExp]) => {
      const line = lineOf(complaints({ place, text: whole }), pattern);
      return line === undefined ? [] : [`${place} still tells the ${part} (${pattern}): ${line.trim().slice(0, 300)}`];
    }),
  );
  return { said, problems, untrue: [...untrue, ...(await judgeTruth(stage, row, said))] };
}

function pageProblems({ id }: Mistake, said: readonly Said[]): string[] {
  const row = pageRows().get(id);
  if (row === undefined) return [`docs/troubleshooting.md has no row ${id}`];
  const missing = unsaid(
    row,
    said.map(({ text }) => text),
  );
  return missing.map((quote) => `docs/troubleshooting.md quotes what nobody said: ${quote}`);
}

let flags: KnownFlags | undefined;

function knownFlags(): KnownFlags {
  flags ??= JSON.parse(readFileSync(inject("mistakes").flagsFile, "utf8")) as KnownFlags;
  return flags;
}

function transcriptOf(title: string, said: readonly Said[]): string {
  const parts = said.map(
    ({ place, text }) => `--- ${place}\n${text.length > 12_000 ? `${text.slice(0, 12_000)}\n...` : text}\n`,
  );
  return `\n===== ${title}\n${parts.join("")}`;
}
