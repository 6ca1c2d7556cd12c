/** `drawbridge csr explain NAME`: every rule, one by one. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { Look } from "../../cluster/nodes/csr/approver/act.js";
import type { SigningRequest } from "../../cluster/nodes/csr/signing-request.js";
import { addOutput, json, refused, runPlainCommand } from "../framework/plain-command.js";
import { checkCsrFlags, declareCsrFlags, INVENTORY_HELP, lookOnce, openAccess } from "./flags.js";
import { explainText } from "./report.js";

const purpose = `Goes through every rule for one pending request and says which it keeps and which it breaks. Changes nothing.
Ends with 0 when it would be approved, with 1 otherwise.

${INVENTORY_HELP}`;

export function csrExplain(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    words: " NAME",
    declare: (set) => ({ ...declareCsrFlags(set), output: addOutput(set) }),
    check: (flags, words) => {
      oneName(words);
      checkCsrFlags(flags);
    },
    run: async (flags, words) => {
      const access = await openAccess(flags);
      try {
        const { decide } = await import("../../cluster/nodes/csr/decide.js");
        const look = await lookOnce(flags, access);
        const request = findRequest(look, oneName(words));
        const decision = decide(request, look.around);
        if (decision === undefined) throw await notOurs(request);
        const { remember: _remember, ...shown } = decision;
        const text = flags.output.value === "json" ? json(shown) : explainText(decision);
        process.stdout.write(text);
        return decision.action === "approve" ? 0 : 1;
      } finally {
        access.api.close();
      }
    },
  });
}

export function oneName([name, ...rest]: readonly string[]): string {
  if (name === undefined || rest.length > 0) throw refused("name one request, as drawbridge csr list shows it");
  return name;
}

export function findRequest({ requests }: Look, name: string): SigningRequest {
  const found = requests.find(({ metadata }) => metadata?.name === name);
  if (found === undefined) throw new DrawbridgeError("DB_CSR_REQUEST", `there is no request ${name}`);
  return found;
}

export async function notOurs(request: SigningRequest): Promise<DrawbridgeError> {
  const { kindOf, outcomeOf, requestName } = await import("../../cluster/nodes/csr/signing-request.js");
  const why =
    kindOf(request) === undefined
      ? `is for the signer ${request.spec?.signerName}, which has nothing to do with nodes`
      : `is ${outcomeOf(request)} already`;
  return new DrawbridgeError("DB_CSR_REQUEST", `${requestName(request)} ${why}`);
}
