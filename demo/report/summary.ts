import type { Paint } from "./paint.js";
import type { StepRecord } from "./recorder.js";

export interface Verdict {
  readonly isolation: "namespace" | "simulated";
  readonly means: string;
  readonly caller: string;
  readonly seconds: number;
}

export function hasPassed(records: readonly StepRecord[]): boolean {
  return records.every(({ result }) => result === "passed");
}

/** The table of steps and the verdict, for people. */
export function summaryText(records: readonly StepRecord[], verdict: Verdict, columns: number, paint: Paint): string {
  const wide = Math.max(...records.map(({ title }) => title.length));
  const left = wide + 20;
  const heading = `${"step".padEnd(wide)}  result   seconds  what it showed`;
  const rows = records.map(({ title, result, seconds, shown }) => {
    const word = result.toUpperCase().padEnd(7);
    const colour = { passed: "green", failed: "red", "not run": "dim" } as const;
    const time = result === "not run" ? "" : seconds.toFixed(1);
    const lines = wrap(shown.split("\n")[0]!, Math.max(20, columns - left));
    return `${title.padEnd(wide)}  ${paint(colour[result], word)}  ${time.padStart(7)}  ${lines.join(`\n${" ".repeat(left)}`)}`;
  });
  return [
    "",
    paint("bold", heading),
    "-".repeat(Math.min(columns, left + 40)),
    ...rows,
    "",
    verdictLine(records, verdict, paint),
    "",
  ].join("\n");
}

function verdictLine(records: readonly StepRecord[], verdict: Verdict, paint: Paint): string {
  const passed = records.filter(({ result }) => result === "passed").length;
  const word = hasPassed(records) ? paint("green", "PASSED") : paint("red", "FAILED");
  const facts = [
    `${passed}/${records.length} steps in ${verdict.seconds.toFixed(1)} s`,
    `isolation: ${verdict.isolation}`,
    `caller: ${verdict.caller}`,
  ];
  return `${word}: ${facts.join(", ")}`;
}

/** The same for programs. */
export function summaryJson(records: readonly StepRecord[], verdict: Verdict): string {
  const round = (seconds: number) => Math.round(seconds * 1000) / 1000;
  const steps = records.map((record) => ({ ...record, seconds: round(record.seconds) }));
  const summary = { passed: hasPassed(records), ...verdict, seconds: round(verdict.seconds), steps };
  return `${JSON.stringify(summary, null, 2)}\n`;
}

function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line !== "" && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}
