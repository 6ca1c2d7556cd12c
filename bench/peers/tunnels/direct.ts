import { Ends } from "../ends.js";
import type { Tunnel } from "../tunnel.js";

/** The driver talks to the target itself: what the load generator can do at most. */
export const direct: Tunnel = {
  name: "direct",
  title: "no tunnel",
  problem: () => undefined,
  version: () => "",
  start: (_scope, { target }) =>
    Promise.resolve(Ends.none({ frontend: "direct", address: target.address, target: target.address })),
};
