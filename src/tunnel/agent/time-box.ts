/**
 * For a bridge with an end: an agent whose own certificate has ended cannot be let in any more, so it neither keeps its
 * streams nor asks its servers until it gets a new one. It does not exit, since whatever runs it would start it again.
 */
import { readFileSync } from "node:fs";
import { leafIn } from "../pki/pem.js";

/** When the certificate in the file ends; undefined while the file cannot be read, which the next attempt will tell. */
export function certificateEnd(certFile: string): Date | undefined {
  try {
    return new Date(leafIn(readFileSync(certFile, "utf8")).validTo);
  } catch {
    return undefined;
  }
}

/** Why no server is asked for now; undefined while there is a reason to try. */
export function restReason(certFile: string, now: number = Date.now()): string | undefined {
  const end = certificateEnd(certFile);
  if (end === undefined || end.getTime() > now) return undefined;
  return `this agent's certificate ended at ${end.toISOString()}; it rests until ${certFile} holds a new one`;
}
