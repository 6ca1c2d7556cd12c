/** Older specs into 3.5: what they left to defaults is said, what they could not say stays absent. */
import type { Clevis, Config, LinkEntry, Luks, Raid } from "./config.js";
import { type Minor, NEWEST, versionOf } from "./spec.js";

export function upTranslated(config: Config, minor: Minor): Config {
  const ignition = { ...config.ignition, version: versionOf(NEWEST) };
  // From 3.3 on a few strings may be absent that were always there before, empty if nothing else.
  if (minor >= 3 || config.storage === undefined) return { ...config, ignition };
  const { links, luks, raid, ...storage } = config.storage;
  return {
    ...config,
    ignition,
    storage: {
      ...storage,
      ...(links && { links: links.map((link): LinkEntry => ({ ...link, target: link.target ?? "" })) }),
      ...(luks && { luks: luks.map(clevisTranslated) }),
      ...(raid && { raid: raid.map((array): Raid => ({ ...array, level: array.level ?? "" })) }),
    },
  };
}

function clevisTranslated(luks: Luks): Luks {
  const { clevis } = luks;
  if (clevis?.custom === undefined) return luks;
  const { config = "", pin = "" } = clevis.custom;
  const translated: Clevis = { ...clevis, custom: { ...clevis.custom, config, pin } };
  return { ...luks, clevis: translated };
}
