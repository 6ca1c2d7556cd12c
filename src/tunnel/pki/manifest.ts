/**
 * `pki.json` beside the certificates: what was made, for which addresses, until when. No secrets. Later commands read it
 * to make the same again, to renew, and to notice that something else is wanted now. certs.sh writes the same file.
 */
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { roughDuration } from "../../base/text.js";
import type { PemPair } from "./issue.js";
import { leafIn } from "./pem.js";
import {
  type LeafPlan,
  type ProfileName,
  type ProfileOptions,
  type ProfileSet,
  profiles,
  type SignerPlan,
} from "./profiles.js";

export const MANIFEST_FILE = "pki.json";

type Validity = ReturnType<typeof validityOf>;

export type SignerEntry = SignerPlan & Validity;
export type LeafEntry = LeafPlan & Validity;

export interface PkiManifest extends Omit<ProfileSet, "signers" | "leaves"> {
  readonly version: 1;
  readonly profile: ProfileName;
  /** The options of the profile. */
  readonly options: ProfileOptions[ProfileName];
  readonly madeAt: string;
  /** Whether `<signer>.key` files belong to the set. */
  readonly signerKeysKept: boolean;
  readonly signers: readonly SignerEntry[];
  readonly leaves: readonly LeafEntry[];
}

/** Times in ISO 8601. */
export function validityOf(certificatePem: string) {
  const { validFrom, validTo } = leafIn(certificatePem);
  return { notBefore: new Date(validFrom).toISOString(), notAfter: new Date(validTo).toISOString() };
}

/** A set or the changed parts of one: pairs and bundles, by name. */
export interface SetFiles {
  readonly signers?: ReadonlyMap<string, PemPair>;
  /** Whether the keys of the signers are written as well. */
  readonly signerKeys?: boolean;
  readonly leaves?: ReadonlyMap<string, PemPair>;
  readonly bundles?: ReadonlyMap<string, string>;
}

/** Names and texts of files in the order in which they may replace others: trust first, the manifest last. */
export function* fileTexts(set: SetFiles, manifest: PkiManifest): Iterable<[name: string, text: string]> {
  const { signers = [], signerKeys = false, leaves = [], bundles = [] } = set;
  for (const [name, text] of bundles) yield [`${name}.crt`, text];
  for (const pairs of [signers, leaves]) {
    for (const [name, { certificatePem, privateKeyPem }] of pairs) {
      if (signerKeys || pairs === leaves) yield [`${name}.key`, privateKeyPem];
      yield [`${name}.crt`, certificatePem];
    }
  }
  yield [MANIFEST_FILE, `${JSON.stringify(manifest, undefined, 2)}\n`];
}

/** Every file the set consists of, the manifest included. */
export function filesOf({ signers, leaves, bundles, signerKeysKept }: PkiManifest): string[] {
  return [
    ...signers.flatMap(({ name }) => (signerKeysKept ? [`${name}.crt`, `${name}.key`] : [`${name}.crt`])),
    ...leaves.flatMap(({ name }) => [`${name}.crt`, `${name}.key`]),
    ...bundles.map(({ name }) => `${name}.crt`),
    MANIFEST_FILE,
  ];
}

/** Throws DB_PKI_MANIFEST when the directory holds no set of ours. */
export async function requireManifest(dir: string): Promise<PkiManifest> {
  const manifest = await readPkiManifest(dir);
  if (manifest !== undefined) return manifest;
  throw new DrawbridgeError("DB_PKI_MANIFEST", `${dir} holds no ${MANIFEST_FILE}, so what belongs there is not known.`);
}

/** The manifest of a directory; undefined when there is none. */
export async function readPkiManifest(dir: string): Promise<PkiManifest | undefined> {
  const file = join(dir, MANIFEST_FILE);
  let document: unknown;
  try {
    document = JSON.parse(await readFile(file, "utf8"));
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unusable(file, messageOf(reason), reason);
  }
  return checked(document as Partial<PkiManifest> | null, file);
}

/** The file may have been edited or come from a later version: names in it become paths, so they are checked. */
function checked(document: Partial<PkiManifest> | null, file: string): PkiManifest {
  if (document?.version !== 1) throw unusable(file, `its version is ${JSON.stringify(document?.version)}, not 1`);
  const { profile, options, signers, leaves, bundles } = document;
  if (!Object.hasOwn(profiles, profile ?? "")) throw unusable(file, `it names no known profile`);
  if (typeof options !== "object" || options === null) throw unusable(file, "it does not say what was asked for");
  for (const list of [signers, leaves, bundles]) {
    if (!Array.isArray(list)) throw unusable(file, "a list of certificates is missing");
    for (const { name } of list as readonly { name?: unknown }[]) {
      if (typeof name !== "string" || !/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
        throw unusable(file, `${JSON.stringify(name)} is no certificate's name`);
      }
    }
  }
  return document as PkiManifest;
}

function unusable(file: string, why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_PKI_MANIFEST", `${file} cannot be used: ${why}.`, { cause });
}

/** How the certificates in a directory differ from the ones that are wanted now, in half sentences. */
export async function pkiDifferences<Name extends ProfileName>(
  dir: string,
  manifest: PkiManifest,
  profile: Name,
  options: ProfileOptions[Name],
  now = new Date(),
): Promise<string[]> {
  return [
    ...(manifest.profile === profile
      ? differences(manifest, profiles[profile](options))
      : [`made for ${manifest.profile}`]),
    ...(await missing(dir, manifest)),
    ...[...manifest.signers, ...manifest.leaves]
      .filter((entry) => dueAt(entry) <= now.getTime())
      .map(({ name, notAfter }) => `${name} ends ${notAfter}`),
  ];
}

/** Lifetimes are left out: a set that is still good need not be made again for the sake of another length. */
function differences(made: PkiManifest, wanted: ProfileSet): string[] {
  const entries: readonly (SignerPlan | LeafPlan)[] = [...made.signers, ...made.leaves];
  const found = [...wanted.signers, ...wanted.leaves].flatMap((plan) => {
    const entry = entries.find(({ name }) => name === plan.name);
    if (entry === undefined) return [`${plan.name} is not in it`];
    const [have, want] = [addressesOf(entry), addressesOf(plan)];
    if (!isDeepStrictEqual(new Set(have), new Set(want))) {
      return [`${plan.name} is for ${have.join(", ") || "no address"}, not for ${want.join(", ") || "none"}`];
    }
    const [is, shall] = [entry, plan].map(({ commonName, organizations }) => [commonName, ...organizations].join(", "));
    return is === shall ? [] : [`${plan.name} is named ${is}, not ${shall}`];
  });
  return made.key === wanted.key ? found : [`its keys are ${made.key}, not ${wanted.key}`, ...found];
}

const addressesOf = (plan: SignerPlan | LeafPlan): readonly string[] =>
  "ipAddresses" in plan ? [...plan.ipAddresses, ...plan.dnsNames] : [];

async function missing(dir: string, manifest: PkiManifest): Promise<string[]> {
  const found: string[] = [];
  for (const name of filesOf(manifest)) {
    await access(join(dir, name)).catch(() => found.push(`${name} is missing`));
  }
  return found;
}

export interface Life {
  readonly notBefore: string | Date;
  readonly notAfter: string | Date;
  readonly validForMs?: number | undefined;
}

/** When a certificate is due: in the last third of the life it was given, back-dating apart. */
export function dueAt({ notBefore, notAfter, validForMs = Number.POSITIVE_INFINITY }: Life): number {
  const [start, end] = [new Date(notBefore).getTime(), new Date(notAfter).getTime()];
  return end - Math.min(end - start, validForMs) / 3;
}

/** What is wrong with a certificate's time, in words that go on from its name: `lasting` ones stay true while they are kept. */
export function lifeProblem(life: Life, now: Date) {
  const [start, end] = [new Date(life.notBefore), new Date(life.notAfter)];
  const span = roughDuration(Math.abs((now < start ? start : end).getTime() - now.getTime()));
  if (now >= end) {
    const until = end.toISOString();
    return { id: "expired", words: `expired ${span} ago, on ${until}`, lasting: `expired on ${until}` } as const;
  }
  if (now < start) {
    const from = start.toISOString();
    const words = `is not valid yet, only in ${span}, from ${from}`;
    return { id: "not-yet-valid", words, lasting: `is not valid yet, only from ${from}` } as const;
  }
  return now.getTime() < dueAt(life) ? undefined : ({ id: "expires-soon", words: `expires in ${span}` } as const);
}
