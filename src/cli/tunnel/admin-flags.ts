/** What opens the admin API, the same for every role. */

import type { Flag, FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import { requireFile, requirePair } from "./existing-file.js";

export interface AdminFlags {
  readonly adminTokenFile: Flag<string>;
  readonly adminCertFile: Flag<string>;
  readonly adminKeyFile: Flag<string>;
}

/** `mark` goes before each text of --help. */
export function addAdminFlags(set: FlagSet, mark = ""): AdminFlags {
  const text = (name: string, usage: string) => set.add(name, string, "", mark + usage);
  return {
    adminTokenFile: text(
      "admin-token-file",
      "File with the bearer token that opens the admin API and the live page. If empty, the admin port serves metrics only.",
    ),
    adminCertFile: text(
      "admin-cert-file",
      "Certificate with which the admin port speaks TLS. If empty, the admin API is open on loopback only.",
    ),
    adminKeyFile: text("admin-key-file", "Key of --admin-cert-file."),
  };
}

/** Throws an Error with one sentence. */
export function checkAdminFlags({ adminTokenFile, adminCertFile, adminKeyFile }: AdminFlags): void {
  requireFile("admin token file", adminTokenFile.value);
  requirePair("admin", adminCertFile.value, adminKeyFile.value);
}

/** As the roles' configurations have it. */
export function adminAccessOf({ adminTokenFile, adminCertFile, adminKeyFile }: AdminFlags) {
  const tls = { certFile: adminCertFile.value, keyFile: adminKeyFile.value };
  return { tokenFile: adminTokenFile.value, ...(tls.certFile === "" ? {} : { tls }) };
}
