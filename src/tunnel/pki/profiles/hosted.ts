/**
 * Hosted control planes: names, subjects and lifetimes as HyperShift has them. By default each role has its own signer,
 * because the server checks nothing but the chain: with one signer for all, a client certificate opens the agents' door
 * and a worker's agent passes for a control-plane agent.
 */
import { isIP } from "node:net";
import { DEFAULT_BACKDATE_MS, dayMs, issueError, type KeyKind } from "../request.js";
import type { BundlePlan, LeafPlan, ProfileSet, SignerPlan } from "./profile-set.js";

export interface HostedOptions {
  /** The control plane's namespace on the management cluster. */
  readonly namespace: string;
  /** Where agents in the hosted cluster dial the server: DNS names or IP addresses. */
  readonly externalAddresses: readonly string[];
  /** One signer for all, to be put into a HyperShift in place of its own Secrets. */
  readonly sharedSigner?: boolean;
  readonly key?: KeyKind;
  /** Of all but the signers. */
  readonly validForMs?: number;
}

const SIGNER_YEARS = 10;
const signerMs = SIGNER_YEARS * 365 * dayMs;

const SERVER_SIGNER = "konnectivity-server-signer";
const CLIENT_SIGNER = "konnectivity-client-signer";
const AGENT_SIGNER = "konnectivity-agent-signer";
const CONTROL_PLANE_AGENT_SIGNER = "konnectivity-control-plane-agent-signer";
const SHARED_SIGNER = "konnectivity-signer";

/** Who trusts whom. The file names are the same with one signer, so manifests need not know. */
const trust: readonly BundlePlan[] = [
  // What agents and clients check the server against.
  { name: "konnectivity-ca-bundle", signers: [SERVER_SIGNER] },
  // What the server checks agents against.
  { name: "konnectivity-agent-ca-bundle", signers: [AGENT_SIGNER, CONTROL_PLANE_AGENT_SIGNER] },
  // What the server checks its callers against.
  { name: "konnectivity-client-ca-bundle", signers: [CLIENT_SIGNER] },
];

export function hostedProfile(options: HostedOptions): ProfileSet {
  if (!options.sharedSigner) return separateSigners(options);
  if (options.key === "p256")
    throw issueError("a HyperShift with one signer reads RSA keys only; leave the key kind out");
  return underOneSigner(separateSigners({ ...options, key: "rsa2048" }));
}

function separateSigners({ namespace, externalAddresses, ...options }: HostedOptions): ProfileSet {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw issueError(`"${namespace}" is not a namespace; give the name of the control plane's`);
  }
  if (externalAddresses.length === 0) {
    throw issueError("the address that agents in the hosted cluster dial is missing; give its DNS name or IP address");
  }
  const leaf = (name: string, part: Pick<LeafPlan, "signer" | "use" | "commonName"> & Partial<LeafPlan>): LeafPlan => ({
    name,
    organizations: ["kubernetes"],
    dnsNames: [],
    ipAddresses: [],
    validForMs: options.validForMs ?? 365 * dayMs,
    ...part,
  });
  const service = (name: string) => [name, `${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
  return {
    key: options.key ?? "p256",
    keyFormat: "pkcs8",
    backdateMs: DEFAULT_BACKDATE_MS,
    signers: [SERVER_SIGNER, CLIENT_SIGNER, AGENT_SIGNER, CONTROL_PLANE_AGENT_SIGNER].map(signer),
    leaves: [
      leaf("konnectivity-server", {
        signer: SERVER_SIGNER,
        use: "server",
        commonName: "konnectivity-server-local",
        dnsNames: ["localhost", ...service("konnectivity-server-local")],
        ipAddresses: ["127.0.0.1"],
      }),
      leaf("konnectivity-cluster", {
        signer: SERVER_SIGNER,
        use: "server",
        commonName: "konnectivity-server",
        dnsNames: [...service("konnectivity-server"), ...externalAddresses.filter((address) => isIP(address) === 0)],
        ipAddresses: externalAddresses.filter((address) => isIP(address) !== 0),
      }),
      leaf("konnectivity-client", { signer: CLIENT_SIGNER, use: "client", commonName: "konnectivity-client" }),
      leaf("konnectivity-agent", { signer: AGENT_SIGNER, use: "client", commonName: "konnectivity-agent" }),
      leaf("konnectivity-control-plane-agent", {
        signer: CONTROL_PLANE_AGENT_SIGNER,
        use: "client",
        commonName: "konnectivity-control-plane-agent",
      }),
    ],
    bundles: trust,
  };
}

/**
 * HyperShift compares what it finds with what it would make and issues again where they differ: so no back-dating, keys
 * as it reads them, and one certificate for all agents.
 */
function underOneSigner(set: ProfileSet): ProfileSet {
  return {
    ...set,
    keyFormat: "pkcs1",
    backdateMs: 0,
    signers: [signer(SHARED_SIGNER)],
    leaves: set.leaves
      .filter(({ name }) => name !== "konnectivity-control-plane-agent")
      .map((leaf) => ({ ...leaf, signer: SHARED_SIGNER })),
    bundles: set.bundles.map((bundle) => ({ ...bundle, signers: [SHARED_SIGNER] })),
  };
}

function signer(name: string): SignerPlan {
  return { name, commonName: name, organizations: [], organizationalUnits: ["kubernetes"], validForMs: signerMs };
}
