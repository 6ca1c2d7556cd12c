import { connect, type Socket } from "node:net";
import { connectRequest } from "../../test/support/callers/connect.js";
import type { Route } from "../load/drive.js";

const EVERY_MS = 10;
/** What hangs longer is given up; others try meanwhile. */
const ATTEMPT_MS = 2_000;
/** What the load generator's target sends back. */
const ECHO = "E";

/** Resolves once a new tunnel has carried a byte both ways. A new one is tried every 10 ms, whatever became of the others. */
export function untilServed(route: Route, withinMs: number): Promise<void> {
  const sockets = new Set<Socket>();
  return new Promise<void>((resolve, reject) => {
    const finish = (end: () => void) => {
      clearInterval(trying);
      clearTimeout(late);
      for (const socket of sockets) socket.destroy();
      end();
    };
    const attempt = () => {
      const socket = open(route, (served) => {
        if (served) finish(resolve);
      });
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    };
    const trying = setInterval(attempt, EVERY_MS);
    const late = setTimeout(
      () => finish(() => reject(new Error(`no new tunnel was served within ${withinMs / 1000} s`))),
      withinMs,
    );
    attempt();
  });
}

function open({ frontend, address, target }: Route, onAnswer: (served: boolean) => void): Socket {
  const [host = "", port] = address.split(":");
  const socket = address.startsWith("/") ? connect(address) : connect(Number(port), host);
  let head = frontend === "direct" ? undefined : "";
  socket.setTimeout(ATTEMPT_MS, () => socket.destroy());
  socket.on("error", () => {});
  socket.on("connect", () => socket.write(head === undefined ? `${ECHO}x` : connectRequest(target)));
  socket.on("data", (bytes: Buffer) => {
    if (head === undefined) {
      onAnswer(bytes.toString("latin1") === "x");
      socket.destroy();
      return;
    }
    head += bytes.toString("latin1");
    if (!head.endsWith("\r\n\r\n")) return;
    if (head.startsWith("HTTP/1.1 200 ")) socket.write(`${ECHO}x`);
    else socket.destroy();
    head = undefined;
  });
  return socket;
}
