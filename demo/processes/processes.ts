import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { within } from "../../test/support/processes/deadline.js";
import { tiedToParent } from "./tie.js";

export interface Running {
  readonly name: string;
  readonly pid: number;
  readonly alive: boolean;
  /** The exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
  /** The last lines it wrote. */
  tail(lines: number): string;
  /** From here on its end is no surprise. */
  kill(signal: NodeJS.Signals): void;
}

interface Launch {
  /** Puts the command on the agents' side. */
  readonly far?: (argv: readonly string[]) => string[];
  /** The story can do without it. */
  readonly mayFail?: boolean;
}

/** Every process of the story, each ended by its own pid. */
export class Processes {
  /** Rejects when a process ends that nobody has ended: no step needs to wait for it then. */
  readonly lost: Promise<never>;
  readonly #folder: string;
  readonly #tie: boolean;
  readonly #all: Running[] = [];
  #closed = false;
  #lose!: (reason: Error) => void;

  constructor(folder: string, tie: boolean) {
    this.lost = new Promise((_, reject) => {
      this.#lose = reject;
    });
    this.lost.catch(() => {});
    this.#folder = folder;
    this.#tie = tie;
    process.once("exit", () => this.#signalAll("SIGKILL"));
  }

  get all(): readonly Running[] {
    return this.#all;
  }

  start(name: string, argv: readonly string[], { far = (argv) => [...argv], mayFail = false }: Launch = {}): Running {
    // A step that an interruption overtook may still come here.
    if (this.#closed) throw new Error("the demo is ending");
    const log = join(this.#folder, `${name}.log`);
    const output = openSync(log, "a", 0o600);
    const [command = "", ...args] = far(tiedToParent(this.#tie, "KILL", argv));
    const child = spawn(command, args, {
      stdio: ["ignore", output, output],
      env: environment(),
      // A session of its own: Ctrl-C is for the story, which ends its processes itself.
      detached: true,
    });
    closeSync(output);
    const running = describe(name, child, log, (how) => {
      if (!mayFail) this.#lose(new Error(`${name} ended (${how}) without being asked to`));
    });
    this.#all.push(running);
    return running;
  }

  /** Ends everything at once and waits until it is gone. No process can be started after it. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#signalAll("SIGKILL");
    await within(5_000, "all processes to end", Promise.all(this.#all.map(({ exited }) => exited)));
  }

  #signalAll(signal: NodeJS.Signals): void {
    for (const running of this.#all) running.kill(signal);
  }
}

function describe(name: string, child: ChildProcess, log: string, onSurprise: (how: number | string) => void): Running {
  let isExpected = false;
  const isAlive = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const exited = new Promise<number | string>((resolve) => {
    child.once("error", (reason) => resolve(reason.message));
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"));
  });
  exited.then((how) => isExpected || onSurprise(how)).catch(() => {});
  return {
    name,
    pid: child.pid ?? -1,
    get alive() {
      return isAlive();
    },
    exited,
    tail: (lines) => readFileSync(log, "utf8").trimEnd().split("\n").slice(-lines).join("\n"),
    kill(signal) {
      isExpected = true;
      if (isAlive()) child.kill(signal);
    },
  };
}

/** Only what programs need: a proxy or Node options meant for something else must not change the story. */
function environment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, LANG } = process.env;
  return Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR, LANG }).filter(([, value]) => value !== undefined));
}
