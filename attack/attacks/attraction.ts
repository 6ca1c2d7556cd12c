import { type Attack, BOUND_MIB } from "../attack.js";
import { VICTIM_HOST } from "../fixtures/fixture.js";
import { CONNECT_PATH } from "../raw/headers.js";
import { dataPacket, dialResponse, PacketType } from "../raw/packets.js";
import { RawPeer } from "../raw/peer.js";

const DIALS = 100;
/** No agent is for it, so that all are asked. */
const ANY_HOST = "127.0.0.9";

/** It answers the dials it gets, as an agent that listens in would. */
const drawDials = (name: string, streams: number, long: boolean): Attack => ({
  ...{ name, long },
  against: "choice among agents, as one of two agents",
  description: `${streams} streams of one agent on one connection, to draw the dials of all callers`,
  fixture: "attraction",
  boundMiB: BOUND_MIB,
  seconds: 5,
  shortSeconds: 3,
  async run(target, work) {
    const socket = await work.connect(target.listeners.agents!);
    if (!socket) return;
    const peer = new RawPeer(socket, "client");
    let [drawn, ids] = [0, 0];
    peer.onPacket = ({ type, random, connectId, data }, stream) => {
      if (type === PacketType.DIAL_REQ) {
        drawn++;
        peer.send(stream, dialResponse(random, ++ids));
      } else if (type === PacketType.DATA) peer.send(stream, dataPacket(connectId, data));
    };
    peer.greet();
    for (let index = 0; index < streams && !work.over; index++) {
      peer.open(1 + 2 * index, CONNECT_PATH, { agentid: "hostile" });
      if (index % 100 === 99) await work.sleep(10);
    }
    drawn = 0;
    let answered = 0;
    for (let count = 0; count < DIALS && !work.over; count++) {
      const caller = await work.connect(target.listeners["connect-uds"]!);
      if (!caller) continue;
      let done = false;
      caller.once("data", () => {
        done = true;
      });
      caller.write(`CONNECT ${target.echo.replace(VICTIM_HOST, ANY_HOST)} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await work.until(() => done || caller.destroyed);
      if (done) answered++;
      work.drop(caller);
    }
    work.note(`${drawn} of ${answered} dials drawn`);
    if (answered >= 40 && drawn > 0.75 * answered)
      work.violation(`one of two agents drew ${drawn} of ${answered} dials`);
  },
});

export const attraction: readonly Attack[] = [
  drawDials("attraction", 2000, false),
  drawDials("attraction-within-bounds", 90, true),
];
