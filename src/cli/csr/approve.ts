/** `drawbridge csr approve NAME`: a person decides, and says which rules to overlook. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { stringSlice } from "../flags/flag-value.js";
import { runPlainCommand } from "../framework/plain-command.js";
import { findRequest, notOurs, oneName } from "./explain.js";
import { addDecisionLog, checkCsrFlags, declareCsrFlags, INVENTORY_HELP, lookOnce, openAccess } from "./flags.js";

const purpose = `Approves one pending request. Rules it breaks must be named with --despite; what a request looks like and who filed
it cannot be overlooked, since the signer would refuse it. What is approved is remembered as if the approver had done it.

${INVENTORY_HELP}`;

export function csrApprove(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    words: " NAME",
    declare: (set) => ({
      ...declareCsrFlags(set),
      despite: set.add("despite", stringSlice, [], "Rule that may be broken, as drawbridge csr explain names it."),
      decisionLog: addDecisionLog(set),
    }),
    check: (flags, words) => {
      oneName(words);
      checkCsrFlags(flags);
    },
    run: async (flags, words) => {
      const access = await openAccess(flags);
      const [{ act }, { decide, noDecisionLog, openDecisionLog }] = await Promise.all([
        import("../../cluster/nodes/csr/approver/act.js"),
        import("../../cluster/nodes/csr/decide.js"),
      ]);
      const { value: logFile } = flags.decisionLog;
      const log = logFile === "" ? undefined : openDecisionLog(logFile);
      try {
        const look = await lookOnce(flags, access);
        const request = findRequest(look, oneName(words));
        const despite = new Set(flags.despite.value);
        const decision = decide(request, look.around, despite);
        if (decision === undefined) throw await notOurs(request);
        if (decision.action !== "approve") throw refusal(decision.request, decision.rule, decision.explanation);
        await access.store.remember(new Map([[decision.node, decision.remember]]));
        const actor = { api: access.api, log: log ?? noDecisionLog, by: "by hand", mayWrite: () => true, despite };
        const result = await act(actor, request, { ...look.around, memory: access.store.memory });
        if (!result.done) {
          throw new DrawbridgeError("DB_CSR_REQUEST", `${decision.request} was not approved: ${result.because}`);
        }
        process.stdout.write(`${decision.request} is approved: ${result.decision.explanation}\n`);
        return 0;
      } finally {
        access.api.close();
        log?.close();
      }
    },
  });
}

function refusal(request: string, rule: string, explanation: string): DrawbridgeError {
  const sentence = `${request} is not approved, because ${explanation} (rule ${rule})`;
  return new DrawbridgeError("DB_CSR_REQUEST", sentence);
}
