/** `--help` of upstream's programs and of ours, read flag by flag. */
import type { Deviations } from "./deviations.js";

export interface Row {
  readonly shorthand: string;
  readonly type: string;
  readonly default: string;
}

/** A sentence that is wrapped is one line again. */
export const unwrapped = (help: string): string => help.replace(/\n {10,}(?=\S)/g, "   ");

export function readHelp(help: string): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const line of unwrapped(help.slice(help.indexOf("\nFlags:\n"))).split("\n")) {
    const match = /^ {2}(?:-(\w), | {4})--([\w-]+)(?: (\S+))? {3,}.*?(?: \(default +(.*)\))?$/.exec(line);
    if (!match) continue;
    const [, shorthand = "", name = "", type = "", value = ""] = match;
    rows.set(name, { shorthand, type, default: value });
  }
  return rows;
}

/** What a newer upstream has that ours has not, or has otherwise, in one sentence each. */
export function behindUpstream(newest: ReadonlyMap<string, Row>, ours: ReadonlyMap<string, Row>, known: Deviations) {
  const shown = ({ shorthand, type, default: value }: Row): string =>
    JSON.stringify({ shorthand, type, default: value });
  return [...newest].flatMap(([name, theirs]) => {
    const own = ours.get(name);
    if (own === undefined) return known.hidden.includes(name) ? [] : [`--${name} is upstream's and is not accepted`];
    if (known.added.includes(name)) return [`--${name} is ours and upstream's now: compare what it does`];
    const expected = { ...theirs, default: known.defaults[name] ?? theirs.default };
    return shown(own) === shown(expected) ? [] : [`--${name} is ${shown(own)} here and ${shown(theirs)} upstream`];
  });
}
