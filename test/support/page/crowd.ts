/** An admin port whose process has as many agents and tunnels as a test likes, all of them busy. */

import type { RunningHttp } from "../../../src/base/http.js";
import { MetricsRegistry } from "../../../src/base/metrics/registry.js";
import { ManualClock } from "../../../src/base/testing/manual-clock.js";
import type { AgentPeer, Totals, TunnelRow } from "../../../src/insight/observe/admin/contract.js";
import type { LiveTunnel, ObservedRole } from "../../../src/insight/observe/admin/observed-role.js";
import { startAdmin } from "../../../src/insight/observe/admin.js";
import { ProcessHistory } from "../../../src/insight/observe/history/process-history.js";
import { peerRefused } from "../../../src/tunnel/events/channels.js";

export interface Crowd {
  readonly agents: number;
  readonly tunnels: number;
  /** Whatever stands for a name; `{n}` becomes a number. */
  readonly agentName?: string;
  readonly target?: string;
  readonly lastError?: string;
  /** Of the server. */
  readonly id?: string;
  /** A target that is dead, one that fails at times, an agent that is slow, one that left and one that was refused. */
  readonly faults?: boolean;
}

export async function startCrowd(tokenFile: string, crowd: Crowd): Promise<RunningHttp> {
  const source = {};
  const http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), {
    source,
    tokenFile,
    profiling: false,
    version: "0.1.0",
    subject: subjectOf(crowd),
  });
  if (crowd.faults === true) {
    const notAfterAt = Date.now() - 3_600_000;
    const certificate = { subject: "CN=node-7", issuer: "CN=authority", serial: "0A", notBeforeAt: 0, notAfterAt };
    const reason = "its certificate expired an hour ago (CN=node-7)";
    const refusal = {
      source,
      listener: "agents",
      remote: "10.0.3.7:40000",
      code: "DB_PEER_CERT_EXPIRED",
      reason,
    } as const;
    for (const _ of [1, 2, 3]) peerRefused.publish({ ...refusal, certificate });
  }
  return http;
}

/** The clock of a process that began ten minutes ago, and whose memory is made up before it goes on. */
class PastClock extends ManualClock {
  #goesOnSince: number | undefined;

  override now(): number {
    return super.now() + (this.#goesOnSince === undefined ? 0 : Date.now() - this.#goesOnSince);
  }

  override date(): number {
    return Date.now();
  }

  goOn(): void {
    this.#goesOnSince = Date.now();
  }
}

const PAST_MS = 600_000;
const LEFT_MS = 150_000;

/** Ten minutes of dials, with a quiet time, a busy one, and the faults. */
function historyOf({ agents, faults = false }: Crowd, name: (key: number) => string, place: (id: number) => string) {
  const clock = new PastClock();
  clock.advance(PAST_MS);
  const history = new ProcessHistory(clock);
  const dialled = Math.min(agents, 200);
  let [toTarget, fromTarget] = [0, 0];
  clock.advance(-PAST_MS);
  for (let second = 0; second < PAST_MS / 1000; second += 5) {
    const wave = 1 + Math.sin(second / 60) / 2 + (second > 300 && second < 380 ? 1 : 0);
    for (let key = 0; key < dialled; key++) {
      if ((key + second / 5) % Math.ceil(dialled / 8) !== 0) continue;
      const isSlow = faults && key === 1;
      const ms = isSlow ? 342 + (second % 40) : 2 + ((key * 7 + second) % 9) / 3;
      for (let each = 0; each < 1 + (key % 3); each++)
        history.dialEnded({ target: place(key + each), peer: name(key), ms });
      if (faults && second % 20 === 0) {
        const error = "dial tcp 10.129.9.9:8443: connect: connection refused";
        history.dialEnded({ target: "10.129.9.9:8443", peer: name(key), ms: 1, error });
      }
      if (faults && second > 450 && second % 15 === 0) {
        const error = "dial tcp: lookup billing.svc on 10.96.0.10:53: no such host";
        history.dialEnded({
          target: "billing.svc:443",
          peer: name(key),
          ms: 4,
          ...(second % 2 === 0 ? { error } : {}),
        });
      }
    }
    toTarget += Math.round(180_000 * wave);
    fromTarget += Math.round(520_000 * wave);
    if (second % 10 === 5)
      history.sample({ bytesToTarget: toTarget, bytesFromTarget: fromTarget, tunnelsOpen: 8 } as Totals);
    clock.advance(5000);
  }
  const connectedAt = Date.now() - 3_600_000;
  const reason = "the connection was reset by the agent's host";
  clock.advance(-LEFT_MS);
  if (faults) history.peerLeft({ id: name(agents), address: "192.0.2.77:40000", connectedAt, reason });
  clock.advance(LEFT_MS);
  clock.goOn();
  return history;
}

function subjectOf({
  agents,
  tunnels,
  agentName = "agent-{n}",
  target = "10.128.{n}:8443",
  lastError,
  faults = false,
  id = "crowd",
}: Crowd): ObservedRole {
  const began = Date.now();
  const speed = tunnels < 100 ? 4 : 0.1;
  const moved = (each: number) => Math.floor((Date.now() - began + 900_000) * speed * (1 + (each % 97)));
  const dialled = () => tunnels + Math.floor((Date.now() - began + 900_000) / 700);
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
    version: "drawbridge/0.1.0",
    roundTripMs: faults && key === 1 ? 342 : 0.4 + (key % 7) / 10,
    connectedAt: began - 3_600_000,
    draining: false,
    tunnels: Math.ceil(tunnels / agents),
    pendingDials: 0,
    bytesToTarget: moved(key),
    bytesFromTarget: moved(key) * 3,
    queuedBytes: 0,
  });
  const all = Array.from({ length: tunnels }, (_, id) => live(id));
  return {
    process: () => ({ role: "server", id, ready: true, draining: false, startedAt: began - 3_600_000 }),
    totals: () => ({
      bytesToTarget: moved(1) * tunnels,
      bytesFromTarget: moved(3) * tunnels,
      tunnelsOpen: tunnels,
      dialsPending: 0,
      dialsEstablished: dialled(),
      dialsFailed: 0,
      dialMsSum: (faults ? 118 : 4) * dialled(),
      queuedBytes: 0,
    }),
    certificates: () => [],
    history: historyOf({ agents, tunnels, faults }, name, place),
    agents: () => Array.from({ length: agents }, (_, key) => peer(key)),
    tunnels: () => all,
  };
}
