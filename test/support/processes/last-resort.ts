/**
 * What must not outlive the tester, whatever ends it (a thrown error, a runner that stops its workers, Ctrl-C). Ordinary
 * clean-up is Scope's; this is for when nobody gets to call it.
 */
const pending = new Set<() => void>();

process.on("exit", runAll);
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  process.once(signal, () => {
    runAll();
    process.kill(process.pid, signal);
  });
}

function runAll(): void {
  for (const cleanup of pending) cleanup();
  pending.clear();
}

/** Registers a synchronous clean-up; call what comes back once it is no longer needed. */
export function asLastResort(cleanup: () => void): () => void {
  pending.add(cleanup);
  return () => pending.delete(cleanup);
}
