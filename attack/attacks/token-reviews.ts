import { type Attack, BOUND_MIB } from "../attack.js";
import { reset } from "../raw/frames.js";
import { CONNECT_PATH, openCall } from "../raw/headers.js";
import { RawPeer } from "../raw/peer.js";

export const tokenReviews: Attack = {
  name: "token-reviews",
  against: "agents' listener, before authentication",
  description: "calls with wrong tokens on 20 connections, 2,000 a second, half of them reset at once",
  fixture: "tokens",
  boundMiB: BOUND_MIB,
  seconds: 4,
  shortSeconds: 1.5,
  async run(target, work) {
    const one = async () => {
      const socket = await work.connect(target.listeners.agents!);
      if (!socket) return;
      const peer = new RawPeer(socket, "client");
      peer.greet();
      for (let stream = 1; stream < 4000 && !work.over && !socket.destroyed; stream += 2) {
        const token = { agentid: `stranger-${stream}`, authorization: `Bearer wrong-${work.random.below(1e9)}` };
        const call = openCall(stream, CONNECT_PATH, token);
        await work.write(socket, stream % 4 === 1 ? call : Buffer.concat([call, reset(stream)]));
        if (stream % 4 === 3) await work.sleep(20);
      }
    };
    await Promise.all(Array.from({ length: 20 }, one));
  },
};
