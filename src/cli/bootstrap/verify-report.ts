/** What `drawbridge bootstrap verify` found, for people, scripts and CI. */

import type { Status } from "../../base/check.js";
import type { TimedResult } from "../../cluster/bootstrap/verify/run-checks.js";

export type Output = "text" | "json" | "junit";

export function report(output: Output, results: readonly TimedResult[]): string {
  if (output === "json") return asJson(results);
  return output === "junit" ? asJunit(results) : asTable(results);
}

function counts(results: readonly TimedResult[]): Readonly<Record<Status, number>> {
  const count = (status: Status): number => results.filter((result) => result.status === status).length;
  return { pass: count("pass"), fail: count("fail"), skip: count("skip") };
}

const words = { pass: "pass", fail: "FAIL", skip: "skip" } as const satisfies Record<Status, string>;

/** Status, what, evidence; what to do stands below, where it is long enough to be read and copied. */
function asTable(results: readonly TimedResult[]): string {
  const width = Math.max(0, ...results.map(({ title }) => title.length).filter((length) => length <= 64));
  const lines = results.flatMap(({ status, title, evidence, remedy }) => [
    `${words[status]}  ${title.padEnd(width)}  ${evidence}`,
    ...(remedy === "" ? [] : [`      -> ${remedy}`]),
  ]);
  const { pass, fail, skip } = counts(results);
  const verdict =
    fail > 0
      ? "The bridge does not work as it should; begin with the first failure."
      : skip > 0
        ? "Nothing failed; see what was skipped."
        : "The bridge works.";
  return `${[...lines, "", `${pass} passed, ${fail} failed, ${skip} skipped. ${verdict}`].join("\n")}\n`;
}

function asJson(results: readonly TimedResult[]): string {
  const count = counts(results);
  return `${JSON.stringify({ ok: count.fail === 0, counts: count, results }, null, 2)}\n`;
}

const SUITE = "drawbridge bootstrap verify";

function asJunit(results: readonly TimedResult[]): string {
  const { fail, skip } = counts(results);
  const total = inSeconds(results.reduce((sum, { durationMs }) => sum + durationMs, 0));
  const numbers = `tests="${results.length}" failures="${fail}" errors="0" skipped="${skip}" time="${total}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${numbers}>`,
    `  <testsuite name="${SUITE}" ${numbers}>`,
    ...results.map(testCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function testCase({ id, title, status, evidence, remedy, durationMs }: TimedResult): string {
  const head = `    <testcase classname="${escaped(id)}" name="${escaped(title)}" time="${inSeconds(durationMs)}">`;
  const body = {
    pass: `      <system-out>${escaped(evidence)}</system-out>`,
    fail: `      <failure message="${escaped(evidence)}">${escaped(remedy)}</failure>`,
    skip: `      <skipped message="${escaped([evidence, remedy].filter((part) => part !== "").join(" "))}"/>`,
  }[status];
  return [head, body, "    </testcase>"].join("\n");
}

const inSeconds = (ms: number): string => (ms / 1000).toFixed(3);

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Results hold no control characters (plain-text.ts), so these four are all. */
function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => entities[letter] ?? letter);
}
