/** `drawbridge top`: one process on the terminal, or once as JSON. */
import { stripVTControlCharacters } from "node:util";
import type { Dump } from "../../insight/observe/admin/contract.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean, duration } from "../flags/flag-value.js";
import { parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { addOutput, type PlainCommand, refused, runPlainCommand } from "../framework/plain-command.js";
import { addAdminPortFlags, checkAdminPortFlags, openAdminPort } from "../tunnel/admin-port-flags.js";

const command: PlainCommand<ReturnType<typeof declare>> = {
  purpose: `Shows a server, agent, sidecar or Ignition server on the terminal: rates, peers, tunnels, what was refused.

Keys: q ends it, / searches, s sorts by another column, r turns the order round, arrows and pages scroll.`,
  declare,
  check(flags, [word]) {
    if (word !== undefined) throw refused(`${JSON.stringify(word)} belongs to no flag`);
    checkAdminPortFlags(flags);
    if (flags.output.value === "json" && !flags.once.value) throw refused("--output json is for --once");
    if (toMilliseconds(flags.interval.value) < 100) throw refused("--interval must be 100ms or more");
  },
  async run(flags) {
    const port = await openAdminPort(flags);
    if (flags.once.value) return once(await port.get<Dump>("dump"), flags.output.value === "json");
    if (!process.stdin.isTTY || !process.stdout.isTTY)
      throw refused("top draws on a terminal and there is none here; --once prints one picture");
    // Whatever is wrong with address or token is better said on a screen that stays.
    await port.get("process");
    const { runTop } = await import("../../insight/watch/terminal/top.js");
    await runTop(port, { input: process.stdin, output: process.stdout }, toMilliseconds(flags.interval.value));
    return 0;
  },
};

function declare(set: FlagSet) {
  return {
    ...addAdminPortFlags(set),
    once: set.add("once", boolean, false, "Print one picture and end."),
    interval: set.add("interval", duration, parseGoDuration("1s"), "Time between two pictures."),
    output: addOutput(set),
  };
}

async function once(dump: Dump, asJson: boolean): Promise<number> {
  const [{ World }, { History }, { screen }, { FIRST_CHOICES }, { safeJson }] = await Promise.all([
    import("../../insight/watch/view/world.js"),
    import("../../insight/watch/view/history.js"),
    import("../../insight/watch/terminal/screen.js"),
    import("../../insight/watch/terminal/keys.js"),
    import("../../base/text.js"),
  ]);
  if (asJson) {
    process.stdout.write(`${safeJson(dump)}\n`);
    return 0;
  }
  const { tunnels, ...facts } = dump;
  const world = new World({ ...facts, tunnelCount: tunnels.length }, Date.now());
  world.add({ tunnels, more: false });
  const size = { columns: process.stdout.columns ?? 120, rows: tunnels.length + 60 };
  const lines = screen({ world, history: new History(), problem: "" }, FIRST_CHOICES, size, dump.process.now);
  const text = `${lines.slice(0, -1).join("\n")}\n`;
  process.stdout.write(process.stdout.isTTY ? text : stripVTControlCharacters(text));
  return 0;
}

export const topCommand = (program: string, argv: readonly string[]): Promise<number> =>
  runPlainCommand(program, argv, command);
