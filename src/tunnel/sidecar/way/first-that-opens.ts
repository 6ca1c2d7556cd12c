/** Several addresses of one name: the next is tried when one cannot be reached. */
import type { Duplex } from "node:stream";
import { type Hindrance, WayError } from "../way.js";

/** A name with more dead addresses than this is not worth a caller's patience. */
const MAX_ATTEMPTS = 4;

/** Nothing that was said is lost by trying elsewhere; a timeout has used up the time for it. */
const ELSEWHERE: ReadonlySet<Hindrance> = new Set(["refused", "network", "host"]);

export async function firstThatOpens(
  addresses: readonly string[],
  open: (address: string) => Promise<Duplex>,
): Promise<Duplex> {
  let first: unknown;
  for (const address of addresses.slice(0, MAX_ATTEMPTS)) {
    try {
      return await open(address);
    } catch (reason) {
      if (!(reason instanceof WayError) || !ELSEWHERE.has(reason.hindrance)) throw reason;
      first ??= reason;
    }
  }
  throw first;
}
