import { type Attack, BOUND_MIB } from "../attack.js";
import { namesUnavailable } from "../fixtures/names.js";
import { PROXY_PATH } from "../raw/headers.js";
import { dialRequest } from "../raw/packets.js";
import { RawPeer } from "../raw/peer.js";

export const slowNames: Attack = {
  name: "slow-names",
  against: "agent's resolver, as a caller",
  description: "60 names whose DNS server never answers, while the victim uses names of the hosts file",
  fixture: "names",
  boundMiB: BOUND_MIB,
  unavailable: namesUnavailable,
  async run(target, work) {
    for (let index = 0; index < 60; index++) {
      const socket = await work.connect(target.listeners["grpc-uds"]!);
      if (!socket) continue;
      const peer = new RawPeer(socket, "client");
      peer.greet();
      peer.open(1, PROXY_PATH);
      peer.send(1, dialRequest(`slow-${index}.test:80`, 1n));
      await work.sleep(5);
    }
    await work.untilOver();
  },
};
