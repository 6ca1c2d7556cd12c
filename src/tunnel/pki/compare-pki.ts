/** Whether the certificates in a directory are the ones that are wanted now. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { filesOf, type PkiManifest, readManifest } from "./manifest.js";
import { type ProfileName, type ProfileOptions, profileSet } from "./profiles/by-name.js";
import type { LeafPlan, ProfileSet, SignerPlan } from "./profiles/profile-set.js";
import { dueAt } from "./renewal.js";

export type Comparison =
  | { readonly state: "absent" }
  | { readonly state: "same"; readonly manifest: PkiManifest }
  /** `why` in half sentences. */
  | { readonly state: "different"; readonly manifest: PkiManifest; readonly why: readonly string[] };

export async function comparePki<Name extends ProfileName>(
  dir: string,
  profile: Name,
  options: ProfileOptions[Name],
  now = new Date(),
): Promise<Comparison> {
  const manifest = await readManifest(dir);
  if (manifest === undefined) return { state: "absent" };
  const why = [
    ...(manifest.profile === profile
      ? differences(manifest, profileSet(profile, options))
      : [`made for ${manifest.profile}`]),
    ...(await missing(dir, manifest)),
    ...spent(manifest, now),
  ];
  return why.length === 0 ? { state: "same", manifest } : { state: "different", manifest, why };
}

/** Lifetimes are left out: a set that is still good need not be made anew for the sake of another length. */
function differences(made: PkiManifest, wanted: ProfileSet): string[] {
  const found: string[] = [];
  if (made.key !== wanted.key) found.push(`its keys are ${made.key}, not ${wanted.key}`);
  const plans: [readonly (SignerPlan | LeafPlan)[], readonly (SignerPlan | LeafPlan)[]][] = [
    [made.signers, wanted.signers],
    [made.leaves, wanted.leaves],
  ];
  for (const [have, want] of plans) {
    for (const plan of want) {
      const entry = have.find(({ name }) => name === plan.name);
      if (entry === undefined) found.push(`${plan.name} is not in it`);
      else found.push(...differenceOf(entry, plan));
    }
  }
  return found;
}

function differenceOf(entry: SignerPlan | LeafPlan, plan: SignerPlan | LeafPlan): string[] {
  const [have, want] = [entry, plan].map((each) =>
    "ipAddresses" in each ? [...each.ipAddresses, ...each.dnsNames] : [],
  );
  if (!isDeepStrictEqual(new Set(have), new Set(want))) {
    return [`${plan.name} is for ${have!.join(", ") || "no address"}, not for ${want!.join(", ") || "none"}`];
  }
  const subject = ({ commonName, organizations }: SignerPlan | LeafPlan) => [commonName, ...organizations].join(", ");
  return subject(entry) === subject(plan) ? [] : [`${plan.name} is named ${subject(entry)}, not ${subject(plan)}`];
}

async function missing(dir: string, manifest: PkiManifest): Promise<string[]> {
  const found: string[] = [];
  for (const name of filesOf(manifest)) {
    await access(join(dir, name)).catch(() => found.push(`${name} is missing`));
  }
  return found;
}

function spent({ signers, leaves }: PkiManifest, now: Date): string[] {
  return [...signers, ...leaves]
    .filter((entry) => dueAt(entry) <= now.getTime())
    .map(({ name, notAfter }) => `${name} ends ${notAfter}`);
}
