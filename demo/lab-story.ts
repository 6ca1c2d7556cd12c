/** What the stories have in common that play in a lab of real components. */
import { messageOf } from "../src/base/errors/error.js";
import { equipped, type Needs } from "../test/support/lab/equipment.js";
import { dropGuard } from "../test/support/lab/interruption.js";
import type { Scope } from "../test/support/lab/scope.js";
import { Interruption } from "./interruption.js";
import type { Options } from "./options.js";
import { painter } from "./report/paint.js";
import { Recorder } from "./report/recorder.js";
import type { Show } from "./report/show.js";
import { hasPassed, summaryJson, summaryText, type Verdict } from "./report/summary.js";

interface Lab {
  stop(): Promise<void>;
}

export interface Plot<StepName extends string> {
  readonly titles: Readonly<Record<StepName, string>>;
  /** What is shown, in one line. */
  readonly heading: string;
  /** How the hosts are isolated. */
  readonly means: string;
  play(story: LabStory<StepName>): Promise<void>;
}

/** What is missing is said in one sentence, as an error. */
export async function requireMeans(flag: string, needs: Needs): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new Error(`${flag} makes hosts out of network namespaces and mounts, which needs root: run it as root`);
  }
  process.env.DRAWBRIDGE_REQUIRE_PEERS = "1";
  await equipped(needs);
}

/** Ends the process: after an interruption a step may still be waiting for what was taken away. */
export async function playInLab<StepName extends string>(plot: Plot<StepName>, { output }: Options): Promise<never> {
  // With JSON on stdout the audience reads stderr.
  const story = new LabStory(plot, output === "json" ? process.stderr : process.stdout);
  await story.play();
  process.exit(story.report(output));
}

export class LabStory<StepName extends string> {
  /** For the verdict. */
  caller = "kube-apiserver";
  readonly #plot: Plot<StepName>;
  readonly #screen: NodeJS.WriteStream;
  readonly #interruption = new Interruption();
  readonly #recorder: Recorder<StepName>;
  readonly #begin = performance.now();
  #lab: Promise<Lab> | undefined;
  /** Of the lab, where all hosts have their files. */
  #folder: string | undefined;

  constructor(plot: Plot<StepName>, screen: NodeJS.WriteStream) {
    this.#plot = plot;
    this.#screen = screen;
    const tell = (line: string) => this.#tell(line);
    this.#recorder = new Recorder(plot.titles, tell, painter(screen), new Promise<never>(() => {}));
  }

  step<T>(name: StepName, limitSeconds: number, play: (show: Show) => Promise<T>): Promise<T> {
    return this.#recorder.step(name, limitSeconds, play);
  }

  /** From here on, the lab is taken down however the story ends. */
  async useLab<T extends Lab>(starting: Promise<T>, scopeOf: (lab: T) => Scope, show: Show): Promise<T> {
    this.#lab = starting;
    // Interrupted, the lab would end in a hurry; here there is time to take it down in good order.
    dropGuard();
    const lab = await starting;
    const { folder } = scopeOf(lab);
    show.note(`all files are in ${folder}, which is left out below`);
    this.#folder = `${folder}/`;
    return lab;
  }

  /** Returns when everything is told and gone, however it went. */
  async play(): Promise<void> {
    const { heading, means, play } = this.#plot;
    this.#tell(`drawbridge demo: ${heading}`);
    this.#tell(`isolation: namespace (${means})`);
    try {
      await this.#interruption.race(play(this));
    } catch (reason) {
      const failed = this.#recorder.records.some(({ result }) => result === "failed");
      if (!failed) this.#tell(`the demo failed: ${messageOf(reason)}`);
    }
    if (!hasPassed(this.#recorder.records)) await this.#endAll();
  }

  /** The exit code. */
  report(output: Options["output"]): number {
    if (this.#interruption.happened) {
      this.#screen.write("the demo was interrupted\n");
      return this.#interruption.exitCode;
    }
    const { records } = this.#recorder;
    const seconds = (performance.now() - this.#begin) / 1000;
    const verdict: Verdict = { isolation: "namespace", means: this.#plot.means, caller: this.caller, seconds };
    if (output === "json") process.stdout.write(summaryJson(records, verdict));
    this.#screen.write(summaryText(records, verdict, this.#screen.columns ?? 120, painter(this.#screen)));
    return hasPassed(records) ? 0 : 1;
  }

  async #endAll(): Promise<void> {
    if (this.#interruption.happened) this.#screen.write("\ninterrupted: ending and removing everything\n");
    // A lab that could not be started has removed itself.
    const lab = await this.#lab?.catch(() => undefined);
    try {
      await lab?.stop();
      this.#screen.write("everything the demo had started was ended and removed\n");
    } catch (reason) {
      this.#screen.write(`not everything could be removed: ${messageOf(reason)}\n`);
    }
  }

  /** An interrupted step fails because its props are taken away: that is not worth telling. Nor is the lab's folder. */
  #tell(line: string): void {
    if (this.#interruption.happened) return;
    this.#screen.write(`${this.#folder === undefined ? line : line.replaceAll(this.#folder, "")}\n`);
  }
}
