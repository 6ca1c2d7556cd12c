/** Draws a process on the terminal until a key or a signal ends it, and leaves the terminal as it was. */
import type { ReadStream, WriteStream } from "node:tty";
import type { AdminPort } from "../admin-port.js";
import { Follower } from "../follower.js";
import { FIRST_CHOICES, pressed } from "./keys.js";
import { screen } from "./screen.js";

/** Another screen, no cursor, no wrapping: letters of some scripts are wider than they count. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

export interface Terminal {
  readonly input: ReadStream;
  readonly output: WriteStream;
}

export async function runTop(port: AdminPort, { input, output }: Terminal, intervalMs: number): Promise<void> {
  const stop = new AbortController();
  const leave = () => stop.abort();
  let choices = FIRST_CHOICES;
  const follower = new Follower(port);
  const draw = () => {
    const size = { columns: output.columns, rows: output.rows };
    const now = Date.now() - (follower.view?.clockSkewMs ?? 0);
    const lines = screen(follower, choices, size, now);
    output.write(`${HOME}${lines.map((line) => line + CLEAR_LINE).join("\r\n")}${CLEAR_BELOW}`);
  };
  const onKey = (key: Buffer) => {
    const next = pressed(key.toString("utf8"), choices);
    if (next === undefined) return leave();
    choices = next;
    draw();
  };
  output.write(ENTER);
  input.setRawMode(true);
  input.on("data", onKey);
  output.on("resize", draw);
  // Nobody sees it any more; main reports a failed write.
  output.once("error", leave).once("close", leave);
  process.once("SIGINT", leave).once("SIGTERM", leave).once("SIGHUP", leave);
  const timer = setInterval(() => {
    follower.sample(Date.now());
    draw();
  }, intervalMs);
  try {
    await follower.run(stop.signal);
  } finally {
    clearInterval(timer);
    output.off("resize", draw);
    input.off("data", onKey).setRawMode(false);
    input.pause();
    output.write(LEAVE);
  }
}
