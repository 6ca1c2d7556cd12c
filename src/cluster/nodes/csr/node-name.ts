/** Names that a node may have, and names that would let it pass for something else. */

const LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const subdomain = new RegExp(`^${LABEL}(\\.${LABEL})*$`);

/** As the API wants it for Nodes; no wildcard, no capitals. */
export function isNodeName(name: string): boolean {
  return name.length <= 253 && subdomain.test(name);
}

const RESERVED =
  /^(localhost|kubernetes|openshift|api|api-int)$|\.localhost$|(^|\.)default(\.svc.*)?$|\.svc$|\.cluster\.local$/;

/** A certificate for such a name could stand in for a service of the control plane. */
export function isReservedName(name: string, alsoReserved: readonly string[]): boolean {
  const plain = name.toLowerCase().replace(/\.$/, "");
  return RESERVED.test(plain) || alsoReserved.some((other) => other.toLowerCase().replace(/\.$/, "") === plain);
}
