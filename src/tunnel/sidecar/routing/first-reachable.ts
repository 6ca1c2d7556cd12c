/** Of a name's addresses the one that answers first, as RFC 8305 (Happy Eyeballs) has it. */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, systemClock } from "../../../base/clock.js";
import { step } from "../../outgoing/connected.js";
import { type FailureKind, RouteError } from "./errors.js";

/** A name with more dead addresses than this is not worth a caller's patience. */
const MAX_ATTEMPTS = 4;

/** How long an address has to answer before the next one is tried beside it; as in Go. */
const NEXT_AFTER_MS = 300;

/** Failures of one address, which say nothing about the others. */
const ELSEWHERE: ReadonlySet<FailureKind> = new Set(["refused", "network", "host", "timeout"]);

/** Rejects with the first address' reason when none answers, or with the reason of `stop`. */
export async function firstReachable(
  addresses: readonly string[],
  stop: AbortSignal,
  open: (address: string, stop: AbortSignal) => Promise<Duplex>,
  clock: Clock = systemClock,
): Promise<Duplex> {
  const waiting = familiesInTurn(addresses).slice(0, MAX_ATTEMPTS);
  const [only] = waiting;
  if (only !== undefined && waiting.length === 1) return await open(only, stop);
  const attempts = new Set<AbortController>();
  const reasons: unknown[] = [];
  return await step<Duplex>(stop, (resolve, reject) => {
    let cancel = (): void => {};
    const next = (): void => {
      cancel();
      const address = waiting.shift();
      if (address === undefined) {
        if (attempts.size === 0) reject(reasons.find((reason) => reason !== undefined));
        return;
      }
      if (waiting.length > 0) cancel = clock.after(NEXT_AFTER_MS, next);
      const attempt = new AbortController();
      const place = reasons.push(undefined) - 1;
      attempts.add(attempt);
      open(address, attempt.signal).then(
        (stream) => {
          attempts.delete(attempt);
          if (attempt.signal.aborted) stream.destroy();
          else resolve(stream);
        },
        (reason: unknown) => {
          attempts.delete(attempt);
          if (attempt.signal.aborted) return;
          reasons[place] = reason;
          if (reason instanceof RouteError && ELSEWHERE.has(reason.kind)) next();
          else reject(reason);
        },
      );
    };
    next();
    return () => {
      cancel();
      for (const attempt of attempts) attempt.abort(new Error("another address answered"));
    };
  });
}

/** In the resolver's order, but IPv4 and IPv6 in turn: one of the two may not work at all. */
function familiesInTurn(addresses: readonly string[]): string[] {
  const first = isIP(addresses[0] ?? "");
  const same = addresses.filter((address) => isIP(address) === first);
  const others = addresses.filter((address) => isIP(address) !== first);
  return same
    .flatMap((address, index) => [address, ...others.slice(index, index + 1)])
    .concat(others.slice(same.length));
}
