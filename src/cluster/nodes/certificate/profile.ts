/** The Ignition server's certificates as they should be: one signer for ten years, one certificate for a year. */
import type { ProfileSet } from "../../../tunnel/pki/profiles/profile-set.js";
import type { PublishedAddresses } from "./addresses.js";

export const SIGNER_NAME = "ignition-root-ca";
export const LEAF_NAME = "ignition-server";

const DAY_MS = 24 * 60 * 60_000;

export function servingProfile(addresses: PublishedAddresses): ProfileSet {
  return {
    key: "p256",
    keyFormat: "pkcs8",
    // Machines have no time from the network when they first come.
    backdateMs: DAY_MS,
    signers: [
      {
        name: SIGNER_NAME,
        commonName: SIGNER_NAME,
        organizations: [],
        organizationalUnits: ["drawbridge"],
        validForMs: 3650 * DAY_MS,
      },
    ],
    leaves: [
      {
        name: LEAF_NAME,
        signer: SIGNER_NAME,
        use: "server",
        commonName: LEAF_NAME,
        organizations: ["drawbridge"],
        validForMs: 365 * DAY_MS,
        ...addresses,
      },
    ],
    bundles: [],
  };
}

/** A certificate is issued again this long before its end. */
export const renewBeforeMs = 30 * DAY_MS;
