/** What may be dialled: checked here, because a CONNECT request is a line of text that an address could break out of. */
import { splitHostPort } from "../wire/address.js";
import { badAddress } from "./errors.js";

export interface DialTarget {
  readonly host: string;
  readonly port: number;
}

export function parseTarget(address: string): DialTarget {
  const split = splitHostPort(address);
  if ("error" in split) throw badAddress(address, split.error);
  const { host, port } = split;
  if (host === "" || /[^\x21-\x7e]|[/?#@]/.test(host))
    throw badAddress(address, "its host is not a name or an address");
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw badAddress(address, "its port is not a number from 1 to 65535");
  }
  return { host, port: Number(port) };
}
