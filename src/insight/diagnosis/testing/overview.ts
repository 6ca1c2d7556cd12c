/** What a process says of itself when all is well, for tests to change. */
import type { AgentPeer, CertificateInfo, Overview, ProcessInfo } from "../../observe/admin/contract.js";
import type { FactSource } from "../check.js";

/** The tests' now. */
export const now = Date.parse("2026-11-16T00:00:00Z");
const day = 24 * 3_600_000;

export const processInfo: ProcessInfo = {
  ...{ apiVersion: 1, role: "server", version: "1.2.3", id: "server-1", instance: "i", startedAt: now - day, now },
  ...{ ready: true, draining: false },
};

export const agent: AgentPeer = {
  ...{ key: 1, id: "agent-1", identifiers: "", remote: "10.0.0.7:40000", drawbridge: true, connectedAt: now - day },
  ...{ draining: false, tunnels: 3, pendingDials: 0, bytesToTarget: 0, bytesFromTarget: 0, queuedBytes: 0 },
};

export const certificate: CertificateInfo = {
  ...{
    file: "/pki/server.crt",
    use: "agents",
    kind: "own",
    subject: "CN=server",
    issuer: "CN=ca",
    names: ["10.0.0.1"],
  },
  ...{ serial: "1", fingerprint: "ab", notBeforeAt: now - day, notAfterAt: now + 300 * day },
};

export function admin(changes: Partial<Overview> = {}, metrics = ""): { readonly facts: FactSource } {
  const overview: Overview = {
    process: processInfo,
    totals: {
      ...{ at: now, bytesToTarget: 0, bytesFromTarget: 0, tunnelsOpen: 0, dialsPending: 0, dialsEstablished: 0 },
      ...{ dialsFailed: 0, dialMsSum: 0, queuedBytes: 0 },
    },
    ...{ agents: [agent], listeners: [], certificates: [certificate], refusals: [] },
    ...changes,
  };
  return { facts: { adminPort: () => ({ address: "127.0.0.1:8095", overview, metrics }) } };
}
