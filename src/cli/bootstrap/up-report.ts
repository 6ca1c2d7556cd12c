/** How far `up` came, while it goes and when it is through. */

import { table } from "../../base/text.js";
import type { Progress, StepResult } from "../../cluster/bootstrap/host/step.js";
import type { UpResult } from "../../cluster/bootstrap/host/up.js";

export function progressOn(stream: { write(text: string): unknown }): Progress {
  return {
    starts: ({ title }) => void stream.write(`${title} ...\n`),
    ends(result) {
      stream.write(`${line(result)}\n`);
      // At once: what follows may have to wait for it.
      if (result.byHand !== undefined) stream.write(`\n${result.byHand}\n\n`);
    },
  };
}

function line({ title, outcome, detail, tookMs }: StepResult): string {
  const took = outcome === "done" ? `, ${(tookMs / 1000).toFixed(1)} s` : "";
  return `${title}: ${outcome}${took} (${detail})`;
}

export function upText({ steps, until, leftToYou, warnings, stateDirectory, address }: UpResult): string {
  const rows = steps.map(({ name, outcome, detail }) => [name, outcome, detail]);
  const tookMs = steps.reduce((sum, step) => sum + step.tookMs, 0);
  const next =
    leftToYou === undefined
      ? "The bridge stands."
      : `Still to do by you: start the kube-apiserver with ${leftToYou.flag}`;
  return [
    table([["STEP", "STATE", "DETAIL"], ...rows]),
    ...warnings.map((warning) => `Warning: ${warning}\n`),
    `${next}${until === undefined ? "" : `\nIt ends ${until}.`} Agents dial ${address}; the record is in ${stateDirectory}. All of it took ${(tookMs / 1000).toFixed(1)} s.\n`,
    "drawbridge bootstrap status shows how it stands, drawbridge bootstrap teardown takes it away.\n",
  ].join("");
}
