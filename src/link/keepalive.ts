import type { Session } from "./h2/session.js";
import { PING_TIMEOUT_MS } from "./tuning.js";

/** Pings a session and destroys it when no answer comes in time. Returns a function that stops it. */
export function keepAlive(session: Session, everyMs: number, onLate: () => void): () => void {
  let waiting: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (waiting !== undefined || session.destroyed || session.closed) return;
    waiting = setTimeout(() => {
      onLate();
      session.destroy();
    }, PING_TIMEOUT_MS);
    waiting.unref();
    const sent = session.ping(() => {
      clearTimeout(waiting);
      waiting = undefined;
    });
    if (!sent) {
      clearTimeout(waiting);
      waiting = undefined;
    }
  }, everyMs);
  timer.unref();
  const stop = (): void => {
    clearInterval(timer);
    clearTimeout(waiting);
  };
  session.once("close", stop);
  return stop;
}
