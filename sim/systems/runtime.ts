/** The world as the code under test sees it. */
import type { NetConnectOpts, Socket } from "node:net";
import type { Runtime } from "../../src/base/runtime.js";
import type { Network } from "../sockets/network.js";
import type { Host } from "../world/host.js";

export function runtimeOf(host: Host, network?: Network): Runtime {
  return {
    ...host.clock,
    soon: (action) => host.immediate(action),
    next: (action) => host.tick(action),
    random: () => host.random.float(),
    randomBytes(size) {
      const bytes = Buffer.alloc(size);
      host.random.fill(bytes);
      return bytes;
    },
    connect(options: NetConnectOpts) {
      const { host: name, port, allowHalfOpen, onread } = options as NetConnectOpts & { host: string; port: number };
      if (network === undefined) throw new Error("this process connects to nobody");
      return network.connect(host, `${name}:${port}`, { allowHalfOpen, onread }) as unknown as Socket;
    },
  };
}
