/** Diagnoses as a person reads them: what is wrong first. */
import type { Diagnosis, Role } from "../../insight/diagnosis/diagnosis.js";

const places: Readonly<Record<Role, string>> = {
  server: "a server's host",
  agent: "an agent's place",
  bootstrap: "an OpenShift bootstrap host",
  workstation: "a workstation",
  sidecar: "a sidecar's place",
  ignition: "an Ignition server's place",
  nodepool: "a pool controller's place",
  approver: "a CSR approver's place",
};

const marks = { wrong: "WRONG", warning: "warn", ok: "ok", skipped: "-" } as const;
const order = ["wrong", "warning", "ok", "skipped"] as const;

export function reportDiagnoses(role: Role, found: readonly Diagnosis[]): string {
  return `Looking as on ${places[role]} (--role).\n\n${diagnosesText(found)}`;
}

export function diagnosesText(found: readonly Diagnosis[]): string {
  const sorted = order.flatMap((state) => found.filter((diagnosis) => diagnosis.state === state));
  const counted = (state: Diagnosis["state"]) => found.filter((diagnosis) => diagnosis.state === state).length;
  return [
    ...sorted.map(line),
    `\n${counted("wrong")} wrong, ${counted("warning")} to look at, ${counted("ok")} in order, ${counted("skipped")} not asked.\n`,
  ].join("");
}

function line({ id, state, finding, evidence, remedy }: Diagnosis): string {
  // A word, but never a name: csr-1 and https://... are what they are.
  const sentence = finding.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return [
    `${marks[state].padEnd(6)}${id}: ${printable(sentence)}.\n`,
    // What is in order needs no proof on the screen; JSON has it.
    ...(state === "ok" || state === "skipped" ? [] : evidence.map((text) => `        ${printable(text)}\n`)),
    remedy === "" ? "" : `      Do: ${printable(remedy)}\n`,
  ].join("");
}

/** Names of processes and answers of servers are somebody else's words. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");
}
