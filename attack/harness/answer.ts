interface Question {
  readonly id: number;
  readonly command: string;
  readonly argument: never;
}

/** The other end of Child: answers the parent's questions, and ends with it. */
export function answerParent(handlers: Readonly<Record<string, (argument: never) => unknown>>): void {
  process.on("message", async ({ id, command, argument }: Question) => {
    try {
      const value = await handlers[command]!(argument);
      process.send?.({ id, value });
    } catch (reason) {
      process.send?.({ id, error: reason instanceof Error ? reason.message : String(reason) });
    }
  });
  process.on("disconnect", () => process.exit(0));
}
