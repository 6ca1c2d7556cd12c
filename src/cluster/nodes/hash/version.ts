/** Release versions: only as much of semantic versioning as decisions here need. */
import { DrawbridgeError } from "../../../base/errors/error.js";

export interface ReleaseVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

const SHAPE = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

export function parseVersion(text: string): ReleaseVersion {
  const found = SHAPE.exec(text);
  if (found === null) throw new DrawbridgeError("DB_NODEPOOL", `"${text}" is not a release version such as 4.18.3`);
  const [major, minor, patch] = found.slice(1, 4).map(Number) as [number, number, number];
  return { major, minor, patch };
}

/** Pre-releases count as their release: a nightly of 4.23 has what 4.23 has. */
export function isAtLeast({ major, minor }: ReleaseVersion, wantedMajor: number, wantedMinor: number): boolean {
  return major !== wantedMajor ? major > wantedMajor : minor >= wantedMinor;
}
