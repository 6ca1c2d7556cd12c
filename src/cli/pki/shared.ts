/** What the pki commands have in common. */
import type { PkiManifest } from "../../tunnel/pki/manifest.js";
import { text } from "../flags/flag.js";
import { refused } from "../flags/parse.js";

export const dirFlag = { dir: text("Directory of the certificates. Required.") };

export function requireDir(dir: string): void {
  if (dir === "") throw refused("--dir is missing: the directory of the certificates");
}

/** Of --for; undefined when it was not given. */
export function validityOf(ms: number, isGiven: boolean): { readonly validForMs?: number } {
  if (!isGiven) return {};
  if (ms < 60_000) throw refused("--for must be at least one minute");
  return { validForMs: ms };
}

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
