import { connect, type Socket } from "node:net";
import { waitUntil } from "../processes/deadline.js";
import { startProcess } from "../processes/process.js";

export interface BlackHole {
  readonly address: string;
  close(): Promise<void>;
}

/**
 * A process that listens, never accepts and never wakes up. Once its queue of waiting connections is full the kernel
 * drops every further SYN, which is what an address behind a dropping firewall looks like, without leaving loopback.
 */
const LISTEN_AND_FREEZE = `
  const server = require("node:net").createServer();
  server.listen({ host: "127.0.0.1", port: 0, backlog: 1 }, () => {
    require("node:fs").writeSync(1, "frozen on " + server.address().port + "\\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

const UNANSWERED_AFTER_MS = 300;
const QUEUE_AT_MOST = 16;

/** A `host:port` on which connecting neither succeeds nor fails. */
export async function startBlackHole(): Promise<BlackHole> {
  const frozen = startProcess({ name: "black hole", command: process.execPath, args: ["-e", LISTEN_AND_FREEZE] });
  const fillers: Socket[] = [];
  const close = async () => {
    for (const filler of fillers) filler.destroy();
    await frozen.close();
  };
  try {
    const [, port] = await frozen.log.waitFor(/frozen on (\d+)/, 10_000);
    await waitUntil("the listen queue to be full", async () => {
      if (fillers.length >= QUEUE_AT_MOST) throw new Error(`${QUEUE_AT_MOST} connections still fit`);
      const filler = connect(Number(port), "127.0.0.1");
      fillers.push(filler);
      return !(await connectsWithin(filler, UNANSWERED_AFTER_MS));
    });
    return { address: `127.0.0.1:${port}`, close };
  } catch (reason) {
    await close();
    throw reason;
  }
}

function connectsWithin(socket: Socket, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // When this process stood still, a connection that was made meanwhile is told of only after its timers.
    const timer = setTimeout(() => setImmediate(() => resolve(false)), ms);
    const settle = (act: () => void) => () => {
      clearTimeout(timer);
      act();
    };
    socket.once(
      "connect",
      settle(() => resolve(true)),
    );
    socket.on(
      "error",
      settle(() => reject(new Error("the black hole answered with an error"))),
    );
  });
}
