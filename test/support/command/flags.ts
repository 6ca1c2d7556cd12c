/** Values of flags, as the commands beside `src/` take them. Each throws a sentence. */

export function positive(flag: string, text: string, whole = false): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number > 0 && (!whole || Number.isInteger(number)))
    return number;
  throw new Error(`--${flag} must be a ${whole ? "whole " : ""}number above 0, not ${JSON.stringify(text)}.`);
}

export function outputOf(text: string): "text" | "json" {
  if (text === "text" || text === "json") return text;
  throw new Error("--output must be text or json.");
}

/** Gives flags that may stand without a value the one they then have, by name. */
export function withValues(argv: readonly string[], values: Readonly<Record<string, string>>): string[] {
  return argv.flatMap((arg, at) => {
    const next = argv[at + 1];
    const value = next === undefined || next.startsWith("--") ? values[arg.replace(/^--/, "")] : undefined;
    return value === undefined ? [arg] : [arg, value];
  });
}
