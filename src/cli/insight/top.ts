/** `drawbridge top`: one process on the terminal, or once as JSON. */

import { stripVTControlCharacters } from "node:util";
import { pause, systemClock } from "../../base/clock.js";
import { isColoured } from "../../base/colour.js";
import type { Dump, ProcessInfo, Totals } from "../../insight/observe/admin/contract.js";
import { FIRST_CHOICES } from "../../insight/watch/terminal/choices.js";
import { screen, type Watched } from "../../insight/watch/terminal/screen.js";
import { diagnosed, runTop } from "../../insight/watch/terminal/top.js";
import { History } from "../../insight/watch/view/history.js";
import { ProcessView } from "../../insight/watch/view/process-view.js";
import { duration, yesNo } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { adminPortFlags, openAdminPort } from "../tunnel/admin-port.js";

export default defineCommand({
  purpose: `Shows a server, agent, sidecar or Ignition server on the terminal: rates, peers, tunnels, what was refused.

Keys: ? lists them all; q ends it, Tab and the arrows select an agent or a tunnel, Enter shows all about it, d drains an
agent, / searches. NO_COLOR takes the colours away.`,
  examples: ["drawbridge top", "drawbridge top --once --output json"],
  flags: (env) => ({
    ...adminPortFlags(env),
    once: yesNo("Print the state once, with the rates of one second, and end."),
    interval: duration("1s", "Time between two updates.", { least: 100 }),
  }),
  async run(flags, { output }) {
    if (output === "json" && !flags.once) throw refused("--output json is for --once");
    const port = await openAdminPort(flags);
    if (flags.once) {
      const history = new History();
      const before = { process: await port.get<ProcessInfo>("process"), totals: await port.get<Totals>("totals") };
      history.sample(before, before.totals.at);
      await pause(systemClock, RATE_OVER_MS);
      const [dump, said] = await Promise.all([port.get<Dump>("dump"), diagnosed(port)]);
      history.sample(dump, dump.totals.at);
      const all = { ...dump, rates: history.rates, health: said.health, history: said.past };
      return { dump: all, text: pictureOf(dump, { ...said, history, problem: "" }) };
    }
    if (!process.stdin.isTTY || !process.stdout.isTTY)
      throw missing("top draws on a terminal, and there is none here", "Run it in a terminal, or give --once.");
    // A wrong address or token must be reported before the screen is cleared.
    await port.get("process");
    await runTop(
      port,
      { input: process.stdin, output: process.stdout, hasColours: isColoured(process.stdout) },
      flags.interval,
    );
    return { dump: undefined, text: "" };
  },
  show: { text: ({ text }) => text, json: ({ dump }) => dump! },
});

/** A rate needs two looks. */
const RATE_OVER_MS = 1_000;

function pictureOf(dump: Dump, watched: Omit<Watched, "view">): string {
  const { tunnels, ...facts } = dump;
  const view = new ProcessView(facts, Date.now());
  view.apply({ totals: dump.totals, tunnels: { changed: tunnels, gone: [] } });
  const size = { columns: process.stdout.columns || 120, rows: tunnels.length + 60 };
  const lines = screen({ ...watched, view }, FIRST_CHOICES, size, dump.process.now);
  const text = `${lines.slice(0, -1).join("\n")}\n`;
  return isColoured(process.stdout) ? text : stripVTControlCharacters(text);
}
