/** Which tunnels are listed, and in which order. */
import type { TunnelRow } from "../../observe/admin/contract.js";

export type Column = "target" | "peer" | "state" | "age" | "to" | "from" | "queued";

export interface Order {
  readonly column: Column;
  readonly descending: boolean;
}

/** Who carries it; at a sidecar, which does not say, the listener it came in by. */
export const peerName = (tunnel: TunnelRow): string => tunnel.agent?.id ?? tunnel.server?.id ?? tunnel.listener ?? "";

/** Every word must be found somewhere in what is shown of the tunnel. */
export function listTunnels(tunnels: Iterable<TunnelRow>, search: string, order: Order): TunnelRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found: TunnelRow[] = [];
  for (const tunnel of tunnels) if (words.every((word) => mentions(tunnel, word))) found.push(tunnel);
  return found.sort(comparing(order));
}

function mentions(tunnel: TunnelRow, word: string): boolean {
  return (
    tunnel.target.toLowerCase().includes(word) ||
    peerName(tunnel).toLowerCase().includes(word) ||
    tunnel.state.includes(word) ||
    (tunnel.frontend?.includes(word) ?? false) ||
    (tunnel.lastError?.toLowerCase().includes(word) ?? false)
  );
}

const KEYS: Record<Column, (tunnel: TunnelRow) => string | number> = {
  target: ({ target }) => target,
  peer: peerName,
  state: ({ state }) => state,
  // The oldest has the greatest age.
  age: ({ askedAt }) => -askedAt,
  to: ({ bytesToTarget }) => bytesToTarget,
  from: ({ bytesFromTarget }) => bytesFromTarget,
  queued: ({ queuedBytes }) => queuedBytes,
};

function comparing({ column, descending }: Order): (a: TunnelRow, b: TunnelRow) => number {
  const key = KEYS[column];
  const sign = descending ? -1 : 1;
  return (a, b) => {
    const left = key(a);
    const right = key(b);
    // Equal ones keep their order, however often the list is made again.
    return left === right ? a.id - b.id : (left < right ? -1 : 1) * sign;
  };
}
