/** `drawbridge csr approve NAME`: approves one request by hand, despite the rules that are named. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { carryOut, openDecisionLog } from "../../cluster/nodes/csr/decide.js";
import { list } from "../flags/flag.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { csrFlags, decisionAbout, decisionLogFlag, INVENTORY_HELP, withRequests } from "./shared.js";

export default defineCommand({
  purpose: `Approves one pending request. Rules it breaks must be named with --despite; what a request looks like and who filed
it cannot be overlooked, since the signer would refuse it. What is approved is remembered as if the approver had done it.

${INVENTORY_HELP}`,
  words: "NAME",
  examples: ["drawbridge csr approve csr-8b2xk --despite window"],
  flags: {
    ...csrFlags,
    ...decisionLogFlag,
    despite: list("Rule that the request may break, as drawbridge csr explain names it; repeatable."),
  },
  run(flags, { words }) {
    const name = onlyWord(words, "the name of the request");
    return withRequests(flags, async (snapshot, { api, store }) => {
      const despite = new Set(flags.despite);
      const { request, decision } = decisionAbout(name, snapshot, despite);
      if (decision.action !== "approve") {
        const why = `because ${decision.explanation} (rule ${decision.rule})`;
        throw new DrawbridgeError("DB_CSR_REQUEST", `${name} is not approved, ${why}`);
      }
      const log = openDecisionLog(flags.decisionLog);
      try {
        await store.remember(new Map([[decision.node, decision.remember]]));
        const actor = { api, log, by: "by hand", mayWrite: () => true, despite };
        const result = await carryOut(actor, request, { ...snapshot.state, memory: store.memory });
        if (result.done) return { request: name, explanation: result.decision.explanation };
        throw new DrawbridgeError("DB_CSR_REQUEST", `${name} was not approved: ${result.because}`);
      } finally {
        log.close();
      }
    });
  },
  show: ({ explanation, request }) => `${request} is approved: ${explanation}\n`,
});
