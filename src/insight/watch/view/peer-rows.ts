/** The rows of the list of peers: those that are connected, those that left, and those that were refused. */
import type {
  AgentPeer,
  DialHistory,
  HistoryInfo,
  LeftPeer,
  RefusedPeerRow,
  ServerPeer,
} from "../../observe/admin/contract.js";
import { overText } from "../../observe/over.js";
import { byName } from "./flows.js";
import { type ProcessView, peerId } from "./process-view.js";
import { bySeverity, peerSeverity, type Severity } from "./severity.js";

export type PeerRow = {
  /** Stays the same while the row does. */
  readonly id: string;
  readonly name: string;
  readonly severity: Severity;
  readonly history: DialHistory | undefined;
} & (
  | { readonly kind: "here"; readonly peer: AgentPeer | ServerPeer }
  | { readonly kind: "gone"; readonly left: LeftPeer }
  | { readonly kind: "refused"; readonly refused: RefusedPeerRow }
);

const KINDS: readonly PeerRow["kind"][] = ["here", "gone", "refused"];

/** As long as the diagnosis speaks of them. */
const RECENT_MS = 600_000;

/** Those in trouble first, then by name: an order that changes only with their health. */
export function peerRows(
  { agents, servers, facts }: Pick<ProcessView, "agents" | "servers" | "facts">,
  past: HistoryInfo | undefined,
  troubles: ReadonlyMap<string, Severity>,
  now: number,
): PeerRow[] {
  const histories = new Map(past?.peers.map((each) => [each.id, each]));
  const here = [...agents.values(), ...servers.values()].map((peer): PeerRow => {
    const name = peerId(peer);
    const history = histories.get(name);
    return {
      kind: "here",
      id: `${peer.key}`,
      name,
      severity: peerSeverity(peer, troubles),
      history,
      peer,
    };
  });
  const names = new Set(here.map(({ name }) => name));
  const left = past?.left.filter(({ id }) => !names.has(id)) ?? [];
  const gone = left.map((each): PeerRow => {
    // One whose host came back under another name is missed by nobody.
    const severity = troubles.get(each.id) ?? "good";
    return {
      kind: "gone",
      id: `gone ${each.id}`,
      name: each.id,
      severity,
      history: histories.get(each.id),
      left: each,
    };
  });
  const isOpen = (peer: RefusedPeerRow): boolean =>
    peer.listener === "agents" && overText(peer) === undefined && now - peer.at <= RECENT_MS;
  const refused = (facts.refusedPeers ?? []).filter(isOpen).map((each): PeerRow => {
    const name = each.agentId ?? each.address;
    return { kind: "refused", id: `refused ${each.id}`, name, severity: "warn", history: undefined, refused: each };
  });
  return [...here, ...gone, ...refused].sort(
    (a, b) =>
      bySeverity(a.severity, b.severity) ||
      KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
      byName(a, b) ||
      (a.id < b.id ? -1 : 1),
  );
}

/** Every word is found in the name, the address or the last words. */
export function peersFound(rows: readonly PeerRow[], search: string): readonly PeerRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = `${row.name} ${row.kind} ${aboutOf(row)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function aboutOf(row: PeerRow): string {
  if (row.kind === "gone") return `${row.left.address} ${row.left.reason}`;
  if (row.kind === "refused") return `${row.refused.address} ${row.refused.reason}`;
  return "address" in row.peer ? row.peer.address : `${row.peer.remote} ${row.peer.identifiers}`;
}
