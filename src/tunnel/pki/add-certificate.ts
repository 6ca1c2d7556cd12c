/** One more certificate from a signer whose key was kept. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { issueCertificate } from "./issue.js";
import { requestOf } from "./keep.js";
import { type LeafEntry, type PkiManifest, validityOf } from "./manifest.js";
import type { LeafPlan } from "./profiles.js";
import { nodeAgent } from "./profiles.js";
import { loadSigner, replaceInside, requireManifest } from "./renew.js";
import { issueError } from "./request.js";

/** Fields that are left out are as in the rest of the set. */
export type AdditionRequest =
  /** An agent's certificate for one node. */
  | ({ readonly node: string } & Common)
  | (Pick<LeafPlan, "name" | "use" | "commonName" | "dnsNames" | "ipAddresses"> & {
      readonly node?: undefined;
      /** Required when the set has several signers. */
      readonly signer?: string;
    } & Common);

interface Common {
  readonly validForMs?: number;
  /** Whether a certificate of that name is replaced. */
  readonly replace?: boolean;
  readonly now?: Date;
}

export async function addCertificate(
  dir: string,
  request: AdditionRequest,
): Promise<{ added: LeafEntry; manifest: PkiManifest }> {
  const manifest = await requireManifest(dir);
  const plan = planOf(manifest, request);
  const present = manifest.leaves.some(({ name }) => name === plan.name);
  const taken = [...manifest.signers, ...manifest.bundles].some(({ name }) => name === plan.name);
  if (taken || (present && !request.replace)) {
    throw new DrawbridgeError("DB_PKI_EXISTS", `${dir} already holds a certificate named ${plan.name}.`);
  }
  const signer = await loadSigner(dir, plan.signer);
  const pair = await issueCertificate(signer, requestOf(manifest, plan, request.now ?? new Date()));
  const added = { ...plan, ...validityOf(pair.certificatePem) };
  const others = manifest.leaves.filter(({ name }) => name !== plan.name);
  const files = { leaves: new Map([[plan.name, pair]]) };
  return { added, manifest: await replaceInside(dir, { ...manifest, leaves: [...others, added] }, files) };
}

function planOf(manifest: PkiManifest, request: AdditionRequest): LeafPlan {
  const model = manifest.leaves[0]!;
  const common = { organizations: model.organizations, validForMs: request.validForMs ?? model.validForMs };
  if (request.node !== undefined) {
    if (manifest.profile !== "bootstrap")
      throw issueError("certificates for single nodes belong to the bootstrap profile");
    return nodeAgent(request.node, common);
  }
  const { name, use, commonName, dnsNames, ipAddresses } = request;
  if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
    throw issueError(`"${name}" cannot name a file here; use lower-case letters, digits, - and .`);
  }
  return { name, signer: signerOf(manifest, request.signer), use, commonName, dnsNames, ipAddresses, ...common };
}

function signerOf({ signers }: PkiManifest, wanted: string | undefined): string {
  const names = signers.map(({ name }) => name);
  const chosen = wanted ?? (names.length === 1 ? names[0] : undefined);
  if (chosen !== undefined && names.includes(chosen)) return chosen;
  throw issueError(`say which signer shall sign: ${names.join(", ")}`);
}
