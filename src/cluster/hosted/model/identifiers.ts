/** Which traffic belongs to the control plane's own agents, and who may say so of itself. */
import { isIP } from "node:net";
import type { HostedModel } from "./model.js";
import { names } from "./names.js";

/** HyperShift writes ipv4= whatever the address is, which only works because its server compares texts. */
function identifier(entry: string): { readonly key: string; readonly value: string } {
  if (entry.includes("/")) return { key: "cidr", value: entry };
  const kind = isIP(entry);
  return { key: kind === 4 ? "ipv4" : kind === 6 ? "ipv6" : "host", value: entry };
}

/** Each once: two APIs may share an address. */
const addressesOf = ({ aggregatedApis }: HostedModel): string[] => [
  ...new Set(aggregatedApis.map(({ address }) => address)),
];

/** The value of --agent-identifiers. */
export function controlPlaneIdentifiers(model: HostedModel): string {
  return addressesOf(model)
    .map(identifier)
    .map(({ key, value }) => `${key}=${encodeURIComponent(value)}`)
    .join("&");
}

/** In order: exact names first, so that nothing of the control plane's goes to a worker. */
export function strategies(model: HostedModel): string {
  const hasPrefix = addressesOf(model).some((entry) => entry.includes("/"));
  return ["destHost", ...(hasPrefix ? ["destCIDR"] : []), "defaultRoute"].join(",");
}

interface ClaimRule {
  readonly match: Readonly<Record<string, string>>;
  readonly mayClaim: readonly string[];
  /** While its agents are away, their addresses go to nobody, least of all to a worker. */
  readonly exclusive?: true;
}

/**
 * For the server's --agent-claims-file. The signer tells control-plane agents from workers; with one signer for all only
 * the certificates' own names are left, which at least keeps callers of the tunnel from becoming agents.
 */
export function claimRules(model: HostedModel): { readonly rules: readonly ClaimRule[] } {
  const served = addressesOf(model)
    .map(identifier)
    .map(({ key, value }) => `${key}=${value}`);
  const byIssuer = (leaf: string) => ({ issuer: `CN=${leaf}-signer,OU=kubernetes` });
  if (model.signers === "shared") {
    const match = { subject: `CN=${names.agent},O=kubernetes` };
    return { rules: [{ match, mayClaim: ["default-route", ...served] }] };
  }
  return {
    rules: [
      { match: byIssuer(names.agent), mayClaim: ["default-route"] },
      { match: byIssuer(names.controlPlaneAgent), mayClaim: served, exclusive: true },
    ],
  };
}
