import { BOUND_MIB } from "../attack.js";
import { data } from "../raw/frames.js";
import { dialRequest } from "../raw/packets.js";
import { linkAttack } from "./link.js";

/** Nobody listens on port 1; an echo that is never asked stays open. */
export const dialFlood = linkAttack({
  name: "dial-flood",
  shortPlaces: ["grpc", "server"],
  description: "DIAL_REQ by the thousand on one stream, to endpoints that refuse and to endpoints that accept",
  boundMiB: BOUND_MIB,
  places: ["grpc", "server"],
  async onLink({ peer, socket, stream }, work, target) {
    for (let turn = 0; turn < 40 && !work.over && !socket.destroyed; turn++) {
      const packets = Array.from({ length: 50 }, (_, index) =>
        dialRequest(index % 5 === 0 ? target.stalled : "127.0.0.2:1", BigInt(1 + turn * 50 + index)),
      );
      const body = Buffer.concat(packets);
      if (!(await work.until(() => peer.room(stream) > body.length || socket.destroyed))) return;
      peer.spend(stream, body.length);
      await work.flood(socket, data(stream, body), { times: 1, perSecond: 1 });
      await work.sleep(20);
    }
  },
});
