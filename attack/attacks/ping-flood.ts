import { BOUND_MIB } from "../attack.js";
import { ping, repeated } from "../raw/frames.js";
import { linkAttack } from "./link.js";

export const pingFlood = linkAttack({
  name: "ping-flood",
  shortPlaces: ["strangers", "server"],
  description: "PING frames by the million to a peer whose answers are never read",
  boundMiB: BOUND_MIB,
  mustEnd: true,
  async onLink({ peer, socket }, work) {
    peer.stopReading();
    // 16 MB of PINGs would be 17 MB of answers, and with an object for each many times that.
    await work.flood(socket, repeated(ping(), 1000), { times: 1000, perSecond: 1000 });
  },
});
