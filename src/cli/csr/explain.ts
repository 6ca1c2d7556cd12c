/** `drawbridge csr explain NAME`: every rule, one by one. */
import type { Decision } from "../../cluster/nodes/csr/decide.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { csrFlags, decisionAbout, INVENTORY_HELP, withRequests } from "./shared.js";

export default defineCommand({
  purpose: `Goes through every rule for one pending request and says which it keeps and which it breaks. Changes nothing.
Ends with 0 when it would be approved, with 1 otherwise.

${INVENTORY_HELP}`,
  words: "NAME",
  examples: ["drawbridge csr explain csr-8b2xk"],
  flags: csrFlags,
  run(flags, { words }) {
    const name = onlyWord(words, "the name of the request");
    return withRequests(flags, (snapshot) => decisionAbout(name, snapshot).decision);
  },
  show: { text: explainText, json: ({ remember: _remember, ...shown }) => shown },
  exitCode: ({ action }) => (action === "approve" ? 0 : 1),
});

const ACTIONS = { approve: "would be approved", leave: "stays pending", deny: "would be denied" } as const;

function explainText(decision: Decision): string {
  const { action, explanation, findings, kind, node, pool, request, rule } = decision;
  const width = Math.max(...findings.map(({ rule: id }) => id.length));
  const lines = findings.map(({ demands, objection, rule: id, yields }) => {
    const sentence =
      objection === undefined ? demands : `${objection} (demanded: ${demands}${yields ? "; --despite works" : ""})`;
    return `  ${objection === undefined ? "kept  " : "BROKEN"}  ${id.padEnd(width)}  ${sentence}\n`;
  });
  const because = rule === "all" ? explanation : `${explanation} (rule ${rule})`;
  return [
    `${request} asks for a ${kind} certificate of ${node || "nobody"}${pool ? ` in ${pool}` : ""} and ${ACTIONS[action]}: ${because}\n\n`,
    ...lines,
  ].join("");
}
