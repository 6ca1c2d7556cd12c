/** `drawbridge csr list`: what is pending, and what an approver would do. */
import type { Decision } from "../nodepool/csr/decide.js";
import { declareCsrFlags, inventoryHelp, lookOnce, openAccess, policyOf } from "./csr-flags.js";
import { listText } from "./csr-report.js";
import { addOutput, refused, runPlainCommand } from "./plain-command.js";

const purpose = `Lists the pending requests of kubelets with what an approver that was started with the same flags would do. Changes nothing.

${inventoryHelp}`;

export function csrList(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    declare: (set) => ({ ...declareCsrFlags(set), output: addOutput(set) }),
    check: (flags, [word]) => {
      if (word !== undefined) throw refused(`"${word}" belongs to no flag`);
      policyOf(flags);
    },
    run: async (flags) => {
      const access = await openAccess(flags);
      try {
        const { decide } = await import("../nodepool/csr/decide.js");
        const { around, requests } = await lookOnce(flags, access);
        const decisions: Decision[] = [];
        for (const request of requests) {
          const decision = await decide(request, around);
          if (decision !== undefined) decisions.push(decision);
        }
        const shown = decisions.map(({ findings: _findings, remember: _remember, ...rest }) => rest);
        const json = () => `${JSON.stringify({ requests: shown }, undefined, 2)}\n`;
        process.stdout.write(flags.output.value === "json" ? json() : listText(decisions));
        return 0;
      } finally {
        access.api.close();
      }
    },
  });
}
