/** A pod that may be asked. */
export interface Backend {
  readonly name: string;
  readonly address: string;
  /** By its last check. */
  isReady: boolean;
  open: number;
}

/** The ready one with the fewest connections that was not tried yet; by lot among equals. */
export function choose(
  backends: Iterable<Backend>,
  tried: ReadonlySet<Backend>,
  random: () => number = Math.random,
): Backend | undefined {
  const able = [...backends].filter((backend) => backend.isReady && !tried.has(backend));
  const fewest = Math.min(...able.map(({ open }) => open));
  const equals = able.filter(({ open }) => open === fewest);
  return equals[Math.floor(random() * equals.length)];
}
