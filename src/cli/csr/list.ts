/** `drawbridge csr list`: what is pending, and what an approver would do. */
import type { Decision } from "../../cluster/nodes/csr/decide.js";
import { addOutput, json, runPlainCommand } from "../framework/plain-command.js";
import { noWords } from "../nodepool/flags.js";
import { checkCsrFlags, declareCsrFlags, INVENTORY_HELP, lookOnce, openAccess } from "./flags.js";
import { listText } from "./report.js";

const purpose = `Lists the pending requests of kubelets with what an approver that was started with the same flags would do. Changes nothing.

${INVENTORY_HELP}`;

export function csrList(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    declare: (set) => ({ ...declareCsrFlags(set), output: addOutput(set) }),
    check: (flags, words) => {
      noWords(words);
      checkCsrFlags(flags);
    },
    run: async (flags) => {
      const access = await openAccess(flags);
      try {
        const { decide } = await import("../../cluster/nodes/csr/decide.js");
        const { around, requests } = await lookOnce(flags, access);
        const decisions: Decision[] = [];
        for (const request of requests) {
          const decision = decide(request, around);
          if (decision !== undefined) decisions.push(decision);
        }
        const shown = decisions.map(({ findings: _findings, remember: _remember, ...rest }) => rest);
        process.stdout.write(flags.output.value === "json" ? json({ requests: shown }) : listText(decisions));
        return 0;
      } finally {
        access.api.close();
      }
    },
  });
}
