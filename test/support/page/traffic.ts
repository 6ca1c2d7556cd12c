/** What goes through a tunnel on an ordinary day: streams that last, short questions, and targets that fail. */
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { askFrontend, type ConnectFrontend, connectRequest } from "../callers/connect.js";
import { listen } from "../targets/listener.js";

/** Of the target that is down for some of the time. */
const FLAKY_PORT = 6443;
const [UP_MS, DOWN_MS] = [5500, 2500];
const STREAM_EVERY_MS = 100;

export interface Day {
  /** Of the addresses of the targets: two days at once need two. */
  readonly network: string;
  readonly targets: number;
  readonly streams: number;
  /** Between two short questions. */
  readonly askEveryMs: number;
  readonly signal: AbortSignal;
}

/** Until the signal; whatever fails on the way is what the page is to show. */
export async function liveThrough(frontend: ConnectFrontend, day: Day): Promise<void> {
  const { network, targets, streams, askEveryMs, signal } = day;
  const flaky = `${network}.205`;
  const places = Array.from({ length: targets }, (_, n) => `${network}.${n + 1}:10250`);
  const listeners = await Promise.all(places.map((place) => listen(answer, place.split(":")[0]!, 10_250)));
  await Promise.all([
    ...Array.from({ length: streams }, (_, n) => stream(frontend, places[n % targets]!, n, signal)),
    ask(frontend, places, askEveryMs, signal),
    flicker(flaky, signal),
    ask(frontend, [`${flaky}:${FLAKY_PORT}`], 1100, signal),
    // Nobody listens there.
    ask(frontend, [`${network}.209:8443`], 6000, signal),
  ]);
  await Promise.all(listeners.map((each) => each.close()));
}

/** Three bytes for each. */
function answer(socket: Socket): void {
  socket.on("data", (bytes) => {
    for (const _ of [1, 2, 3]) socket.write(bytes);
  });
  socket.on("end", () => socket.end());
}

async function flicker(host: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const listener = await listen(answer, host, FLAKY_PORT);
    await pause(UP_MS, signal);
    await listener.close();
    await pause(DOWN_MS, signal);
  }
}

/** A stream that lasts: more at some times than at others, and one more than another. */
async function stream(frontend: ConnectFrontend, target: string, nth: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = await dial(frontend, target);
    socket?.resume();
    for (let beat = 0; !signal.aborted && socket?.writable === true; beat++) {
      const seconds = (beat * STREAM_EVERY_MS) / 1000;
      socket.write(Buffer.alloc(Math.round(400 * (1 + (nth % 4)) * (1.5 + Math.sin(seconds / 60 + nth)))));
      await pause(STREAM_EVERY_MS, signal);
    }
    socket?.destroy();
    await pause(1000, signal);
  }
}

async function ask(frontend: ConnectFrontend, targets: readonly string[], everyMs: number, signal: AbortSignal) {
  for (let nth = 0; !signal.aborted; nth++) {
    const target = targets[(nth * 7) % targets.length]!;
    void dial(frontend, target).then(async (socket) => {
      socket?.resume().end(Buffer.alloc(500 + 300 * (nth % 9)));
      await pause(3000, signal);
      socket?.destroy();
    });
    await pause(everyMs, signal);
  }
}

async function dial(frontend: ConnectFrontend, target: string): Promise<Socket | undefined> {
  try {
    const { status, socket } = await askFrontend(frontend, connectRequest(target));
    if (status === 200) return socket;
    socket.destroy();
  } catch {
    // Shown by the page.
  }
  return undefined;
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
