/** The text that a host's bash reads from its standard input. */
import type { Call } from "./plan.js";
import library from "./shell/collect.sh?raw";

/** `root`: where the host's files lie, for tests. */
export function collectionScript(calls: readonly Call[], root = ""): string {
  const lines = calls.map((words) => `  ${words.map(quoted).join(" ")}`);
  // In a function, so that bash has read it all before any command could read from the same input.
  return `root=${quoted(root)}\n${library}\ncollect() {\n${lines.join("\n")}\n  send\n}\ncollect </dev/null\n`;
}

function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
