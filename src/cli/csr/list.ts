/** `drawbridge csr list`: what is pending, what an approver would do, and what others have to decide. */

import { table } from "../../base/text.js";
import { type Decision, decide } from "../../cluster/nodes/csr/decide.js";
import { type ForeignRequest, foreignRequestOf } from "../../cluster/nodes/csr/signing-request.js";
import { defineCommand } from "../framework/define.js";
import { csrFlags, INVENTORY_HELP, withRequests } from "./shared.js";

export default defineCommand({
  purpose: `Lists the pending requests of kubelets with what an approver that was started with the same flags would do, and those
of other signers with who decides about them; drawbridge never approves the latter. Changes nothing.

${INVENTORY_HELP}`,
  examples: ["drawbridge csr list"],
  flags: csrFlags,
  run: (flags) =>
    withRequests(flags, ({ requests, state }) => ({
      decisions: requests.map((request) => decide(request, state)).filter((decision) => decision !== undefined),
      others: requests.map(foreignRequestOf).filter((other) => other !== undefined),
    })),
  show: {
    text: ({ decisions, others }) => `${decisionsText(decisions)}${othersText(others)}`,
    json: ({ decisions, others }) => ({
      requests: decisions.map(({ findings: _findings, remember: _remember, ...shown }) => shown),
      others,
    }),
  },
});

function decisionsText(decisions: readonly Decision[]): string {
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

function othersText(others: readonly ForeignRequest[]): string {
  if (others.length === 0) return "";
  return `\nPending requests of other signers, which drawbridge never approves:\n${table([
    ["REQUEST", "SIGNER", "SUBJECT", "USER", "WHO DECIDES"],
    ...others.map(({ decider, request, signer, subject, user }) => [request, signer, subject || "-", user, decider]),
  ])}`;
}
