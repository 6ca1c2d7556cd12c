/** Makes a whole set of certificates in memory. */
import { keepOrIssue, type UpToDatePki } from "./keep.js";
import { type ProfileName, type ProfileOptions, type ProfileSet, profiles } from "./profiles.js";

/** A set that exists in memory only, until writePki. */
export interface IssuedPki extends Omit<UpToDatePki, "issued"> {
  readonly profile: ProfileName;
  readonly options: ProfileOptions[ProfileName];
  readonly set: ProfileSet;
  readonly madeAt: Date;
}

export async function certificatesFor<Name extends ProfileName>(
  profile: Name,
  options: ProfileOptions[Name],
  now = new Date(),
): Promise<IssuedPki> {
  const set = profiles[profile](options);
  const nothing = { signers: new Map(), leaves: new Map() };
  const { signers, leaves, bundles } = await keepOrIssue(set, nothing, { renewBeforeMs: 0, now });
  return { profile, options, set, madeAt: now, signers, leaves, bundles };
}
