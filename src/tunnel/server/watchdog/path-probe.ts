/**
 * The watchdog's connection through one agent link: dials the agent's echo over the same packets, windows and queues as
 * callers' connections, marked so that nobody counts, shows or waits for it. One probe at a time.
 */
import type { Clock } from "../../../base/clock.js";
import { shown } from "../../../base/redact/redact.js";
import type { Runtime } from "../../../base/runtime.js";
import type { TunnelTable } from "../../connection/table.js";
import type { NearEvents, Port } from "../../connection/tunnel.js";
import type { PathHealth } from "../../events/facts.js";
import type { PacketStream } from "../../link/packet-stream.js";
import { ECHO_ADDRESS } from "../../wire/destination.js";
import { newDialId } from "../../wire/dial-id.js";
import type { ConnectId, DialId } from "../../wire/packet.js";

const NONCE_BYTES = 16;
/** Dials that were given up, whose answers may still come when a link works again. */
const GIVEN_UP_KEPT = 64;

interface Probe {
  readonly dialId: DialId;
  readonly onOver: (failure?: string) => void;
  /** Once the dial is answered. */
  tunnel?: { readonly connectId: ConnectId; readonly port: ProbePort };
}

export class PathProbe {
  /** Times by the server's clock: when the next probe is due (0 before the first is planned), and the deadline of this one. */
  nextAt = 0;
  deadline = 0;
  /** Failures in a row. */
  failures = 0;
  /**
   * Those of them, in a row, during which no caller's byte moved either. A link that carries something is slow, not
   * wedged, and ending it would only hurt.
   */
  silentFailures = 0;
  /** The state of the path as of the last probe. */
  health: PathHealth = { state: "unknown" };
  #askedAt = 0;
  #trafficBefore = 0;
  readonly #tunnels: TunnelTable;
  readonly #stream: PacketStream;
  readonly #runtime: Runtime;
  readonly #givenUp = new Set<DialId>();
  #probe: Probe | undefined;

  constructor(stream: PacketStream, tunnels: TunnelTable, runtime: Runtime) {
    this.#runtime = runtime;
    this.#stream = stream;
    this.#tunnels = tunnels;
  }

  get busy(): boolean {
    return this.#probe !== undefined;
  }

  /** `onOver` is called once, with one sentence when it failed, unless the probe is given up before. */
  start(now: number, onOver: (failure?: string) => void): void {
    this.#askedAt = now;
    this.#trafficBefore = this.#traffic();
    const dialId = newDialId(this.#runtime);
    this.#probe = { dialId, onOver };
    this.#stream.control({ type: "DIAL_REQ", protocol: "tcp", address: ECHO_ADDRESS, random: dialId });
    this.#stream.sent.uncount("DIAL_REQ");
  }

  /** Callers' bytes in both directions. */
  #traffic(): number {
    const { toFar, toNear } = this.#tunnels.traffic;
    return toFar + toNear;
  }

  /** Everything came back; answers how long it took. */
  worked(clock: Clock): number {
    this.failures = 0;
    this.silentFailures = 0;
    const roundTripMs = clock.now() - this.#askedAt;
    const rounded = Math.round(roundTripMs * 100) / 100;
    this.health = { state: "ok", checkedAt: Math.round(clock.date()), roundTripMs: rounded };
    return roundTripMs;
  }

  failed(clock: Clock, error: string): void {
    const failures = ++this.failures;
    this.silentFailures = this.#traffic() === this.#trafficBefore ? this.silentFailures + 1 : 0;
    // An agent may have worded it.
    this.health = { state: "failing", checkedAt: Math.round(clock.date()), failures, error: shown(error) };
  }

  /** Ends the probe without a verdict of its own; answers how far it had come. */
  giveUp(): string {
    const probe = this.#probe;
    this.#probe = undefined;
    if (probe === undefined) return "nothing was asked";
    if (probe.tunnel === undefined) {
      this.#givenUp.add(probe.dialId);
      if (this.#givenUp.size > GIVEN_UP_KEPT) this.#givenUp.delete(this.#givenUp.values().next().value!);
      return "the agent did not answer a dial of its own echo";
    }
    const { progress } = probe.tunnel.port;
    this.#close(probe);
    return progress;
  }

  /** False when the answer belongs to no probe. */
  onDialAnswer(dialId: DialId, connectId: ConnectId, error: string): boolean {
    const probe = this.#probe;
    if (probe?.dialId !== dialId) return this.#onLateAnswer(dialId, connectId);
    this.#stream.received.uncount("DIAL_RSP");
    if (error !== "" || connectId === 0) this.#finish(probe, `the agent did not open its own echo: ${error}`);
    else if (this.#tunnels.get(connectId) !== undefined)
      this.#finish(probe, `the agent answered with connection number ${connectId}, which it may not use`);
    else this.#open(probe, connectId);
    return true;
  }

  #onLateAnswer(dialId: DialId, connectId: ConnectId): boolean {
    if (!this.#givenUp.delete(dialId)) return false;
    this.#stream.received.uncount("DIAL_RSP");
    if (connectId === 0) return true;
    this.#stream.leaveUncounted(connectId);
    this.#stream.control({ type: "CLOSE_REQ", connectId });
    return true;
  }

  #open(probe: Probe, connectId: ConnectId): void {
    this.#stream.leaveUncounted(connectId);
    const port = new ProbePort(this.#runtime.randomBytes(NONCE_BYTES), (failure) => this.#finish(probe, failure));
    probe.tunnel = { connectId, port };
    const now = this.#runtime.now();
    const info = { id: 0, address: ECHO_ADDRESS, askedAt: now, dialledAt: now, openedAt: now, isProbe: true };
    this.#tunnels.add(connectId, port, info).start();
  }

  #finish(probe: Probe, failure?: string): void {
    if (this.#probe !== probe) return;
    this.#probe = undefined;
    this.#close(probe);
    probe.onOver(failure);
  }

  #close({ tunnel }: Probe): void {
    if (tunnel !== undefined) this.#tunnels.get(tunnel.connectId)?.close("the probe is over");
  }
}

/** The near end of a probe's tunnel: sends what nobody can guess, and knows it when it comes back. */
export class ProbePort implements Port {
  readonly canHalfClose = false;
  readonly queuedBytes = 0;
  readonly #nonce: Buffer;
  readonly #onOver: (failure?: string) => void;
  #returned = 0;
  #differs = false;
  #over = false;

  /** `onOver` is called once: without a word when every byte came back. */
  constructor(nonce: Buffer, onOver: (failure?: string) => void) {
    this.#nonce = nonce;
    this.#onOver = onOver;
  }

  /** How far the probe has come, for the message of one that is given up. */
  get progress(): string {
    return `the agent's echo sent back ${this.#returned} of ${this.#nonce.length} bytes`;
  }

  attach(near: NearEvents): void {
    near.onNearData(this.#nonce);
  }

  write(chunk: Buffer): void {
    const expected = this.#nonce.subarray(this.#returned, this.#returned + chunk.length);
    if (!expected.equals(chunk)) this.#differs = true;
    this.#returned += chunk.length;
  }

  /** Judged at the end of the turn, where the tunnel can be closed without anyone being in the middle of it. */
  flush(): void {
    if (this.#differs) this.#end("the agent's echo sent back other bytes than it was sent");
    else if (this.#returned === this.#nonce.length) this.#end();
  }

  pause(): void {}
  resume(): void {}
  end(): void {}

  close(): void {
    this.#end("the tunnel to the agent's echo was closed before everything came back");
  }

  destroy(): void {
    this.close();
  }

  cut(): void {
    this.close();
  }

  #end(failure?: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#onOver(failure);
  }
}
