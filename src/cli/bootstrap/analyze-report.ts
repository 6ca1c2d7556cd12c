/** An analysis as a person reads it. */
import type { Evidence } from "../../cluster/bootstrap/analyze/evidence.js";
import type { Analysis, Finding } from "../../cluster/bootstrap/analyze/finding.js";

export function reportAnalysis({ bundle, kind, findings, observations }: Analysis): string {
  const by = kind === "drawbridge" ? "drawbridge bootstrap gather" : "openshift-install gather bootstrap";
  return [
    `${bundle} (by ${by})\n`,
    findings.length === 0 ? "\nNothing wrong was found.\n" : "",
    ...findings.map(findingText),
    observations.length === 0 ? "" : `\nWorth knowing:\n${observations.map((sentence) => `  ${sentence}\n`).join("")}`,
  ].join("");
}

function findingText({ id, likelihood, message, evidence, remedy }: Finding, index: number): string {
  const sentence = message.charAt(0).toUpperCase() + message.slice(1);
  return [
    `\n${index + 1}. ${sentence}. (${likelihood}, ${id})\n`,
    ...evidence.map((seen) => `     ${place(seen)}\n       ${seen.text}\n`),
    `   Do: ${remedy}\n`,
  ].join("");
}

function place({ file, line }: Evidence): string {
  return line === undefined ? file : `${file}:${line}`;
}
