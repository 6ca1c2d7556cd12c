/** Runs at most so many at a time. After a failure no more are begun, and those under way end first. */
export async function eachOf<T>(items: readonly T[], most: number, run: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  const line = async () => {
    for (let item = items[next++]; item !== undefined && failures.length === 0; item = items[next++]) {
      await run(item).catch((reason: unknown) => failures.push(reason));
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, line));
  if (failures.length > 0) throw failures[0];
}
