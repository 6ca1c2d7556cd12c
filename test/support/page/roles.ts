/** An admin port for each role that is no server, as its page would meet it. */

import type { RunningHttp } from "../../../src/base/http.js";
import { MetricsRegistry } from "../../../src/base/metrics/registry.js";
import type { ProcessInfo, ServerPeer, Totals, TunnelRow } from "../../../src/insight/observe/admin/contract.js";
import type { ObservedRole } from "../../../src/insight/observe/admin/observed-role.js";
import { startAdmin } from "../../../src/insight/observe/admin.js";
import { ProcessHistory } from "../../../src/insight/observe/history/process-history.js";
import { RefusalLog } from "../../../src/insight/observe/refusals.js";

export type PlayedRole = "agent" | "sidecar" | "ignition";

/** With traffic, or as it is before anybody came. */
export async function startRole(tokenFile: string, role: PlayedRole, busy: boolean, port = 0): Promise<RunningHttp> {
  const refusals = new RefusalLog();
  if (busy && role === "ignition") {
    const why = "The token is not known, or its pool is gone.";
    refusals.add({ target: "workers", why, remote: "192.0.2.9" });
    refusals.add({ target: "", why: "No token came with the request.", remote: "192.0.2.10" });
  }
  if (busy && role === "agent")
    refusals.add({ target: "169.254.169.254:80", why: "link-local addresses are forbidden" });
  const subject = { ...subjectOf(role, busy ? rows(role) : []), refusals };
  const parts = { subject, version: "0.0.0", source: {} };
  const options = { ...parts, tokenFile, profiling: false };
  return startAdmin({ host: "127.0.0.1", port }, new MetricsRegistry(), options);
}

function rows(role: PlayedRole): readonly TunnelRow[] {
  if (role === "ignition") return [];
  const began = Date.now();
  const way = (id: number) =>
    role === "agent"
      ? { server: { key: 1 + (id % 2), id: `server-${id % 2}` } }
      : { listener: id % 2 === 0 ? "socks5" : "https", frontend: "socks5" as const };
  return Array.from({ length: 9 }, (_, id) => ({
    ...{ id, target: `10.128.0.${id % 4}:8443`, state: "open", askedAt: began - id * 10_000, ...way(id) },
    ...{ marks: { dialled: 0.2, answered: 3 }, bytesToTarget: 0, bytesFromTarget: 0, queuedBytes: 0 },
  }));
}

function subjectOf(role: PlayedRole, tunnels: readonly TunnelRow[]): ObservedRole {
  const began = Date.now();
  const moved = ({ id }: TunnelRow): number => Math.floor(((Date.now() - began) / 10) * (1 + id));
  const process = (): Pick<ProcessInfo, "role" | "id" | "ready" | "draining" | "unreadyReason"> => ({
    ...{ role, id: `${role}-1`, ready: tunnels.length > 0 || role === "ignition", draining: false },
    ...(tunnels.length > 0 || role === "ignition" ? {} : { unreadyReason: "no server is connected" }),
  });
  const totals = (): Omit<Totals, "at"> => ({
    bytesToTarget: tunnels.reduce((sum, tunnel) => sum + moved(tunnel), 0),
    ...{ bytesFromTarget: 0, tunnelsOpen: tunnels.length, dialsPending: 0, dialsEstablished: tunnels.length },
    ...{ dialsFailed: 0, dialMsSum: 3 * tunnels.length, queuedBytes: 0 },
    ...(role === "ignition" ? { payloadsServed: 12, fetchesRefused: 2 } : {}),
  });
  const certificates = () => [];
  if (role === "ignition") return { process, totals, certificates };
  const servers = (): ServerPeer[] => {
    if (role === "sidecar") return [{ key: 1, address: "/run/konnectivity/server.sock" }];
    if (tunnels.length === 0) return [];
    return [1, 2].map((key) => ({
      ...{ key, id: `server-${key - 1}`, address: `192.0.2.${key}:8091`, drawbridge: true, connectedAt: began },
      ...{ roundTripMs: 1.4, tunnels: 4, bytesToTarget: 900, bytesFromTarget: 0, queuedBytes: 0 },
    }));
  };
  const live = () =>
    tunnels.map((tunnel) => {
      const bytesToTarget = moved(tunnel);
      return { ...tunnel, bytesToTarget, describe: () => ({ ...tunnel, bytesToTarget }), close: () => false };
    });
  return { process, totals, certificates, servers, tunnels: live, history: new ProcessHistory() };
}
