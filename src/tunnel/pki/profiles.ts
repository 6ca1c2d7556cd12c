/** What a set of certificates consists of, as data: who signs, who is signed, which signers are trusted together. */

import { isIP } from "node:net";
import { type CertificateRequest, DAY_MS, DEFAULT_BACKDATE_MS, HOUR_MS, issueError, type KeyKind } from "./request.js";

type Planned<Key extends keyof CertificateRequest> = Readonly<Required<Pick<CertificateRequest, Key>>>;

export interface SignerPlan extends Planned<"commonName" | "organizations" | "organizationalUnits" | "validForMs"> {
  /** The signer's file is `<name>.crt`. */
  readonly name: string;
}

export interface LeafPlan
  extends Planned<"use" | "commonName" | "organizations" | "dnsNames" | "ipAddresses" | "validForMs"> {
  /** The leaf's files are `<name>.crt` and `<name>.key`. */
  readonly name: string;
  /** The name of the signer. */
  readonly signer: string;
}

/** Signers that someone trusts, in one file `<name>.crt`. */
export interface BundlePlan {
  readonly name: string;
  readonly signers: readonly string[];
}

/** What a set of certificates consists of. */
export interface ProfileSet extends Planned<"key" | "keyFormat" | "backdateMs"> {
  readonly signers: readonly SignerPlan[];
  readonly leaves: readonly LeafPlan[];
  readonly bundles: readonly BundlePlan[];
}

export interface BootstrapOptions {
  /** Where agents dial the server; the first is the one that they are configured with. */
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
const BOOTSTRAP_BACKDATE_MS = 2 * HOUR_MS;

const SIGNER = "ca";

/**
 * The temporary bridge: one signer, one server, agents that share a certificate or have one each. On an OpenShift
 * bootstrap host src/cluster/bootstrap/shell/certs.sh makes the same with openssl; one test reads both.
 */
export function bootstrapProfile(options: BootstrapOptions): ProfileSet {
  const { ipAddresses, dnsNames = [], nodes = [], organization = "drawbridge", key = "p256" } = options;
  const common = { organizations: [organization], validForMs: options.validForMs ?? DAY_MS };
  return {
    key,
    keyFormat: "pkcs8",
    backdateMs: BOOTSTRAP_BACKDATE_MS,
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

/** A certificate that only the agent of one node holds, so that rules can limit what that node may claim. */
export function nodeAgent(node: string, common: Common): LeafPlan {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(node)) {
    throw issueError(`"${node}" is not a node's name; Kubernetes names have lower-case letters, digits, - and . only`);
  }
  return agent(`agent-${node}`, node, [node], common);
}

function agent(name: string, commonName: string, dnsNames: readonly string[], common: Common): LeafPlan {
  return { name, signer: SIGNER, use: "client", commonName, dnsNames, ipAddresses: [], ...common };
}

export interface HostedOptions {
  /** The control plane's namespace on the management cluster. */
  readonly namespace: string;
  /** Where agents in the hosted cluster dial the server: DNS names or IP addresses. */
  readonly externalAddresses: readonly string[];
  /** One signer for all, to be put into a HyperShift in place of its own Secrets. */
  readonly sharedSigner?: boolean;
  readonly key?: KeyKind;
  /** The lifetime of all certificates but the signers. */
  readonly validForMs?: number;
}

/** Ten years, as HyperShift's. */
const SIGNER_MS = 10 * 365 * DAY_MS;

const SERVER_SIGNER = "konnectivity-server-signer";
const CLIENT_SIGNER = "konnectivity-client-signer";
const AGENT_SIGNER = "konnectivity-agent-signer";
const CONTROL_PLANE_AGENT_SIGNER = "konnectivity-control-plane-agent-signer";
const SHARED_SIGNER = "konnectivity-signer";

/** Who trusts whom. The file names are the same with one signer, so manifests do not depend on it. */
const trust: readonly BundlePlan[] = [
  // What agents and clients check the server against.
  { name: "konnectivity-ca-bundle", signers: [SERVER_SIGNER] },
  // What the server checks agents against.
  { name: "konnectivity-agent-ca-bundle", signers: [AGENT_SIGNER, CONTROL_PLANE_AGENT_SIGNER] },
  // What the server checks its callers against.
  { name: "konnectivity-client-ca-bundle", signers: [CLIENT_SIGNER] },
];

/**
 * Hosted control planes: names, subjects and lifetimes as HyperShift has them. By default each role has its own signer,
 * because the server checks nothing but the chain: with one signer for all, a client certificate is accepted from an
 * agent, and a worker's agent passes for a control-plane agent.
 */
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
    validForMs: options.validForMs ?? 365 * DAY_MS,
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
  return { name, commonName: name, organizations: [], organizationalUnits: ["kubernetes"], validForMs: SIGNER_MS };
}

/** The options of each profile. */
export interface ProfileOptions {
  readonly bootstrap: BootstrapOptions;
  readonly hosted: HostedOptions;
}

export type ProfileName = keyof ProfileOptions;

export const profiles: { readonly [Name in ProfileName]: (options: ProfileOptions[Name]) => ProfileSet } = {
  bootstrap: bootstrapProfile,
  hosted: hostedProfile,
};
