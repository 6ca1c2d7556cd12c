import type {
  AgentPeer,
  ChangeEvent,
  HistoryInfo,
  RefusedPeerRow,
  SnapshotEvent,
  Totals,
  TunnelRow,
} from "../../observe/admin/contract.js";

export const NOW = 1_700_000_000_000;

export const totals = (parts: Partial<Totals> = {}): Totals => ({
  at: NOW,
  bytesToTarget: 0,
  bytesFromTarget: 0,
  tunnelsOpen: 0,
  dialsPending: 0,
  dialsEstablished: 0,
  dialsFailed: 0,
  dialMsSum: 0,
  queuedBytes: 0,
  ...parts,
});

export const agent = (key: number, parts: Partial<AgentPeer> = {}): AgentPeer => ({
  key,
  id: `agent-${key}`,
  identifiers: "",
  remote: "192.0.2.1:1",
  drawbridge: true,
  connectedAt: NOW,
  draining: false,
  tunnels: 0,
  pendingDials: 0,
  bytesToTarget: 0,
  bytesFromTarget: 0,
  queuedBytes: 0,
  ...parts,
});

export const tunnel = (id: number, parts: Partial<TunnelRow> = {}): TunnelRow => ({
  id,
  frontend: "grpc",
  target: `10.0.0.${id}:443`,
  agent: { key: 1, id: "agent-1" },
  state: "open",
  askedAt: NOW - id * 1000,
  marks: {},
  bytesToTarget: 0,
  bytesFromTarget: 0,
  queuedBytes: 0,
  ...parts,
});

export const snapshot = (parts: Partial<SnapshotEvent> = {}): SnapshotEvent => ({
  process: {
    apiVersion: 1,
    role: "server",
    version: "0.0.0",
    id: "server-1",
    instance: "a",
    startedAt: NOW,
    now: NOW,
    ready: true,
    draining: false,
  },
  totals: totals(),
  listeners: [],
  certificates: [],
  refusals: [],
  ended: [],
  ...parts,
});

export const refusedPeer = (parts: Partial<RefusedPeerRow> = {}): RefusedPeerRow => ({
  id: 1,
  listener: "agents",
  address: "10.0.3.7",
  code: "DB_PEER_CERT_EXPIRED",
  reason: "its certificate expired",
  remedy: "Renew it.",
  count: 1,
  firstAt: NOW,
  at: NOW,
  ...parts,
});

export const tunnelChange = (...changed: TunnelRow[]): ChangeEvent => ({
  totals: totals(),
  tunnels: { changed, gone: [] },
});

const none = { dials: Array(60).fill(0), failures: Array(60).fill(0) };

/** Ten minutes in which nothing happened. */
export const HISTORY: HistoryInfo = {
  ...{ stepMs: 10_000, fromAt: NOW - 600_000, peers: [], targets: [], failures: [], left: [] },
  total: { ...none, kibToTarget: none.dials, kibFromTarget: none.dials, tunnels: none.dials },
};
