const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Ends this process as an interruption should, "exit" listeners first. Not process.exit: the test runner replaces that in
 * its workers by an error, and a signal's default action skips the listeners.
 */
function end(): void {
  process.emit("exit", 1);
  process.kill(process.pid, "SIGKILL");
}

/** As long as there is something to take down. For good, not once: Ctrl-C can arrive twice, and must not cut it short. */
export function guardAgainstInterruption(): void {
  for (const signal of SIGNALS) process.on(signal, end);
  // A worker outlives a test runner that was killed.
  process.on("disconnect", end);
}

export function dropGuard(): void {
  for (const signal of SIGNALS) process.off(signal, end);
  process.off("disconnect", end);
}
