/** What was refused here or failed further out, one row for each target and reason: to the caller both mean that it does not work. */
import type { FailureGroup, HistoryInfo, Refusal, TunnelRow } from "../../observe/admin/contract.js";
import { peerName } from "./tunnel-list.js";

export interface ShownFailure extends FailureGroup {
  /** The last refusal of the target, which explains the choice of an agent. */
  readonly refusal?: Refusal | undefined;
  /** The last tunnel to the target that failed and is still known, for its times. */
  readonly tunnel?: TunnelRow | undefined;
}

/** The ten minutes of the process, and what is remembered from before. The latest first, so that rows stay where they are. */
export function shownFailures(
  history: HistoryInfo | undefined,
  refusals: readonly Refusal[],
  ended: readonly TunnelRow[],
): ShownFailure[] {
  const failed = ended.filter(({ state }) => state === "failed");
  const since = history?.fromAt ?? Number.POSITIVE_INFINITY;
  const explained = new Set(refusals.map(({ id }) => id));
  const before = [...refusals, ...failed.filter(({ refusalId = "" }) => !explained.has(refusalId)).map(asRefusal)];
  const groups = [...(history?.failures ?? []), ...grouped(before.filter(({ at }) => at < since))];
  return groups
    .map((group) => ({
      ...group,
      refusal: refusals.find(({ target }) => target === group.target),
      tunnel: failed.find(({ target, lastError }) => target === group.target && lastError === group.reason),
    }))
    .sort((one, other) => other.firstAt - one.firstAt || one.target.localeCompare(other.target));
}

type Failed = Pick<Refusal, "at" | "target" | "why"> & { readonly peer?: string };

function asRefusal(tunnel: TunnelRow): Failed {
  const why = tunnel.lastError ?? tunnel.endReason ?? "no reason was given";
  return { at: tunnel.askedAt + (tunnel.marks.ended ?? 0), target: tunnel.target, why, peer: peerName(tunnel) };
}

function grouped(all: readonly Failed[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const { at, target, why, peer = "" } of all) {
    const key = `${target} ${why}`;
    const known = groups.get(key);
    groups.set(key, {
      ...{ target, reason: why, count: (known?.count ?? 0) + 1 },
      firstAt: Math.min(known?.firstAt ?? at, at),
      lastAt: Math.max(known?.lastAt ?? at, at),
      peers: [...new Set([...(known?.peers ?? []), ...(peer === "" ? [] : [peer])])],
    });
  }
  return [...groups.values()];
}
