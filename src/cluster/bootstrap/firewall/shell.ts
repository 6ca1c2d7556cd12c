/** Small parts that the commands of several platforms share. */

/** Lines of one command block. */
export function lines(...parts: readonly (string | readonly string[])[]): string {
  return parts.flat().join("\n");
}

export const isIPv6 = (prefix: string): boolean => prefix.includes(":");

/** Marks in every firewall what is ours, so that removal finds exactly that. */
export const MARK = "drawbridge-bootstrap";

/** The first release that opens the port itself. */
export const OPENS_ITSELF = "openshift-install 4.23 and later";

/** A value only the user knows: the shell stops with these words while the variable is not set. */
export function given(variable: string, what: string): string {
  return `"\${${variable}:?${what}}"`;
}
