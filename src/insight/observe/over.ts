/** Whether a refusal is over, in words; nothing of Node's, for the page. */
import type { RefusedPeerRow } from "./admin/contract.js";

type Row = Pick<RefusedPeerRow, "acceptedAt" | "replacedAt" | "certificate">;

/** Behind one address may be many, so that a certificate's name counts where one was shown. Undefined: it is not over. */
export function overText({ acceptedAt, replacedAt, certificate }: Row): string | undefined {
  if (acceptedAt !== undefined)
    return `a peer ${certificate === undefined ? "from this address" : "with this name in its certificate"} was accepted since`;
  return replacedAt === undefined ? undefined : "this listener's certificate was replaced since";
}
