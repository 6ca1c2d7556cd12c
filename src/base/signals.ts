/** Waits for the next SIGTERM or SIGINT; each one is reported to exactly one waiter. */
export function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      process.off("SIGTERM", onSignal);
      process.off("SIGINT", onSignal);
      resolve(signal);
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Removes what must not stay when the process is interrupted: keys above all. `undo` runs at once and must be
 * synchronous. The returned function takes the registration back.
 */
export function onInterruption(undo: () => void): () => void {
  const handlers = Object.entries(EXIT_CODES).map(([name, code]) => {
    const handler = () => {
      undo();
      // Others may have something to remove, too; the last handler ends the process.
      if (process.listenerCount(name) === 0) process.exit(code);
    };
    process.once(name, handler);
    return () => process.off(name, handler);
  });
  return () => {
    for (const takeBack of handlers) takeBack();
  };
}
