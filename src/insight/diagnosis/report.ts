/** Findings for people, scripts and CI. */
import { type Paint, painterFor } from "../../base/colour.js";
import { type Finding, type FindingState, findingStates, hasFailed, likelihoods } from "../../base/finding.js";
import { hanging } from "../../base/hanging.js";
import { plainText } from "../../base/text.js";

const labels = { failed: "FAILED", warning: "warning", ok: "ok", skipped: "skipped" } as const;
const PAINTS: Readonly<Record<FindingState, readonly Paint[]>> = {
  failed: ["bold", "red"],
  warning: ["yellow"],
  ok: ["green"],
  skipped: ["dim"],
};
const INDENT = " ".repeat(9);

/** Failed findings first, the most likely cause first among them; otherwise in the order of the checks. */
export function sorted(findings: readonly Finding[]): Finding[] {
  const rank = ({ state, likelihood }: Finding): number =>
    findingStates.indexOf(state) * likelihoods.length + (likelihood ? likelihoods.indexOf(likelihood) : 0);
  return findings.toSorted((one, other) => rank(one) - rank(other));
}

function countsOf(findings: readonly Finding[]): Readonly<Record<FindingState, number>> {
  const counts = { failed: 0, warning: 0, ok: 0, skipped: 0 };
  for (const { state } of findings) counts[state]++;
  return counts;
}

/** For standard output: in colour where that is a terminal. */
export function findingsText(findings: readonly Finding[]): string {
  const counts = countsOf(findings);
  const summary = `\n${counts.failed} failed, ${counts.warning} ${counts.warning === 1 ? "warning" : "warnings"}, ${counts.ok} ok, ${counts.skipped} skipped.\n`;
  return toldOnce(sorted(findings)).map(findingText).join("") + summary;
}

/** The check's name, which remedies refer to, then the code, which docs/errors.md explains. */
function findingText({ check, code, evidence, likelihood, message, remedy, state, subject }: Finding): string {
  const about = subject === undefined || message.includes(subject) ? "" : ` ${subject}`;
  const known = code === undefined ? "" : ` (${code})`;
  const doubt = likelihood === undefined ? "" : ` (${likelihood})`;
  const label = painterFor(process.stdout)(labels[state].padEnd(INDENT.length), ...PAINTS[state]);
  const [proof, todo] = [`${INDENT}  `, `${INDENT}Do: `];
  return [
    hanging(label, `${check}${about}${known}: ${plainText(sentence(message))}${doubt}`, INDENT.length),
    // What is in order needs no proof on the screen; JSON has it.
    ...(state === "ok" || state === "skipped"
      ? []
      : evidence.map((line) => hanging(proof, plainText(line), proof.length))),
    remedy === "" ? "" : hanging(todo, plainText(remedy), todo.length),
  ].join("");
}

/** Shorter ones are read faster than a reference is followed. */
const LONG = 60;

/** A long explanation stands once, where it is the message; whoever repeats it names that check instead. */
function toldOnce(findings: readonly Finding[]): Finding[] {
  const wrong = findings.filter(({ state }) => state === "failed" || state === "warning");
  return findings.map((finding) => {
    const at = wrong.indexOf(finding);
    if (at < 0) return finding;
    const others = wrong.filter((each) => each.check !== finding.check);
    const before = wrong.slice(0, at).filter((each) => each.check !== finding.check);
    const first = before.find(({ remedy, code }) => remedy === finding.remedy && code === finding.code);
    return {
      ...finding,
      message: referring(finding.message, before),
      evidence: finding.evidence.map((line) => referring(line, others)),
      remedy: finding.remedy.length < LONG || first === undefined ? finding.remedy : `As for ${first.check}.`,
    };
  });
}

/** The longest part behind a colon that another message has, too, replaced by the name of its check. */
function referring(text: string, others: readonly Finding[]): string {
  for (const { index } of text.matchAll(/: /g)) {
    const part = unchanging(text.slice(index + 2).replace(/ \(DB_[A-Z_]+\)\. .*$|\.$/, ""));
    const teller = part.length < LONG ? undefined : others.find(({ message }) => unchanging(message).includes(part));
    if (teller !== undefined) return `${text.slice(0, index)}: see ${teller.check}`;
  }
  return text;
}

/** Without what two looks at the same thing differ in: how long ago it was, and from which directory a file is named. */
const unchanging = (text: string): string =>
  text.replace(/\d+ (?:d|h|min|s)\b/g, "").replace(/[^\s"(]*\/(?=[^\s/])/g, "");

/** A word is capitalised, a name is not: csr-1 and https://... stay what they are. */
export function sentence(message: string): string {
  return `${message.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase())}.`;
}

/** `head` names what was diagnosed. A fix is shown by what it would do. */
export function findingsJson<Head extends object>(head: Head, findings: readonly Finding[]) {
  const shown = findings.map(({ fix, ...finding }) => ({ ...finding, ...(fix && { fix: fix.what }) }));
  return { ...head, ok: !hasFailed(findings), counts: countsOf(findings), findings: shown };
}

export function findingsJunit(suite: string, findings: readonly Finding[]): string {
  const { failed, skipped } = countsOf(findings);
  const total = inSeconds(findings.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0));
  const numbers = `tests="${findings.length}" failures="${failed}" errors="0" skipped="${skipped}" time="${total}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${numbers}>`,
    `  <testsuite name="${escaped(suite)}" ${numbers}>`,
    ...findings.map(testCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function testCase({ about, check, durationMs = 0, evidence, message, remedy, state, subject }: Finding): string {
  const name = subject === undefined ? about : `${about}: ${subject}`;
  const proof = escaped([message, ...evidence].join("\n"));
  const body = {
    ok: `<system-out>${proof}</system-out>`,
    warning: `<system-out>${proof}\n${escaped(remedy)}</system-out>`,
    failed: `<failure message="${escaped(message)}">${escaped([remedy, ...evidence].join("\n"))}</failure>`,
    skipped: `<skipped message="${escaped([message, remedy].filter((part) => part !== "").join(". "))}"/>`,
  }[state];
  return [
    `    <testcase classname="${escaped(check)}" name="${escaped(name)}" time="${inSeconds(durationMs)}">`,
    `      ${body}`,
    "    </testcase>",
  ].join("\n");
}

const inSeconds = (ms: number): string => (ms / 1000).toFixed(3);

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Findings hold no control characters (run.ts), so these four are all. */
function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => entities[letter] ?? letter);
}
