/**
 * One caller's request for a connection, from the choice of an agent to its answer.
 * An agent that fails for a reason that others may not have is tried no further: the dial is tried once more on another
 * within its deadline. It is demoted when the reason is its own: it says so, or another agent reaches the target.
 */

import { plainText } from "../../base/text.js";
import type { DialFacts, Port } from "../connection/tunnel.js";
import type { ServerDialEnded } from "../events/channels.js";
import { ECHO_HOST, ECHO_REFUSAL, judgedHost, parseDestination } from "../wire/destination.js";
import { faultOf } from "../wire/dial-error.js";
import { isProbeDialId, newDialId } from "../wire/dial-id.js";
import type { ConnectId, DialId } from "../wire/packet.js";
import type { AgentLink } from "./agents/agent-link.js";
import type { Switchboard } from "./switchboard.js";

/** Characters shown of an address that cannot be dialled. */
const SHOWN_ADDRESS_CHARS = 300;

/** In the words of other refusals after which a caller may dial again. */
const SHUTTING_DOWN = "No agent available (this server is shutting down; dial again to reach another)";

/** In upstream's. */
const AGENT_LOST = "Backend context error: context canceled";

/** One more agent after the first. */
const MAX_ATTEMPTS = 2;

/**
 * Agents give up on an endpoint after 5 s and say so; one that is silent for longer is itself the trouble, and one that
 * had less time need not be. Another is asked then only with a deadline that leaves it time for the same.
 */
const SILENT_AGENT_MS = 6_000;

/** How a dial ended, for its event. */
export type DialEnd = Pick<ServerDialEnded, "outcome" | "error" | "connectId" | "referenceId">;

export class Dial {
  /** The server's own number for it, and for the tunnel that comes of it. */
  readonly id: number;
  readonly caller: Caller;
  /** Where to, in the one form that agents are chosen by and dial; what was asked for, to be shown, when that cannot be dialled. */
  address: string;
  readonly startedAt: number;
  /** When the present agent was asked; 0 before any was. */
  dialledAt = 0;
  #firstDialledAt = 0;
  /** How long it waited for agents to come, until it was over or waits again. */
  waitedMs = 0;
  #waitsSince: number | undefined;
  readonly #board: Switchboard;
  readonly #tried: AgentLink[] = [];
  /** Found no way to the target, on which no other agent has said a word yet. */
  #suspect: AgentLink | undefined;
  /** The agent that was asked last. */
  link: AgentLink | undefined;
  /** The caller's own ID unless that is taken on the agent's link. */
  #dialId: DialId;
  #cancelTimer: (() => void) | undefined;
  #over = false;

  constructor(board: Switchboard, caller: Caller, id: number) {
    this.id = id;
    this.#board = board;
    this.caller = caller;
    this.address = plainText(caller.address.slice(0, SHOWN_ADDRESS_CHARS));
    this.#dialId = caller.dialId;
    this.startedAt = board.runtime.now();
  }

  start(): void {
    const refusal = this.#takeAddress();
    if (refusal !== undefined) this.#refuse("dial-error", refusal);
    else if (this.#board.refuses) this.#refuse("no-agent", SHUTTING_DOWN);
    else if (!this.#tryNext() && !this.#wait()) this.giveUp();
  }

  /** Whether it waits for an agent to come. */
  #wait(): boolean {
    // Who asks whether there is an agent wants to know now.
    if (isProbeDialId(this.caller.dialId)) return false;
    if (this.#board.isLeaving || this.#tried.length >= MAX_ATTEMPTS) return false;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (!this.#board.waiting.add(this)) return false;
    this.#waitsSince = this.#board.runtime.now();
    return true;
  }

  #countWait(): void {
    if (this.#waitsSince !== undefined) this.waitedMs += this.#board.runtime.now() - this.#waitsSince;
    this.#waitsSince = undefined;
  }

  resume(): boolean {
    if (!this.#tryNext()) return false;
    this.#countWait();
    return true;
  }

  /** There is no agent, and none has come. */
  giveUp(): void {
    this.#countWait();
    if (this.#board.isLeaving) this.#refuse("no-agent", SHUTTING_DOWN);
    else if (this.#tried.length > 0) this.#refuse("agent-lost", AGENT_LOST, { error: "the agent's stream ended" });
    else {
      const { text, referenceId } = this.#board.explainNoAgent(this.address, this.#tried, this.waitedMs);
      this.#refuse("no-agent", text, { referenceId });
    }
  }

  /** Why the address cannot be dialled by anybody. */
  #takeAddress(): string | undefined {
    const { protocol, address } = this.caller;
    const to = parseDestination(address);
    if ("error" in to) return `dial ${plainText(protocol)}: ${to.error}`;
    // Agents' own echoes are the watchdog's, and no destination.
    if (judgedHost(to.host.text) === ECHO_HOST) return ECHO_REFUSAL;
    this.address = to.address;
    return undefined;
  }

  get asked(): DialFacts {
    const { id, address, startedAt: askedAt, dialledAt } = this;
    const { frontend, dialId } = this.caller;
    return { id, address, frontend, dialId, askedAt, dialledAt, firstDialledAt: this.#firstDialledAt };
  }

  /** The caller hung up, or said it no longer wants it. */
  cancel(): void {
    if (this.#over) return;
    this.#board.waiting.drop(this);
    this.#countWait();
    this.link?.cancelDial(this.#dialId);
    this.#finish({ outcome: "frontend_close", error: "the caller gave up" });
  }

  // ---- attempts ----------------------------------------------------------------------------------------------------

  #tryNext(): boolean {
    if (this.#tried.length >= MAX_ATTEMPTS) return false;
    const link = this.#board.registry.choose(this.address, this.#tried);
    if (link === undefined) return false;
    this.#tried.push(link);
    this.link = link;
    const { protocol } = this.caller;
    this.dialledAt = this.#board.runtime.now();
    if (this.#tried.length === 1) this.#firstDialledAt = this.dialledAt;
    while (!link.dial(this.#dialId, protocol, this.address, this)) this.#dialId = newDialId(this.#board.runtime);
    this.#armTimer();
    return true;
  }

  /** Waits for the agent; the first one only so long that another still gets its chance. */
  #armTimer(wholeRest = false): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#board.dialTimeoutMs === 0) return;
    const left = Math.max(0, this.#deadline - this.#board.runtime.now());
    const last = wholeRest || this.#tried.length >= MAX_ATTEMPTS || left < 2 * SILENT_AGENT_MS;
    this.#cancelTimer = this.#board.runtime.after(last ? left : SILENT_AGENT_MS, this.#onTimeout);
  }

  get #deadline(): number {
    return this.startedAt + this.#board.dialTimeoutMs;
  }

  readonly #onTimeout = (): void => {
    const silent = this.link!;
    const silentId = this.#dialId;
    const now = this.#board.runtime.now();
    if (now - this.dialledAt >= SILENT_AGENT_MS) this.#board.registry.demote(silent);
    else silent.confirmAlive();
    if (now >= this.#deadline) {
      silent.cancelDial(silentId);
      this.#refuse("timeout", "timed out waiting for backend dial");
    } else if (this.#tryNext()) silent.cancelDial(silentId);
    else this.#armTimer(true);
  };

  // ---- answers -----------------------------------------------------------------------------------------------------

  onAgentAnswer(link: AgentLink, connectId: ConnectId): void {
    this.#cancelTimer?.();
    this.#targetAnswered(link);
    const port = this.caller.accept(connectId);
    if (port === undefined) {
      link.stream.control({ type: "CLOSE_REQ", connectId });
      this.#finish({ outcome: "send_rsp", error: "the caller was gone when the dial succeeded", connectId });
      return;
    }
    const tunnel = link.tunnels.add(connectId, port, { ...this.asked, openedAt: this.#board.runtime.now() });
    this.#finish({ outcome: "established", error: "", connectId });
    tunnel.start();
  }

  onAgentError(link: AgentLink, error: string): void {
    const fault = faultOf(error);
    if (fault === "target") this.#targetAnswered(link);
    else if (fault === "request") this.#board.registry.restore(link);
    else {
      if (fault === "agent") this.#board.registry.demote(link);
      else this.#suspect = link;
      if (this.#tryNext()) return;
    }
    this.#refuse("dial-error", error);
  }

  /** The target answered this agent, so the one that found no way there is itself the trouble. */
  #targetAnswered(link: AgentLink): void {
    this.#board.registry.restore(link);
    if (this.#suspect !== undefined) this.#board.registry.demote(this.#suspect);
  }

  /** The agent gave the dial up without a word (DIAL_CLS). */
  onAgentClosedDial(): void {
    this.#refuse("closed-by-agent", "the agent closed the dial");
  }

  onAgentLost(): void {
    if (!this.#tryNext() && !this.#wait()) this.giveUp();
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  /** The event has the text as its error, unless `end` has another. */
  #refuse(kind: DialRefusal["kind"], text: string, end: Partial<DialEnd> = {}): void {
    this.#finish({ outcome: REFUSAL_OUTCOMES[kind], error: text, ...end });
    this.caller.refuse({ kind, text });
  }

  #finish(end: DialEnd): void {
    this.#over = true;
    this.#cancelTimer?.();
    this.#board.dialEnded(this, end);
  }
}

/** A client that asks for a tunnel, at a frontend of either kind. */
export interface Caller {
  readonly frontend: "grpc" | "http-connect";
  readonly protocol: string;
  readonly address: string;
  readonly dialId: DialId;
  /** Tells the caller that its connection is open. Undefined: the caller is gone. */
  accept(connectId: ConnectId): Port | undefined;
  refuse(refusal: DialRefusal): void;
}

/** Why a dial failed, in upstream's words. */
export interface DialRefusal {
  readonly kind: keyof typeof REFUSAL_OUTCOMES;
  readonly text: string;
}

const REFUSAL_OUTCOMES = {
  "no-agent": "no_agent",
  "agent-lost": "backend_close",
  timeout: "backend_dial_timeout",
  /** The agent tried and says why not. */
  "dial-error": "error_response",
  "closed-by-agent": "backend_close",
} as const satisfies Record<string, DialEnd["outcome"]>;
