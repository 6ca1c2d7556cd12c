/** A bug that is planted in a copy of one source file, to see that the simulation finds it. */
export interface Mutant {
  readonly name: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** What is wrong with it, for people. */
  readonly what: string;
}

/** The file with the bug. Throws a sentence when it cannot be planted as it is written. */
export function planted({ name, file, find, replace }: Mutant, source: string): string {
  const times = source.split(find).length - 1;
  if (times !== 1) throw new Error(`the bug ${name} fits ${file} ${times} times, and has to fit it once.`);
  return source.replace(find, () => replace);
}
