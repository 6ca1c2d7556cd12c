/** Removes what must not stay when somebody presses Ctrl-C: keys above all. */

const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** `undo` runs at once and must be synchronous. The answer takes it back. */
export function onInterruption(undo: () => void): () => void {
  const handlers = Object.entries(signals).map(([name, code]) => {
    const handler = () => {
      undo();
      // Others may have something to remove, too; whoever comes last ends the process.
      if (process.listenerCount(name) === 0) process.exit(code);
    };
    process.once(name, handler);
    return () => process.off(name, handler);
  });
  return () => {
    for (const takeBack of handlers) takeBack();
  };
}
