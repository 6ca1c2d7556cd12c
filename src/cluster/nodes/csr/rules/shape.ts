import { BRAKE_MARGIN, type ClusterState, type RequestContext } from "../case.js";
import { isNodeName, isReservedName } from "../names.js";
import { NODE_USER_PREFIX } from "../signing-request.js";

/** What a request broke. A forgery is no accident: no kubelet asks for that. */
interface Objection {
  readonly why: string;
  readonly forgery?: boolean;
}

export interface Rule {
  /** Stable: logs, tests and `--despite` name it. */
  readonly id: string;
  /** What it demands, for `csr explain`. */
  readonly demands: string;
  /** Whether a person may decide otherwise with `csr approve --despite`. */
  readonly yields: boolean;
  /** Undefined when the request is in order, or when another rule objects to what this one would need. */
  check(of: RequestContext): string | Objection | undefined;
}

// Rules for every request of a kubelet. The signer would refuse most of the others, but only after an approval.

const GROUP = "system:nodes";
const GOOD_KEY = /^P-(256|384|521)$|^RSA-(2048|3072|4096)$/;

export const BRAKE_RULE = "brake";

/** More requests than that are a flood. */
export function mostPending({ inventory, nodes }: Pick<ClusterState, "inventory" | "nodes">): number {
  return Math.max(inventory.workers.size, nodes.size) + BRAKE_MARGIN;
}

const brake: Rule = {
  id: BRAKE_RULE,
  demands: `there are at most ${BRAKE_MARGIN} more young requests than machines`,
  yields: true,
  check: (of) => {
    const { recentPending } = of;
    const most = mostPending(of);
    if (recentPending <= most) return undefined;
    return `${recentPending} requests are pending and ${most} would be plausible: somebody floods, so nothing is approved`;
  },
};

const readable: Rule = {
  id: "request-readable",
  demands: "the request is one PKCS #10 request in PEM",
  yields: false,
  check: ({ facts, unreadable }) => (facts === undefined ? unreadable : undefined),
};

const signature: Rule = {
  id: "request-signature",
  demands: "the request is signed with the key it asks a certificate for",
  yields: false,
  check: ({ facts }) =>
    facts?.signatureFits === false
      ? { why: "the signature is not made with the request's key", forgery: true }
      : undefined,
};

const key: Rule = {
  id: "request-key",
  demands: "the key is ECDSA on a NIST curve, or RSA with 2048 to 4096 bits",
  yields: false,
  check: ({ facts }) => (facts && !GOOD_KEY.test(facts.key) ? `the key is ${facts.key}` : undefined),
};

const commonName: Rule = {
  id: "subject-name",
  demands: "the subject has one common name, system:node: and a node name",
  yields: false,
  check: ({ facts, nodeName }) => {
    if (facts === undefined) return undefined;
    if (facts.commonNames.length !== 1) return `the subject has ${facts.commonNames.length} common names`;
    const [name] = facts.commonNames;
    if (!name!.startsWith(NODE_USER_PREFIX)) return `the common name ${JSON.stringify(name)} is not a node's`;
    return isNodeName(nodeName) ? undefined : `${JSON.stringify(nodeName)} is not a name a node can have`;
  },
};

const organization: Rule = {
  id: "subject-group",
  demands: `the subject's only organization is ${GROUP}`,
  yields: false,
  check: ({ facts }) => {
    if (facts === undefined) return undefined;
    const extra = facts.organizations.filter((name) => name !== GROUP);
    // A certificate's organizations are the groups its holder belongs to.
    if (extra.length > 0) return { why: `the subject asks for membership in ${extra.join(", ")}`, forgery: true };
    return facts.organizations.length === 1 ? undefined : `the subject must have the organization ${GROUP} once`;
  },
};

const subjectParts: Rule = {
  id: "subject-parts",
  demands: "the subject has no other parts",
  yields: false,
  check: ({ facts }) =>
    facts && facts.otherSubjectParts.length > 0
      ? `the subject also has ${facts.otherSubjectParts.join(", ")}`
      : undefined,
};

const extensions: Rule = {
  id: "extensions",
  demands: "no extension is asked for but names",
  yields: false,
  check: ({ facts }) =>
    facts && facts.otherExtensions.length > 0
      ? `it asks for the extensions ${facts.otherExtensions.join(", ")}`
      : undefined,
};

const usages: Rule = {
  id: "usages",
  demands: "the usages are exactly a kubelet's",
  yields: false,
  check: ({ facts, kind, request }) => {
    if (facts === undefined) return undefined;
    const use = kind === "serving" ? "server auth" : "client auth";
    const needed = ["digital signature", use];
    const asked = request.spec?.usages ?? [];
    // Kubelets add it to an RSA key, and the signer takes either.
    const allowed = [...needed, ...(facts.key.startsWith("RSA") ? ["key encipherment"] : [])];
    const fits = needed.every((one) => asked.includes(one)) && asked.every((one) => allowed.includes(one));
    return fits && new Set(asked).size === asked.length ? undefined : `the usages are ${asked.join(", ") || "missing"}`;
  },
};

const reserved: Rule = {
  id: "name-reserved",
  demands: "no name is one of the control plane's",
  yields: false,
  check: ({ facts, nodeName, policy }) => {
    const names = [nodeName, ...(facts?.dnsNames ?? [])].filter((name) => isReservedName(name, policy.reservedNames));
    return names.length === 0 ? undefined : `${names.join(", ")} belongs to the control plane`;
  },
};

export const shapeRules: readonly Rule[] = [
  brake,
  readable,
  signature,
  key,
  commonName,
  organization,
  subjectParts,
  extensions,
  usages,
  reserved,
];
