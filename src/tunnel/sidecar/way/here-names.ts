/** Names by the resolver of the host that we run on. */
import { Resolver } from "../../resolver/resolver.js";
import type { Ask } from "./answer-cache.js";

export type LookUpHere = (name: string, stop: AbortSignal) => Promise<readonly string[]>;

export function lookupHere(): LookUpHere {
  const resolver = new Resolver();
  return (name, stop) => resolver.find(name, stop);
}

export function askHere(lookup: LookUpHere): Ask {
  return async (name, stop) => {
    try {
      return { addresses: await lookup(name, stop), ttlMs: undefined };
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      if (code === "ENOTFOUND" || code === "ENODATA") return { addresses: [], ttlMs: undefined };
      throw reason;
    }
  };
}
