/** Accepts every client that waits before any of them is served, so that a burst of bad requests delays few good ones. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** How long the clients that were accepted may wait while more are being accepted. */
const MAX_WAIT_MS = 10;
/** Clients whose requests may be read in the next turn of the event loop. */
const SERVED_PER_TURN = 4;

/**
 * libuv accepts one connection of a listener in each turn of the event loop. If every client were served as soon as it is
 * accepted, the last of a burst would wait until all before it have been answered. Serving begins in the first turn in
 * which nobody came, with the newest and the oldest client in turn.
 */
export function acceptFirst(server: Server, admit: (socket: Socket) => boolean): void {
  const serve = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  // Not among the options of an HTTP server: nothing is read of a client before its turn.
  Object.assign(server, { pauseOnConnect: true });
  const waiting: Socket[] = [];
  let [accepted, servedAt, fromEnd] = [0, 0, true];
  const turn = (): void => {
    const now = performance.now();
    const isQuiet = accepted === 0;
    accepted = 0;
    if (isQuiet || now - servedAt > MAX_WAIT_MS) {
      for (let count = 0; count < SERVED_PER_TURN && waiting.length > 0; count++) {
        const socket = (fromEnd ? waiting.pop() : waiting.shift())!;
        fromEnd = !fromEnd;
        if (socket.destroyed) continue;
        for (const each of serve) each.call(server, socket);
        socket.resume();
      }
      servedAt = now;
    }
    if (waiting.length > 0) setImmediate(turn);
  };
  server.on("connection", (socket: Socket) => {
    if (!admit(socket)) return;
    accepted++;
    if (waiting.push(socket) === 1) setImmediate(turn);
  });
}
