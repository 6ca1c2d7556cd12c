import { BOUND_MIB } from "../attack.js";
import { data } from "../raw/frames.js";
import { closeRequest, dataPacket } from "../raw/packets.js";
import { linkAttack } from "./link.js";

export const unknownConnections = linkAttack({
  name: "unknown-connections",
  shortPlaces: ["grpc", "server"],
  description: "DATA and CLOSE_REQ for connections that do not exist, to a peer whose answers are never read",
  boundMiB: BOUND_MIB,
  places: ["agents", "grpc", "server"],
  async onLink({ peer, socket, stream }, work) {
    peer.stopReading();
    for (let id = 1_000_000; id < 1_200_000 && !work.over && !socket.destroyed; ) {
      const packets: Buffer[] = [];
      for (let count = 0; count < 100; count++, id++) packets.push(dataPacket(id, Buffer.of(1)), closeRequest(id));
      const body = Buffer.concat(packets);
      // Nothing is read, so no window is ever given: beyond it the other side may end the link, or has stopped reading.
      if (peer.room(stream) < body.length && peer.room(stream) < 65_535) return;
      peer.spend(stream, body.length);
      await work.flood(socket, data(stream, body), { times: 1, perSecond: 1 });
    }
  },
});
