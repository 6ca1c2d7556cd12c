/** A role that a test plays itself. */

import { RefusalLog } from "../../refusals.js";
import type { AgentPeer, TunnelRow } from "../contract.js";
import type { LiveTunnel, ObservedRole } from "../observed-role.js";
import { endedTunnels } from "../tunnel-row.js";

export type PlayedTunnel = { -readonly [Key in keyof TunnelRow]: TunnelRow[Key] };

export class PlayedRole implements ObservedRole {
  readonly source = { name: "the role under test" };
  readonly ended = endedTunnels();
  readonly refusals = new RefusalLog();
  readonly list = new Map<number, PlayedTunnel>();
  readonly peers: AgentPeer[] = [];
  readonly closed: number[] = [];
  readonly drained: number[] = [];
  /** What a ping of an agent measures. */
  roundTripMs = 0;
  /** How often anybody wanted to see the tunnels. */
  looks = 0;
  /** How many rows were made. */
  described = 0;

  get parts() {
    return { source: this.source, version: "1.2.3", subject: this };
  }

  open(id: number, target = `10.0.0.1:${id}`): PlayedTunnel {
    const agent = { key: id % 10, id: `agent-${id % 10}` };
    const tunnel: PlayedTunnel = {
      ...{ id, target, agent, connectId: String(id), frontend: "grpc", state: "open", askedAt: 1_000 },
      marks: { dialled: 0.1, answered: 2.5, firstByteToTarget: 2.7, firstByteFromTarget: 4.1 },
      ...{ bytesToTarget: 0, bytesFromTarget: 0, queuedBytes: 0, paused: false },
      ...{ sendWindowBytes: 65_536, receiveWindowBytes: 65_536 },
    };
    this.list.set(id, tunnel);
    return tunnel;
  }

  /** Remembers a tunnel that has ended. */
  end(tunnel: TunnelRow): void {
    this.ended.keep({ id: tunnel.id, describe: () => tunnel });
  }

  addAgent(key: number, id = `agent-${key}`): void {
    this.peers.push({
      ...{ key, id, identifiers: "", remote: "10.0.0.9:1", drawbridge: true, connectedAt: 0, draining: false },
      ...{ tunnels: 0, pendingDials: 0, bytesToTarget: 0, bytesFromTarget: 0, queuedBytes: 0 },
    });
  }

  process() {
    return { role: "server" as const, id: "s-1", ready: true, draining: false };
  }

  totals() {
    let [bytesToTarget, bytesFromTarget] = [0, 0];
    for (const tunnel of this.list.values()) {
      bytesToTarget += tunnel.bytesToTarget;
      bytesFromTarget += tunnel.bytesFromTarget;
    }
    const dials = { dialsPending: 0, dialsEstablished: 0, dialsFailed: 0, dialMsSum: 0 };
    return { bytesToTarget, bytesFromTarget, tunnelsOpen: this.list.size, ...dials, queuedBytes: 0 };
  }

  agents() {
    return this.peers;
  }

  *tunnels(): Iterable<LiveTunnel> {
    this.looks++;
    for (const tunnel of this.list.values()) {
      const describe = (): TunnelRow => {
        this.described++;
        return { ...tunnel };
      };
      const close = (): boolean => {
        this.closed.push(tunnel.id);
        return this.list.delete(tunnel.id);
      };
      yield { ...tunnel, agentKey: tunnel.agent?.key, describe, close };
    }
  }

  /** The most rows that were made in one turn of the event loop during `work`. */
  async mostInOneTurn(work: () => Promise<unknown>): Promise<number> {
    let [most, before, done] = [0, this.described, false];
    const look = (): void => {
      most = Math.max(most, this.described - before);
      before = this.described;
      if (!done) setImmediate(look);
    };
    setImmediate(look);
    await work();
    done = true;
    return most;
  }

  async pingAgent(key: number): Promise<boolean> {
    const at = this.peers.findIndex((peer) => peer.key === key);
    if (at >= 0) this.peers[at] = { ...this.peers[at]!, roundTripMs: this.roundTripMs };
    return at >= 0;
  }

  drainAgent(key: number): boolean {
    this.drained.push(key);
    return this.peers.some((peer) => peer.key === key);
  }
}
