/** What Kubernetes, TLS and URLs accept as names. */
import { isIP } from "node:net";

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export const isLabel = (text: string): boolean => LABEL.test(text);

export const isDnsName = (text: string): boolean =>
  isIP(text) === 0 && text.length <= 253 && text.split(".").every((part) => LABEL.test(part));

export const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes("%");

export function isPrefix(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  if (rest.length > 0 || bits === undefined || !/^\d{1,3}$/.test(bits) || !isAddress(address)) return false;
  return Number(bits) <= (isIP(address) === 4 ? 32 : 128);
}

export const isPullSpec = (text: string): boolean => /^[\w][\w.:/@-]*$/.test(text);

export function isProxyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && hostname !== "";
}

/** Of a proxy's URL that was found good. */
export const hasPassword = (url: string): boolean => new URL(url).password !== "";

/** HyperShift's rule for the control plane's namespace. */
export const namespaceFor = (namespace: string, name: string): string => `${namespace}-${name.replaceAll(".", "-")}`;
