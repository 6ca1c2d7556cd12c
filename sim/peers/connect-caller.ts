/** A caller by HTTP CONNECT, as kube-apiserver is one. */
import type { SimSocket } from "../sockets/socket.js";
import type { CallerPlan } from "../types.js";
import type { Host } from "../world/host.js";
import type { Asked } from "./caller.js";
import { SocketLine } from "./line.js";
import { Talker } from "./talker.js";

const ESTABLISHED = "HTTP/1.1 200 Connection Established\r\n\r\n";
const LONGEST_HEAD = 16 * 1024;

export function callByConnect(host: Host, plan: CallerPlan, socket: SimSocket, address: string): Asked {
  const { world } = host;
  let head = "";
  let isClosed = false;
  const asked: Asked = { talker: new Talker(host, { ...plan, other: `${plan.name}'s endpoint` }), answers: 0, giveUp };
  const { talker } = asked;
  const line = new SocketLine(socket, {
    onData(bytes) {
      if (asked.answers > 0) {
        if (asked.refusal === undefined) talker.onData(bytes);
        return;
      }
      head += Buffer.from(bytes).toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) {
        if (head.length > LONGEST_HEAD) world.fail("one answer for each dial", `${plan.name} read no end of a head`);
        return;
      }
      answer(head.slice(0, end + 4), Buffer.from(head.slice(end + 4), "latin1"));
    },
    onDrain: () => talker.onDrain(),
    onEnd() {
      if (asked.answers > 0 && asked.refusal === undefined) talker.onEnd();
      else socket.end();
    },
    onClosed(error) {
      isClosed = true;
      asked.lost ??= asked.answers === 0 ? (error ?? "no answer") : undefined;
      talker.onClosed(error);
    },
  });
  function answer(text: string, rest: Buffer): void {
    asked.answers++;
    asked.answeredAtMs = world.now;
    world.note(text.slice(9, 12), plan.name);
    if (!text.startsWith("HTTP/1.1 200")) {
      asked.refusal = text.slice(9, 12);
      socket.end();
      return;
    }
    if (text !== ESTABLISHED)
      world.fail("200 before any byte", `${plan.name} read ${JSON.stringify(text)} instead of a bare 200`);
    if (plan.early !== true) talker.start(line);
    if (rest.length > 0) talker.onData(rest);
  }
  function giveUp(): void {
    if (asked.answers > 0 || isClosed) return;
    asked.gaveUp = true;
    socket.destroy();
  }
  socket.on("connect", () => {
    socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
    if (plan.early === true) talker.start(line);
  });
  return asked;
}
