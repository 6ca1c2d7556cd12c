/** Lists a page at a time. */
import type { Page, TunnelRow } from "./contract.js";
import { ApiFailure } from "./failure.js";
import type { LiveTunnel } from "./observed-role.js";

const DEFAULT_LIMIT = 200;
/** Also a bound for the time one answer may take from the tunnels. */
const MAX_LIMIT = 1_000;

const STATES = ["dialing", "open", "half-closed", "closed", "failed"];

/** `after` counts items here: these lists are short and have no numbers of their own. */
export function pageOf<Item>(items: readonly Item[], query: URLSearchParams): Page<Item> {
  const { limit, after = 0 } = cutOf(query);
  const page = items.slice(after, after + limit);
  const end = after + page.length;
  return { items: page, total: items.length, ...(end < items.length ? { next: end } : {}) };
}

/** By id, so that pages stay in order while tunnels come and go. */
export function tunnelPage(tunnels: Iterable<LiveTunnel>, query: URLSearchParams): Page<TunnelRow> {
  const { limit, after = -1 } = cutOf(query);
  const fits = filterOf(query);
  const found: LiveTunnel[] = [];
  let total = 0;
  for (const tunnel of tunnels) {
    if (!fits(tunnel)) continue;
    total++;
    if (tunnel.id > after) found.push(tunnel);
  }
  const page = smallest(found, limit);
  return {
    items: page.map((tunnel) => tunnel.describe()),
    total,
    ...(page.length < found.length ? { next: page.at(-1)!.id } : {}),
  };
}

/** Only the ids of all are sorted, as plain numbers: ten thousand tunnels must not hold up the others. */
function smallest(tunnels: readonly LiveTunnel[], count: number): LiveTunnel[] {
  const ids = Float64Array.from(tunnels, ({ id }) => id).sort();
  const last = ids[Math.min(count, ids.length) - 1] ?? -1;
  return tunnels.filter(({ id }) => id <= last).sort((one, two) => one.id - two.id);
}

export function endedPage(ended: readonly TunnelRow[], query: URLSearchParams): Page<TunnelRow> {
  const fits = filterOf(query);
  return pageOf(
    ended.filter((tunnel) => fits({ ...tunnel, agentKey: tunnel.agent?.key })),
    query,
  );
}

function filterOf(
  query: URLSearchParams,
): (tunnel: Pick<LiveTunnel, "target" | "agentKey" | "state" | "dialId">) => boolean {
  const target = query.get("target")?.toLowerCase();
  const agent = numberOf(query, "agent");
  const state = query.get("state");
  const dialId = query.get("dialId");
  if (state !== null && !STATES.includes(state)) {
    throw new ApiFailure(400, "malformed", `state must be one of ${STATES.join(", ")}`);
  }
  return (tunnel) =>
    (target === undefined || tunnel.target.toLowerCase().includes(target)) &&
    (agent === undefined || tunnel.agentKey === agent) &&
    (dialId === null || String(tunnel.dialId) === dialId) &&
    (state === null || tunnel.state === state);
}

function cutOf(query: URLSearchParams) {
  const limit = numberOf(query, "limit") ?? DEFAULT_LIMIT;
  if (limit < 1 || limit > MAX_LIMIT) throw new ApiFailure(400, "malformed", `limit must be from 1 to ${MAX_LIMIT}`);
  return { limit, after: numberOf(query, "after") };
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ApiFailure(400, "malformed", `${name} must be a whole number`);
}
