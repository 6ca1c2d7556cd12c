/** `drawbridge csr approve NAME`: a person decides, and says which rules to overlook. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { carryOut } from "../../cluster/nodes/csr/approver/requests.js";
import { type Decision, decide, noDecisionLog, openDecisionLog } from "../../cluster/nodes/csr/decide.js";
import { list, type Values } from "../flags/flag.js";
import { defineCommand } from "../framework/define.js";
import {
  type CsrAccess,
  checkCsrFlags,
  csrFlags,
  decisionLogFlag,
  findRequest,
  INVENTORY_HELP,
  lookOnce,
  notOurs,
  oneName,
  withAccess,
} from "./shared.js";

const approveFlags = {
  ...csrFlags,
  ...decisionLogFlag,
  despite: list("Rule that the request may break, as drawbridge csr explain names it; repeatable."),
};

export default defineCommand({
  purpose: `Approves one pending request. Rules it breaks must be named with --despite; what a request looks like and who filed
it cannot be overlooked, since the signer would refuse it. What is approved is remembered as if the approver had done it.

${INVENTORY_HELP}`,
  words: "NAME",
  examples: ["drawbridge csr approve csr-8b2xk --despite window"],
  flags: approveFlags,
  async run(flags, { words }) {
    const name = oneName(words);
    checkCsrFlags(flags);
    return withAccess(flags, (access) => approve(name, flags, access));
  },
  show: ({ explanation, request }) => `${request} is approved: ${explanation}\n`,
});

async function approve(name: string, flags: Values<typeof approveFlags>, access: CsrAccess) {
  const look = await lookOnce(flags, access);
  const request = findRequest(look, name);
  const despite = new Set(flags.despite);
  const decision = decide(request, look.state, despite);
  if (decision === undefined) throw await notOurs(request);
  if (decision.action !== "approve") throw refusal(decision);
  const log = flags.decisionLog === "" ? undefined : openDecisionLog(flags.decisionLog);
  try {
    await access.store.remember(new Map([[decision.node, decision.remember]]));
    const actor = { api: access.api, log: log ?? noDecisionLog, by: "by hand", mayWrite: () => true, despite };
    const result = await carryOut(actor, request, { ...look.state, memory: access.store.memory });
    if (result.done) return { request: decision.request, explanation: result.decision.explanation };
    throw new DrawbridgeError("DB_CSR_REQUEST", `${decision.request} was not approved: ${result.because}`);
  } finally {
    log?.close();
  }
}

function refusal({ request, rule, explanation }: Decision): DrawbridgeError {
  const sentence = `${request} is not approved, because ${explanation} (rule ${rule})`;
  return new DrawbridgeError("DB_CSR_REQUEST", sentence);
}
