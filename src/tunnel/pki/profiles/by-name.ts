import { type BootstrapOptions, bootstrapProfile } from "./bootstrap.js";
import { type HostedOptions, hostedProfile } from "./hosted.js";
import type { ProfileSet } from "./profile-set.js";

/** What each profile must be told. */
export interface ProfileOptions {
  readonly bootstrap: BootstrapOptions;
  readonly hosted: HostedOptions;
}

export type ProfileName = keyof ProfileOptions;

const profiles: { readonly [Name in ProfileName]: (options: ProfileOptions[Name]) => ProfileSet } = {
  bootstrap: bootstrapProfile,
  hosted: hostedProfile,
};

export const profileNames = Object.keys(profiles) as ProfileName[];

export function profileSet<Name extends ProfileName>(profile: Name, options: ProfileOptions[Name]): ProfileSet {
  return profiles[profile](options);
}
