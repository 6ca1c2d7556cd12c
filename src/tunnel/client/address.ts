/** What may be dialled, in the one form that servers and agents judge and dial. */
import { joinHostPort, splitHostPort } from "../../base/address.js";
import { NOT_A_HOST, parseHost } from "../wire/destination.js";
import { badAddress } from "./errors.js";

export interface DialTarget {
  readonly host: string;
  readonly port: number;
}

/** Also kept from a CONNECT request: a line of text that an address could break out of. */
export function parseTarget(address: string): DialTarget {
  const split = splitHostPort(address);
  if ("error" in split) throw badAddress(address, split.error);
  const host = parseHost(split.host);
  if (host === undefined) throw badAddress(address, NOT_A_HOST);
  const port = Number(split.port);
  if (!/^\d{1,5}$/.test(split.port) || port < 1 || port > 65_535) {
    throw badAddress(address, "its port is not a number from 1 to 65535");
  }
  return { host: host.text, port };
}

/** The same as text. */
export function canonicalTarget(address: string): string {
  const { host, port } = parseTarget(address);
  return joinHostPort(host, port);
}
