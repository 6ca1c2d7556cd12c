/** Decisions about requests, as people read them. */

import { table } from "../../base/text.js";
import type { Decision } from "../../cluster/nodes/csr/decide.js";

const verbs = { approve: "would be approved", leave: "stays pending", deny: "would be denied" } as const;

export function listText(decisions: readonly Decision[]): string {
  if (decisions.length === 0) return "No request of a kubelet is pending.\n";
  return table([
    ["REQUEST", "KIND", "NODE", "POOL", "ANSWER", "RULE", "WHY"],
    ...decisions.map(({ action, explanation, kind, node, pool, request, rule }) => [
      request,
      kind,
      node || "-",
      pool || "-",
      action,
      rule,
      explanation,
    ]),
  ]);
}

export function explainText(decision: Decision): string {
  const { action, explanation, findings, kind, node, pool, request, rule } = decision;
  const width = Math.max(...findings.map(({ rule: id }) => id.length));
  const lines = findings.map(({ demands, objection, rule: id, yields }) => {
    const said =
      objection === undefined ? demands : `${objection} (demanded: ${demands}${yields ? "; --despite works" : ""})`;
    return `  ${objection === undefined ? "kept  " : "BROKEN"}  ${id.padEnd(width)}  ${said}\n`;
  });
  const because = rule === "all" ? explanation : `${explanation} (rule ${rule})`;
  return [
    `${request} asks for a ${kind} certificate of ${node || "nobody"}${pool ? ` in ${pool}` : ""} and ${verbs[action]}: ${because}\n\n`,
    ...lines,
  ].join("");
}
