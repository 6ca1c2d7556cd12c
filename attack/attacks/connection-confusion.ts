import { BOUND_MIB } from "../attack.js";
import { data } from "../raw/frames.js";
import { closeRequest, closeResponse, dataPacket, dialResponse } from "../raw/packets.js";
import { linkAttack } from "./link.js";

export const connectionConfusion = linkAttack({
  name: "connection-confusion",
  shortPlaces: ["agents", "server"],
  description: "packets for the connections and dials of others: DATA, CLOSE_REQ, CLOSE_RSP, DIAL_RSP by number",
  boundMiB: BOUND_MIB,
  places: ["agents", "grpc", "server"],
  async onLink({ peer, socket, stream }, work) {
    for (let turn = 0; turn < 1000 && !work.over && !socket.destroyed; turn++) {
      const packets: Buffer[] = [];
      for (let count = 0; count < 20; count++) {
        const id = work.random.below(500);
        packets.push(dataPacket(id, Buffer.from("hostile")), closeRequest(id), closeResponse(id, "hostile"));
        packets.push(dialResponse(BigInt(work.random.below(2 ** 31)), id, count % 2 === 0 ? "" : "hostile"));
      }
      const body = Buffer.concat(packets);
      if (!(await work.until(() => peer.room(stream) > body.length || socket.destroyed))) return;
      peer.spend(stream, body.length);
      await work.flood(socket, data(stream, body), { times: 1, perSecond: 1 });
      await work.sleep(2);
    }
  },
});
