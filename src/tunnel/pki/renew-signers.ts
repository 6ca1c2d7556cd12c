/**
 * New keys for the signers themselves, in three steps so that nobody meets a certificate whose signer it does not know:
 *
 *   1. replaceSigners      new signers; bundles hold the new and the former ones. Hand the bundles out.
 *   2. renewPki            issues again whatever a former signer signed. Hand the certificates out.
 *   3. dropFormerSigners   bundles hold the new signers only. Hand the bundles out.
 */
import { DrawbridgeError } from "../../base/errors/error.js";
import { makeSigner } from "./certificates-for.js";
import type { Authority } from "./issue.js";
import { replaceInside, requireManifest, signerKeyError } from "./kept-pki.js";
import type { PkiManifest } from "./manifest.js";
import { withDates } from "./renew.js";
import { formerlySigned, presentSigners, trustOf } from "./renew-trust.js";

export interface SignerChange {
  /** Signers with a new key. */
  readonly replaced: readonly string[];
  /** Signers of former times that the bundles still hold. */
  readonly former: readonly string[];
  /** Signers of former times that the bundles held until now. */
  readonly dropped: readonly string[];
  readonly manifest: PkiManifest;
}

export async function replaceSigners(dir: string, now = new Date()): Promise<SignerChange> {
  const manifest = await requireManifest(dir);
  if (manifest.bundles.length === 0) {
    throw rotationError(
      `${dir} holds a ${manifest.profile} set, in which the signer's one file is also what is trusted: make it anew with drawbridge pki init --replace`,
    );
  }
  if (!manifest.signerKeysKept) throw signerKeyError(dir, manifest.signers[0]!.name);
  await refuseStrays(dir, manifest, "change signers again");
  const signers = new Map<string, Authority>();
  for (const entry of manifest.signers) signers.set(entry.name, await makeSigner(manifest, entry, now));
  const { changed, former } = await trustOf(dir, manifest, { signers, now });
  const next = withDates(manifest, signers, new Map());
  await replaceInside(dir, { signers, newKeys: true, bundles: changed, manifest: next });
  return { replaced: [...signers.keys()], former, dropped: [], manifest: next };
}

export async function dropFormerSigners(dir: string, now = new Date()): Promise<SignerChange> {
  const manifest = await requireManifest(dir);
  await refuseStrays(dir, manifest, "drop former signers");
  const signers = await presentSigners(dir, manifest);
  const { changed, former } = await trustOf(dir, manifest, { signers, drop: true, now });
  if (changed.size > 0) await replaceInside(dir, { bundles: changed, manifest });
  return { replaced: [], former: [], dropped: former, manifest };
}

async function refuseStrays(dir: string, manifest: PkiManifest, purpose: string): Promise<void> {
  const strays = await formerlySigned(dir, manifest, await presentSigners(dir, manifest));
  if (strays.length === 0) return;
  const list = strays.join(", ");
  throw rotationError(`${dir} still has certificates of former signers (${list}): renew them before you ${purpose}`);
}

const rotationError = (sentence: string) => new DrawbridgeError("DB_PKI_ROTATION", `${sentence}.`);
