/** Waiting for one event of many, with everything undone that was set up for it. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.js";

/**
 * One step of a dial. `start` sets it in motion and returns what undoes its listeners, called exactly once, whichever
 * way the step ends.
 */
export function step<T>(
  stop: AbortSignal,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let release: (() => void) | undefined;
    let over = false;
    const finish = (settle: () => void): void => {
      if (over) return;
      over = true;
      stop.removeEventListener("abort", onStop);
      release?.();
      settle();
    };
    const fail = (reason: unknown): void => finish(() => reject(reason));
    const onStop = (): void => fail(stop.reason);
    if (stop.aborted) {
      fail(stop.reason);
      return;
    }
    stop.addEventListener("abort", onStop);
    const undo = start((value) => finish(() => resolve(value)), fail);
    if (over) undo();
    else release = undo;
  });
}

/**
 * Waits for a socket to be connected; `failed` makes the error. From here on somebody always listens to the socket's
 * errors: one that nobody expects must not end the process.
 */
export async function connected<T extends Socket>(
  socket: T,
  event: "connect" | "secureConnect",
  stop: AbortSignal,
  failed: (why: unknown) => unknown,
): Promise<T> {
  socket.on("error", () => {});
  try {
    return await step<T>(stop, (resolve, reject) => {
      const onReady = (): void => resolve(socket);
      const onError = (error: Error): void => reject(failed(error));
      const onClose = (): void => reject(failed("it hung up"));
      socket.once(event, onReady).once("error", onError).once("close", onClose);
      return () => socket.off(event, onReady).off("error", onError).off("close", onClose);
    });
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

/**
 * Waits until the other side has sent something, or has ended, or `patienceMs` are over, and leaves the bytes where they
 * are. A server that refuses a peer says so first; whoever writes before that may lose its words to a reset.
 */
export function firstBytes(stream: Duplex, patienceMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      cancel();
      stream.off("readable", over).off("end", over).off("error", over).off("close", over);
      resolve();
    };
    const cancel = clock.after(patienceMs, over, true);
    stream.once("readable", over).once("end", over).once("error", over).once("close", over);
    if (stream.destroyed || stream.readableLength > 0) over();
  });
}
