/** How the first agent of a server is started, with what the server itself knows. */
import type { Overview } from "../../observe/admin/contract.js";

const DEFAULT_PORT = "8091";
const LOOPBACK = /^(localhost|127\.|::1$|0:0:0:0:0:0:0:1$)/;
const WILDCARD = /^(0\.0\.0\.0|::|)$/;

/** Capital letters stand for what only a person knows. */
export function agentCommand({ listeners, certificates }: Pick<Overview, "listeners" | "certificates">): string {
  const address = listeners.find(({ what }) => what === "agents")?.address ?? "";
  const colon = address.lastIndexOf(":");
  const port = colon < 0 ? DEFAULT_PORT : address.slice(colon + 1);
  const listening = address.slice(0, Math.max(0, colon)).replace(/^\[|\]$/g, "");
  const ofAgents = certificates.filter(({ use }) => use === "agents");
  const names = ofAgents.flatMap(({ kind, names: all }) => (kind === "own" ? all : [])).map(plainName);
  const host =
    names.find((name) => !LOOPBACK.test(name) && !name.startsWith("*")) ??
    (WILDCARD.test(listening) ? undefined : listening) ??
    names[0] ??
    "SERVER";
  const flags = [`--proxy-server-host=${host}`, `--proxy-server-port=${port}`, "--agent-id=NAME"];
  if (ofAgents.length > 0) flags.push("--ca-cert=CA_FILE");
  // Without authorities for clients the server wants a token, or nothing.
  if (ofAgents.some(({ kind }) => kind === "trusted")) flags.push("--agent-cert=CERT_FILE", "--agent-key=KEY_FILE");
  else flags.push("--service-account-token-path=TOKEN_FILE");
  return ["proxy-agent", ...flags].join(" \\\n  ");
}

/** As certificates write them: `DNS:name`, `IP Address:10.0.0.1`. */
const plainName = (name: string): string => name.replace(/^(DNS|IP Address|IP):/, "");
