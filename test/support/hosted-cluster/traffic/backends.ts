/** A pod that may be asked. */
export interface Backend {
  readonly name: string;
  readonly address: string;
  /** By its last check. */
  isReady: boolean;
  open: number;
}

interface Member {
  readonly name: string;
  readonly address: string;
  readonly isReady: boolean;
  readonly isEnding: boolean;
}

/**
 * Pods that a balancer behind a Service would know: ready as a whole, not by the kube-apiserver's word alone. One that is
 * ending and was known stays, and is checked, until it is gone.
 */
export function membersOf<Pod extends Member>(pods: readonly Pod[], known: ReadonlySet<string>): Pod[] {
  return pods.filter(({ name, address, isReady, isEnding }) => {
    return address !== "" && (isReady || (isEnding && known.has(name)));
  });
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
