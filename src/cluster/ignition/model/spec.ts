/** The versions of the config spec: 3.0 to 3.5, told apart by their second number. */
export const minors = [0, 1, 2, 3, 4, 5] as const;
export type Minor = (typeof minors)[number];

export const NEWEST: Minor = 5;

export const versionOf = (minor: Minor): string => `3.${minor}.0`;

/** Numbers may have leading zeros, as Ignition reads them; anything behind a plus or minus names another version. */
const SPELLING = /^0{0,20}3\.0{0,20}(\d)\.0{1,20}$/;

export function minorOf(version: string): Minor | undefined {
  const digit = Number(SPELLING.exec(version)?.[1]);
  return minors.find((minor) => minor === digit);
}
