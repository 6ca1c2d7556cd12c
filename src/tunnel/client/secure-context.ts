/** The certificates for a front door, made ready for TLS once and again whenever their files change. */
import { statSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";
import { certificatesOf, type FrontendTls } from "./frontend.js";

/**
 * How long certificates in service stay so while their files do not fit: certificate and key are two files, and whoever
 * replaces them needs a moment between the two.
 */
const REPLACEMENT_MS = 60_000;

interface Ready {
  readonly context: SecureContext;
  readonly stamp: string;
  /** Since when the files could not be used. */
  brokenSince: number | undefined;
}

/** By the caller's own object, which lives as long as it dials that way. */
const made = new WeakMap<FrontendTls, Ready>();

/** Throws a DrawbridgeError that names the file at fault. */
export function secureContextOf(tls: FrontendTls, now: () => number = Date.now): SecureContext {
  const known = made.get(tls);
  // Before the files are read: what is replaced meanwhile is noticed the next time.
  const stamp = stampOf(tls);
  if (known?.stamp === stamp) return known.context;
  try {
    const context = createSecureContext({ ...certificatesOf(tls), minVersion: "TLSv1.2" });
    made.set(tls, { context, stamp, brokenSince: undefined });
    return context;
  } catch (reason) {
    if (known === undefined) throw reason;
    known.brokenSince ??= now();
    if (now() - known.brokenSince >= REPLACEMENT_MS) throw reason;
    return known.context;
  }
}

function stampOf({ caFile, certFile, keyFile }: FrontendTls): string {
  const stamps = [caFile, certFile, keyFile].map((file) => {
    const found = file === undefined || file === "" ? undefined : statSync(file, { throwIfNoEntry: false });
    return found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
  });
  return stamps.join(", ");
}
