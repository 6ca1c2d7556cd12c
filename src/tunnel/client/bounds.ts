/** What bounds a dial, from the first connect to the last byte of the answer: its deadline and the caller's signal. */
import { dialTimeout } from "./errors.js";

export interface DialOptions {
  /** Gives the dial up; the promise rejects with the signal's reason. Without effect once the tunnel stands. */
  readonly signal?: AbortSignal | undefined;
  /** For the whole dial. Default 30 s, as long as kube-apiserver waits. */
  readonly timeoutMs?: number | undefined;
  /** As in `net.connect`: whether our side stays open after the far side ended. gRPC tunnels always close whole. */
  readonly allowHalfOpen?: boolean | undefined;
  /** The name that the address is the answer for; http-connect frontends are told it, in the Host header. */
  readonly name?: string | undefined;
  /** The front door is reached, TLS included; nothing has been asked of it yet. */
  readonly onFrontend?: (() => void) | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Runs a dial with a signal that fires, with the error to reject with, when it must stop. */
export async function withinBounds<T>(
  address: string,
  { signal, timeoutMs = DEFAULT_TIMEOUT_MS }: DialOptions,
  run: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  const timer = setTimeout(() => stop.abort(dialTimeout(address, timeoutMs)), timeoutMs);
  try {
    return await run(stop.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

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
