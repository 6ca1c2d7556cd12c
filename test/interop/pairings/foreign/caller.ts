import { Client, credentials } from "@grpc/grpc-js";
import { asIs, PacketStream } from "./packet-stream.js";

/** A gRPC frontend client: one HTTP/2 session, as many Proxy streams as a test wants. */
export class ForeignCaller {
  readonly #client: Client;

  constructor(udsPath: string) {
    this.#client = new Client(`unix:${udsPath}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  }

  open(): PacketStream {
    return new PacketStream(this.#client.makeBidiStreamRequest("/ProxyService/Proxy", asIs, asIs));
  }

  close(): void {
    this.#client.close();
  }
}

let lastRandom = 2n ** 62n;

/** A dial ID of its own, in the upper half of the range, where a JavaScript number would lose digits. */
export function freshRandom(): bigint {
  lastRandom += 1_000_003n;
  return lastRandom;
}
