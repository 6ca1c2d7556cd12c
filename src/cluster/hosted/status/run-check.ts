/** Asks one check of a hosted control plane. */
import { type Check, failureOf, type Result } from "../../../base/check.js";
import { plainText } from "../../../base/text.js";

/** Never throws: whatever happens is a result. */
export async function runCheck({ id, title, run }: Check<void>): Promise<Result> {
  const found = await run().catch(failureOf);
  // Part of it was written by nodes, webhooks and servers, and is shown in terminals.
  return { id, title, ...found, evidence: plainText(found.evidence) };
}
