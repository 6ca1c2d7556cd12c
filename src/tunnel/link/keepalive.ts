import type { Session } from "./h2/session.js";
import { PING_TIMEOUT_MS } from "./tuning.js";

/** Pings a session for as long as it lives, and destroys it when no answer comes in time. */
export function keepAlive(session: Session, everyMs: number, onLate: () => void): void {
  let waiting: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (waiting !== undefined) return;
    waiting = setTimeout(() => {
      onLate();
      session.destroy();
    }, PING_TIMEOUT_MS);
    waiting.unref();
    session.ping(() => {
      clearTimeout(waiting);
      waiting = undefined;
    });
  }, everyMs);
  timer.unref();
  session.once("close", () => {
    clearInterval(timer);
    clearTimeout(waiting);
  });
}
