/** The Ignition server's certificates as they should be: one signer for ten years, one certificate for a year. */
import type { ProfileSet } from "../../../tunnel/pki/profiles/profile-set.js";
import type { PublishedAddresses } from "./addresses.js";

export const signerName = "ignition-root-ca";
export const leafName = "ignition-server";

const dayMs = 24 * 60 * 60_000;

export function servingProfile(addresses: PublishedAddresses): ProfileSet {
  return {
    key: "p256",
    keyFormat: "pkcs8",
    // Machines have no time from the network when they first come.
    backdateMs: dayMs,
    signers: [
      {
        name: signerName,
        commonName: signerName,
        organizations: [],
        organizationalUnits: ["drawbridge"],
        validForMs: 3650 * dayMs,
      },
    ],
    leaves: [
      {
        name: leafName,
        signer: signerName,
        use: "server",
        commonName: leafName,
        organizations: ["drawbridge"],
        validForMs: 365 * dayMs,
        ...addresses,
      },
    ],
    bundles: [],
  };
}

/** A certificate is issued again this long before its end. */
export const renewBeforeMs = 30 * dayMs;
