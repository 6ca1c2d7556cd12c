/** Names for net.connect by this project's resolver. */
import { isIP, type LookupFunction } from "node:net";
import { parseHost } from "../wire/destination.js";
import { LookupError, Resolver } from "./resolver.js";

const resolver = new Resolver();

const lookUp: LookupFunction = (host, _options, done) => {
  resolver.lookup(parseHost(host)?.text ?? host, (found) => {
    if (found instanceof LookupError) done(found, []);
    else
      done(
        null,
        found.map((address) => ({ address, family: isIP(address) })),
      );
  });
};

/**
 * How net.connect finds the addresses of names, which it tries one after the other. Elsewhere than on Linux
 * /etc/resolv.conf is not all that the system knows, and the system is asked.
 */
export const BY_NAME = process.platform === "linux" ? { autoSelectFamily: true, lookup: lookUp } : {};
