/** The forms of values that are put into scripts, units and configurations as they are. */
import { isIP } from "node:net";
import { splitHostPort } from "../../../base/address.js";
import { DrawbridgeError } from "../../../base/errors/error.js";

/** Throws DB_PAYLOAD with one sentence that names the field. */
export function requireForm<T>(field: string, value: T, isSo: (value: T) => boolean, must: string): void {
  if (!isSo(value)) throw new DrawbridgeError("DB_PAYLOAD", `${field} ${must}, not ${JSON.stringify(value)}`);
}

const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?";
const name = new RegExp(`^${LABEL}(?:\\.${LABEL}){0,126}\\.?$`);

export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes("%");
}

export function isHost(text: string): boolean {
  return isAddress(text) || (text.length <= 254 && name.test(text));
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** `host:port`. */
export function isServer(text: string): boolean {
  const split = splitHostPort(text);
  if ("error" in split || (text.startsWith("[") && !isAddress(split.host))) return false;
  return isHost(split.host) && /^[0-9]{1,5}$/.test(split.port) && isPort(Number(split.port));
}

export function isImage(text: string): boolean {
  return /^[\w.:/@-]+$/.test(text);
}

/** systemd expands % and $ in commands, and divides them at spaces. */
export function isPlainPath(text: string): boolean {
  return /^(?:\/[\w.@+-]+)+$/.test(text) && !/\/\.{1,2}(?:\/|$)/.test(text);
}

/** A key with a line break would be two, the second with whatever rights it asks for. */
export function isOneLine(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text !== "" && !/[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(text);
}
