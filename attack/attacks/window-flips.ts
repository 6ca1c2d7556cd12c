import { BOUND_MIB } from "../attack.js";
import { Setting, settings } from "../raw/frames.js";
import { CONNECT_PATH, PROXY_PATH } from "../raw/headers.js";
import { linkAttack } from "./link.js";

const STREAMS = 90;
const FLIPS_PER_FRAME = 2500;

export const windowFlips = linkAttack({
  name: "window-flips",
  shortPlaces: ["agents"],
  description: "SETTINGS frames that change INITIAL_WINDOW_SIZE 2,500 times each, with 90 streams open",
  boundMiB: BOUND_MIB,
  async onLink({ peer, socket, role }, work) {
    const path = role === "caller" ? PROXY_PATH : CONNECT_PATH;
    for (let index = 1; index <= STREAMS && role !== "server"; index++) {
      peer.open(1 + 2 * index, path, { agentid: "hostile" });
    }
    const entry = (index: number) => [Setting.INITIAL_WINDOW_SIZE, index % 2 === 0 ? 65_535 : 1 << 20] as const;
    const flips = settings(...Array.from({ length: FLIPS_PER_FRAME }, (_, index) => entry(index)));
    await work.flood(socket, flips, { times: 500, perSecond: 200 });
  },
});
