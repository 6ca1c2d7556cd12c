/** Reads claim rules from a file. Apart from claims.ts because only this needs the YAML library. */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { DrawbridgeError, messageOf } from "../../errors/error.js";
import { type ClaimRules, parseClaimRules } from "./claims.js";

/** YAML or JSON. */
export async function readClaimRules(file: string): Promise<ClaimRules> {
  let document: unknown;
  try {
    document = parse(await readFile(file, "utf8"));
  } catch (cause) {
    throw new DrawbridgeError("DB_CLAIMS_FILE", `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  return parseClaimRules(document, file);
}
