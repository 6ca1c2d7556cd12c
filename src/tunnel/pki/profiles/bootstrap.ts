/**
 * The temporary bridge: one signer, one server, agents that share a certificate or have one each. On an OpenShift
 * bootstrap host src/cluster/bootstrap/shell/certs.sh makes the same with openssl; one test reads both.
 */
import { dayMs, HOUR_MS, issueError, type KeyKind } from "../request.js";
import type { LeafPlan, ProfileSet } from "./profile-set.js";

export interface BootstrapOptions {
  /** Where agents dial the server; the first is the one they are told. */
  readonly ipAddresses: readonly string[];
  readonly dnsNames?: readonly string[];
  /** An agent certificate for each of these nodes; without any, all agents share one. */
  readonly nodes?: readonly string[];
  /** The O of every subject. Default "drawbridge"; OpenShift's own scripts write "openshift". */
  readonly organization?: string;
  readonly key?: KeyKind;
  readonly validForMs?: number;
}

/** Wide enough for a node that takes its hardware clock for the wrong side of daylight saving. */
const backdateMs = 2 * HOUR_MS;

const SIGNER = "ca";

export function bootstrapProfile(options: BootstrapOptions): ProfileSet {
  const { ipAddresses, dnsNames = [], nodes = [], organization = "drawbridge", key = "p256" } = options;
  const common = { organizations: [organization], validForMs: options.validForMs ?? dayMs };
  return {
    key,
    keyFormat: "pkcs8",
    backdateMs,
    signers: [{ name: SIGNER, commonName: "konnectivity-signer", organizationalUnits: [], ...common }],
    leaves: [
      {
        name: "server",
        signer: SIGNER,
        use: "server",
        commonName: "konnectivity-server",
        dnsNames,
        ipAddresses,
        ...common,
      },
      ...(nodes.length === 0
        ? [agent("agent", "konnectivity-agent", [], common)]
        : nodes.map((node) => nodeAgent(node, common))),
    ],
    bundles: [],
  };
}

type Common = Pick<LeafPlan, "organizations" | "validForMs">;

/** A certificate that only the agent of one node holds; rules can then say what that node may claim. */
export function nodeAgent(node: string, common: Common): LeafPlan {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(node)) {
    throw issueError(`"${node}" is not a node's name; Kubernetes names have lower-case letters, digits, - and . only`);
  }
  return agent(`agent-${node}`, node, [node], common);
}

function agent(name: string, commonName: string, dnsNames: readonly string[], common: Common): LeafPlan {
  return { name, signer: SIGNER, use: "client", commonName, dnsNames, ipAddresses: [], ...common };
}
