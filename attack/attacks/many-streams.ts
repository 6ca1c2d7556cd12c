import { BOUND_MIB } from "../attack.js";
import { CONNECT_PATH, openCall, PROXY_PATH } from "../raw/headers.js";
import { linkAttack } from "./link.js";

export const manyStreams = linkAttack({
  name: "many-streams",
  shortPlaces: ["agents"],
  description: "5,000 calls held open on one connection",
  boundMiB: BOUND_MIB,
  places: ["strangers", "agents", "grpc"],
  async onLink({ socket, role }, work) {
    const path = role === "caller" ? PROXY_PATH : CONNECT_PATH;
    for (let first = 3; first < 10_003 && !work.over; first += 200) {
      const calls = Array.from({ length: 100 }, (_, index) =>
        openCall(first + 2 * index, path, { agentid: "hostile" }),
      );
      await work.flood(socket, Buffer.concat(calls), { times: 1, perSecond: 1 });
      await work.sleep(5);
    }
  },
});
