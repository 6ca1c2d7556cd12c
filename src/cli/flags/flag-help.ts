/** The flag list of --help in pflag's layout, which scripts read. */
import type { AnyFlag } from "./flag-set.js";

export function flagUsages(flags: readonly AnyFlag[]): string {
  const rows = flags.filter((flag) => !flag.hidden).map((flag) => ({ head: headOf(flag), text: textOf(flag) }));
  const width = Math.max(0, ...rows.map((row) => row.head.length));
  return rows.map((row) => `${row.head.padEnd(width)}   ${row.text}\n`).join("");
}

function headOf({ name, kind, options }: AnyFlag): string {
  const head = options.shorthand ? `  -${options.shorthand}, --${name}` : `      --${name}`;
  return kind.typeName ? `${head} ${kind.typeName}` : head;
}

function textOf(flag: AnyFlag): string {
  return flag.shownDefault === undefined ? flag.usage : `${flag.usage} (default ${flag.shownDefault})`;
}
