import { join } from "node:path";
import { Scope } from "../../test/support/processes/scope.js";
import { startRelay } from "../load/loadgen.js";
import type { Contender } from "./contender.js";
import type { Ground } from "./ground.js";

/** The driver talks to the target itself: what the load generator can do at most. */
export function direct(ground: Ground): Contender {
  const { address } = ground.target;
  return {
    name: "direct",
    route: { frontend: "direct", address, target: address },
    pids: [],
    close: () => Promise.resolve(),
  };
}

/** Two hops with mutual TLS between them and one connection for each caller: nothing is multiplexed, nothing is checked. */
export async function relay(ground: Ground): Promise<Contender> {
  const scope = new Scope();
  try {
    const { pki, target } = ground;
    const far = await startRelay(scope, "tls:127.0.0.1:0", `tcp:${target.address}`, pki.cluster);
    const socket = join(scope.tempDir(), "relay.sock");
    const near = await startRelay(scope, `unix:${socket}`, `tls:${far.address}`, pki.agent);
    return {
      name: "relay",
      route: { frontend: "direct", address: socket, target: target.address },
      pids: [near.pid, far.pid],
      close: () => scope.close(),
    };
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}
