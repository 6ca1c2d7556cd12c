/** `drawbridge csr list`: what is pending, and what an approver would do. */

import { table } from "../../base/text.js";
import { type Decision, decide } from "../../cluster/nodes/csr/decide.js";
import { defineCommand } from "../framework/define.js";
import { csrFlags, INVENTORY_HELP, withRequests } from "./shared.js";

export default defineCommand({
  purpose: `Lists the pending requests of kubelets with what an approver that was started with the same flags would do. Changes nothing.

${INVENTORY_HELP}`,
  examples: ["drawbridge csr list --inventory workers/inventory"],
  flags: csrFlags,
  run: (flags) =>
    withRequests(flags, ({ requests, state }) =>
      requests.map((request) => decide(request, state)).filter((decision) => decision !== undefined),
    ),
  show: {
    text: listText,
    json: (decisions) => ({
      requests: decisions.map(({ findings: _findings, remember: _remember, ...shown }) => shown),
    }),
  },
});

function listText(decisions: readonly Decision[]): string {
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
