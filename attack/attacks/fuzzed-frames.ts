import { BOUND_MIB } from "../attack.js";
import type { Random } from "../harness/random.js";
import { frame, ping, settings } from "../raw/frames.js";
import { CONNECT_PATH, openCall, requestBlock } from "../raw/headers.js";
import { closeDial, closeRequest, dataPacket, dialRequest, drain } from "../raw/packets.js";
import { linkAttack } from "./link.js";

const SAMPLES: readonly Buffer[] = [
  ping(),
  settings([4, 1], [5, 16_384]),
  openCall(3, CONNECT_PATH, { agentid: "fuzz" }),
  frame(0, 0, 1, dataPacket(1, Buffer.from("fuzz"))),
  frame(0, 0, 1, dialRequest("127.0.0.2:1", 5n)),
  frame(0, 0, 1, closeRequest(1)),
  frame(0, 0, 1, closeDial(5n)),
  frame(0, 0, 1, drain()),
  frame(1, 0, 5, requestBlock(CONNECT_PATH)),
];

/** A frame that may be valid, with a few bytes changed, cut or put in. */
export function fuzzedFrame(random: Random): Buffer {
  if (random.below(4) === 0) {
    return frame(random.below(12), random.below(256), random.below(8), random.bytes(random.below(64)));
  }
  const bytes = Buffer.from(random.pick(SAMPLES));
  for (let count = random.below(3); count > 0; count--) bytes[random.below(bytes.length)] = random.below(256);
  return random.below(8) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes;
}

export const fuzzedFrames = linkAttack({
  name: "fuzzed-frames",
  shortPlaces: ["strangers", "server"],
  description: "seeded random and mutated frames, tens of thousands, on one link after the other",
  boundMiB: BOUND_MIB,
  again: true,
  async onLink({ socket }, work) {
    for (let count = 0; count < 500 && !work.over && !socket.destroyed; count++) {
      await work.flood(socket, Buffer.concat(Array.from({ length: 4 }, () => fuzzedFrame(work.random))), {
        times: 1,
        perSecond: 1,
      });
      if (count % 10 === 9) await work.sleep(1);
    }
    work.drop(socket);
  },
});
