const reasons = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
let watched = false;

/**
 * An interrupted test run must still take its lab down: a signal's default action skips "exit" listeners, the test runner
 * replaces process.exit in its workers by an error, and a worker outlives a runner that was killed.
 */
export function tidyUpWhenInterrupted(isTidy: () => boolean): void {
  if (watched) return;
  watched = true;
  const end = () => {
    if (isTidy()) return;
    process.emit("exit", 1);
    process.kill(process.pid, "SIGKILL");
  };
  // For good, not once: Ctrl-C can arrive twice, and the second must not cut the tidying short.
  for (const signal of reasons) process.on(signal, end);
  process.on("disconnect", end);
}
