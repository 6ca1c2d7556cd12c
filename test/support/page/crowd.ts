/** An admin port whose process has as many agents and tunnels as a test likes, all of them busy. */

import type { RunningHttp } from "../../../src/base/http.js";
import { MetricsRegistry } from "../../../src/base/metrics/registry.js";
import type { AgentPeer, TunnelRow } from "../../../src/insight/observe/admin/contract.js";
import type { LiveTunnel, ObservedRole } from "../../../src/insight/observe/admin/observed-role.js";
import { startAdmin } from "../../../src/insight/observe/admin.js";

export interface Crowd {
  readonly agents: number;
  readonly tunnels: number;
  /** Whatever stands for a name; `{n}` becomes a number. */
  readonly agentName?: string;
  readonly target?: string;
  readonly lastError?: string;
}

export async function startCrowd(tokenFile: string, crowd: Crowd): Promise<RunningHttp> {
  const source = {};
  return startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), {
    source,
    tokenFile,
    profiling: false,
    version: "0.0.0",
    subject: subjectOf(crowd),
  });
}

function subjectOf({
  agents,
  tunnels,
  agentName = "agent-{n}",
  target = "10.128.{n}:8443",
  lastError,
}: Crowd): ObservedRole {
  const began = Date.now();
  const moved = (id: number) => Math.floor(((Date.now() - began) / 10) * (1 + (id % 97)));
  const name = (key: number) => agentName.replace("{n}", String(key));
  const place = (id: number) => target.replace("{n}", `${id % 250}.${id % 40}`);
  const tunnel = (id: number): TunnelRow => ({
    id,
    frontend: "grpc",
    target: place(id),
    agent: { key: id % agents, id: name(id % agents) },
    state: "open",
    askedAt: began - id * 10,
    marks: { dialled: 1, answered: 4 },
    bytesToTarget: moved(id),
    bytesFromTarget: moved(id) * 3,
    queuedBytes: 0,
    ...(lastError === undefined ? {} : { lastError }),
  });
  const live = (id: number): LiveTunnel => ({
    id,
    target: place(id),
    agentKey: id % agents,
    state: "open",
    get bytesToTarget() {
      return moved(id);
    },
    get bytesFromTarget() {
      return moved(id) * 3;
    },
    queuedBytes: 0,
    describe: () => tunnel(id),
    close: () => false,
  });
  const peer = (key: number): AgentPeer => ({
    key,
    id: name(key),
    identifiers: `ipv4=10.0.0.${key % 250}`,
    remote: "192.0.2.7:40000",
    drawbridge: true,
    connectedAt: began,
    draining: false,
    tunnels: Math.ceil(tunnels / agents),
    pendingDials: 0,
    bytesToTarget: moved(key),
    bytesFromTarget: moved(key) * 3,
    queuedBytes: 0,
  });
  const all = Array.from({ length: tunnels }, (_, id) => live(id));
  return {
    process: () => ({ role: "server", id: "crowd", ready: true, draining: false }),
    totals: () => ({
      bytesToTarget: moved(1) * tunnels,
      bytesFromTarget: moved(3) * tunnels,
      tunnelsOpen: tunnels,
      dialsPending: 0,
      dialsEstablished: tunnels,
      dialsFailed: 0,
      dialMsSum: 4 * tunnels,
      queuedBytes: 0,
    }),
    certificates: () => [],
    agents: () => Array.from({ length: agents }, (_, key) => peer(key)),
    tunnels: () => all,
  };
}
