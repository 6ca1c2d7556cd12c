import { statSync } from "node:fs";

/**
 * Go's sentence for a file that is not there, undefined otherwise; an empty path is not looked at.
 * Any other trouble (no permission, a folder) is told, as upstream does, by whoever reads the file.
 */
export function missingFile(path: string): string | undefined {
  if (path === "") return undefined;
  try {
    statSync(path);
    return undefined;
  } catch (error) {
    const absent = error instanceof Error && "code" in error && error.code === "ENOENT";
    return absent ? `stat ${path}: no such file or directory` : undefined;
  }
}

/** Throws an Error with upstream's text. */
export function requireFile(what: string, path: string): void {
  const missing = missingFile(path);
  if (missing) throw new Error(`error checking ${what} ${path}, got ${missing}`);
}

/** A certificate and its key: each must exist, and neither comes alone. Throws an Error with upstream's text. */
export function requirePair(owner: string, cert: string, key: string): void {
  requireFile(`${owner} key`, key);
  if (key !== "" && cert === "")
    throw new Error(`cannot have ${owner} cert empty when ${owner} key is set to "${key}"`);
  requireFile(`${owner} cert`, cert);
  if (cert !== "" && key === "")
    throw new Error(`cannot have ${owner} key empty when ${owner} cert is set to "${cert}"`);
}
