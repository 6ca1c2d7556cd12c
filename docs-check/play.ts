/** Plays the commands of a page on their fixtures, in the order in which they stand. */
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LabProcess } from "../test/support/lab/process.js";
import { run } from "../test/support/lab/run.js";
import { Scope } from "../test/support/lab/scope.js";
import { until } from "../test/support/lab/wait.js";
import { isPrinted } from "./expectation.js";
import { type Fixture, type FixtureKind, filledIn } from "./fixture.js";
import type { Check } from "./marker.js";
import type { Block } from "./page.js";

const PROGRAMS = fileURLToPath(new URL("../dist/bin", import.meta.url));
const LIMIT_MS = 240_000;

export interface Played {
  readonly line: number;
  /** What was run, or done by the lab. */
  readonly title: string;
  readonly ms: number;
  /** Undefined when it did what the page says. */
  readonly failure: string | undefined;
}

/** One page's commands for one fixture. What comes after a failure would only fail because of it, and is left. */
export async function playStage(
  name: string,
  kind: FixtureKind,
  blocks: readonly Block[],
  tell: (played: Played) => void,
): Promise<boolean> {
  const scope = new Scope(`docs-${name}`);
  try {
    const began = performance.now();
    const took = () => performance.now() - began;
    const fixture = await kind.set(scope).then(
      (made) => ({ ...made, scope }),
      (reason: Error) => void tell({ line: 0, title: `(lab: ${name})`, ms: took(), failure: reason.message }),
    );
    if (fixture === undefined) return false;
    tell({ line: 0, title: `(lab: ${name})`, ms: took(), failure: undefined });
    mkdirSync(folderOf(fixture), { recursive: true });
    const player = new Player(fixture, name);
    for (const [index, block] of blocks.entries()) {
      const played = await player.play(block, blocks[index + 1]);
      if (played === undefined) continue;
      tell(played);
      if (played.failure !== undefined) return false;
    }
    return true;
  } finally {
    await scope.close();
  }
}

const folderOf = ({ scope }: Fixture): string => scope.file("here");

class Player {
  readonly #fixture: Fixture;
  readonly #name: string;
  readonly #running = new Map<string, LabProcess>();

  constructor(fixture: Fixture, name: string) {
    this.#fixture = fixture;
    this.#name = name;
  }

  /** Undefined for blocks that are not of this fixture. */
  async play({ line, text, marker }: Block, next: Block | undefined): Promise<Played | undefined> {
    if (marker === undefined || !("fixture" in marker) || marker.fixture !== this.#name) return undefined;
    const began = performance.now();
    const title = marker.kind === "check" ? firstLine(text) : `(${marker.kind === "lab" ? marker.step : marker.name})`;
    let failure: string | undefined;
    try {
      if (marker.kind === "lab") await this.#step(marker.step);
      else if (marker.kind === "file") this.#write(marker.name, text);
      else if (marker.staysAs !== undefined) await this.#keep(marker, marker.staysAs, text);
      else failure = await this.#check(marker, text, next?.marker?.kind === "prints" ? next.text : undefined);
    } catch (reason) {
      failure = (reason as Error).message;
    }
    return { line, title, ms: performance.now() - began, failure };
  }

  async #step(name: string): Promise<void> {
    const step = this.#fixture.steps[name];
    if (step === undefined) throw new Error(`the fixture ${this.#name} has no step "${name}"`);
    await step();
  }

  #write(name: string, text: string): void {
    const path = join(folderOf(this.#fixture), name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${filledIn(text, this.#fixture.words)}\n`, { mode: 0o600 });
  }

  async #keep(check: Check, name: string, text: string): Promise<void> {
    await this.#running.get(name)?.stop();
    const script = `cd ${folderOf(this.#fixture)} && exec ${filledIn(text, this.#fixture.words)}`;
    const running = LabProcess.start(this.#fixture.scope, {
      name: `stays-${name}-${this.#running.size}`,
      command: this.#command(check, script),
      env: this.#env(),
    });
    this.#running.set(name, running);
  }

  async #check(check: Check, text: string, expected: string | undefined): Promise<string | undefined> {
    const script = `set -euo pipefail\ncd ${folderOf(this.#fixture)}\n${filledIn(text, this.#fixture.words)}\n`;
    let failure: string | undefined;
    const attempt = async () => {
      const outcome = await run(this.#command(check, script), { env: this.#env(), timeoutMs: LIMIT_MS });
      const output = outcome.stdout + outcome.stderr;
      failure = undefined;
      if (outcome.code !== check.endsWith) failure = `ended with ${outcome.code}, not ${check.endsWith}`;
      else if (expected !== undefined && !isPrinted(filledIn(expected, this.#fixture.words), output))
        failure = "did not print what the page says";
      if (failure !== undefined) failure += `:\n${output.trimEnd()}${this.#logs()}`;
      return failure === undefined;
    };
    await until("the command to do what the page says", check.withinMs, attempt, 500).catch(() => undefined);
    return failure;
  }

  /** The end of what programs said that run on: they are often why a command fails. */
  #logs(): string {
    const ended = [...this.#running.entries()].filter(([, running]) => !running.alive);
    return ended.map(([name, running]) => `\n--- ${name} has ended:\n${running.log().slice(-2000)}`).join("");
  }

  #command({ at }: Check, script: string): [string, ...string[]] {
    const { hosts } = this.#fixture;
    const way = at === undefined ? Object.values(hosts)[0] : hosts[at];
    if (way === undefined) throw new Error(`the fixture ${this.#name} has no host "${at}"`);
    const [program = "bash", ...args] = way(["bash", "-c", script]);
    return [program, ...args];
  }

  #env(): Record<string, string> {
    const { env } = this.#fixture;
    return { ...env, PATH: [PROGRAMS, env.PATH, process.env.PATH].filter(Boolean).join(delimiter) };
  }
}

function firstLine(text: string): string {
  const lines = text.split("\n").filter((line) => !line.startsWith("#"));
  const [first = ""] = lines;
  return lines.length > 1 ? `${first.replace(/ *\\$/, "")} ...` : first;
}
