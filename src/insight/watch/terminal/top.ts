/** Draws a process on the terminal until a key or a signal ends it, and leaves the terminal as it was. */
import type { ReadStream, WriteStream } from "node:tty";
import { stripVTControlCharacters } from "node:util";
import { messageOf } from "../../../base/errors/error.js";
import type { Finding } from "../../../base/finding.js";
import { healthOf } from "../../diagnosis/health.js";
import type { HistoryInfo, Page } from "../../observe/admin/contract.js";
import type { AdminPort } from "../admin-port.js";
import { Follower } from "../follower.js";
import { type Choices, FIRST_CHOICES, listsOf } from "./choices.js";
import { pressed } from "./keys.js";
import { screen, type Watched } from "./screen.js";

/** Another screen, no cursor, no wrapping: letters of some scripts are wider than they count. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";
const DIAGNOSE_MS = 5_000;

export interface Terminal {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly hasColours: boolean;
}

/** What the process says of itself when it is asked. */
export async function diagnosed(port: AdminPort): Promise<Pick<Watched, "health" | "past">> {
  const [found, past] = await Promise.all([
    port.find<Page<Finding>>("findings?limit=1000"),
    port.find<HistoryInfo>("history"),
  ]);
  return { health: found && healthOf(found.items), past };
}

export async function runTop(port: AdminPort, terminal: Terminal, intervalMs: number): Promise<void> {
  const { input, output, hasColours } = terminal;
  const stop = new AbortController();
  const leave = () => stop.abort();
  let choices: Choices = FIRST_CHOICES;
  let said: Awaited<ReturnType<typeof diagnosed>> = {};
  const follower = new Follower(port);
  const draw = () => {
    const size = { columns: output.columns || 80, rows: output.rows || 24 };
    const now = Date.now() - (follower.view?.clockSkewMs ?? 0);
    const { view, history, problem } = follower;
    const lines = screen({ view, history, problem, ...said }, choices, size, now);
    const shown = hasColours ? lines : lines.map(stripVTControlCharacters);
    output.write(`${HOME}${shown.map((each) => each + CLEAR_LINE).join("\r\n")}${CLEAR_BELOW}`);
  };
  const diagnose = async () => {
    // The stream says when the process does not answer.
    said = await diagnosed(port).catch(() => said);
  };
  const drainSelected = () => {
    const { peer } = follower.view === undefined ? {} : listsOf(follower.view, choices);
    if (peer === undefined || follower.view?.facts.process.role !== "server") return;
    port.post(`agents/${peer.key}/drain`).catch((reason: unknown) => {
      follower.problem = messageOf(reason);
    });
  };
  const onKey = (data: Buffer) => {
    const key = data.toString("utf8");
    if (choices.overlay === "drain" && key === "y") drainSelected();
    const next = pressed(key, choices);
    if (next === undefined) return leave();
    choices = follower.view === undefined ? next : { ...next, at: listsOf(follower.view, next).at };
    draw();
  };
  output.write(ENTER);
  input.setRawMode(true);
  input.on("data", onKey);
  output.on("resize", draw);
  // Nobody sees it any more; main reports a failed write.
  output.once("error", leave).once("close", leave);
  process.once("SIGINT", leave).once("SIGTERM", leave).once("SIGHUP", leave);
  const timers = [
    setInterval(() => {
      follower.sample(Date.now());
      draw();
    }, intervalMs),
    setInterval(() => void diagnose(), DIAGNOSE_MS),
  ];
  try {
    await diagnose();
    await follower.run(stop.signal);
  } finally {
    for (const timer of timers) clearInterval(timer);
    output.off("resize", draw);
    input.off("data", onKey).setRawMode(false);
    input.pause();
    output.write(LEAVE);
  }
}
