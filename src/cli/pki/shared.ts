/** Flags and texts that the pki commands share. */
import type { PkiManifest } from "../../tunnel/pki/manifest.js";
import { filePath, lifetime, required } from "../flags/flag.js";

export const dirFlag = { dir: required(filePath("Directory of the certificates."), "which directory?") };

/** --for, which has no default. */
export const validityFlag = (usage: string) => ({ for: lifetime("0s", usage, { least: 60_000 }) });

/** Certificates with what they are for and when they end, one line each. */
export function listed({ signers, leaves }: PkiManifest, names?: readonly string[]): string {
  const entries = [...signers, ...leaves].filter(({ name }) => names === undefined || names.includes(name));
  const width = Math.max(0, ...entries.map(({ name }) => name.length));
  return entries
    .map((entry) => {
      const subjectNames = "use" in entry ? [...entry.ipAddresses, ...entry.dnsNames].join(", ") : "";
      const what = "use" in entry ? entry.use : "signer";
      const forWhom = subjectNames === "" ? "" : ` for ${subjectNames}`;
      return `  ${entry.name.padEnd(width)}  ${what}${forWhom}, until ${entry.notAfter}\n`;
    })
    .join("");
}
