/** A server as the admin API shows it. */

import { shown } from "../../../base/redact/redact.js";
import {
  serverAgentConnected,
  serverAgentDisconnected,
  serverAgentDraining,
  serverDialEnded,
  serverTunnelClosed,
} from "../../../tunnel/events/channels.js";
import type { FlightHistory } from "../../../tunnel/link/flight-recorder.js";
import type { AgentLink } from "../../../tunnel/server/agents/agent-link.js";
import { AGENT_STATUSES, preferredOf, statusOf } from "../../../tunnel/server/agents/choice.js";
import type { ProxyServer } from "../../../tunnel/server/server.js";
import type { WaitingDials } from "../../../tunnel/server/waiting-dials.js";
import { parseDestination } from "../../../tunnel/wire/destination.js";
import type { CertificatesInUse } from "../admin/certificates.js";
import {
  type AgentPeer,
  type Candidate,
  type Forecast,
  NO_AGENT_CONNECTED,
  type PathHealth,
  type Totals,
} from "../admin/contract.js";
import { ApiFailure } from "../admin/failure.js";
import type { LiveTunnel, ObservedRole } from "../admin/observed-role.js";
import { endedTunnels, type LinkPeer, TunnelRows } from "../admin/tunnel-row.js";
import { ProcessHistory } from "../history/process-history.js";
import { keepServerRefusals, RefusalLog } from "../refusals.js";
import { DialCounts, hundredths, onceEach } from "./common.js";

/** Whom the most crowded of servers would choose among; nobody reads them all. */
const MAX_CANDIDATES = 20;
const PING_MS = 5_000;

export class ObservedServer implements ObservedRole {
  readonly ended = endedTunnels();
  readonly refusals = new RefusalLog();
  readonly history: ProcessHistory;
  readonly #server: ProxyServer;
  readonly #rows: TunnelRows;
  /** The role's clock plus this is milliseconds since 1970. */
  readonly #epoch: number;
  readonly #dials = new DialCounts();
  /** Texts that strangers chose, looked through once. */
  readonly #textsOf = onceEach(textsOf);
  readonly #peerOf = onceEach(
    (link: AgentLink): LinkPeer => ({ agent: { key: link.number, id: this.#textsOf(link).id } }),
  );

  constructor(server: ProxyServer) {
    this.#server = server;
    this.#epoch = Date.now() - server.board.runtime.now();
    this.#rows = new TunnelRows("server", this.#epoch);
    this.history = new ProcessHistory(server.board.runtime);
  }

  /** Keeps ended tunnels, failed dials and refusals from here on. */
  remember(): void {
    const { runtime: clock } = this.#server.board;
    keepServerRefusals(this.refusals, this.#server);
    serverDialEnded.subscribe((event) => {
      const { dial, address, agentId, outcome, durationMs, waitedMs = 0, error, referenceId: refusalId } = event;
      this.#dials.count(outcome === "established", durationMs);
      if (outcome !== "unrecognized_response") {
        const isAnswered = outcome === "established" || outcome === "send_rsp";
        this.history.dialEnded({
          ...{ target: address, peer: agentId, ms: durationMs, error: isAnswered ? undefined : error },
          peerMs: dial && durationMs + waitedMs - (dial.dialledAt || dial.startedAt) + dial.startedAt,
          isUndecided: agentId === undefined || outcome === "frontend_close" || outcome === "backend_close",
        });
      }
      if (outcome === "established" || dial === undefined) return;
      const end = { at: clock.now(), reason: error, error, refusalId };
      this.ended.keep(this.#rows.ended(dial.asked, dial.link && this.#peerOf(dial.link), end));
    }, this.#server);
    serverTunnelClosed.subscribe(({ link, tunnel, reason }) => {
      this.ended.keep(this.#rows.ended(tunnel.info, this.#peerOf(link), { at: clock.now(), reason }, tunnel));
    }, this.#server);
    this.#rememberAgents();
  }

  #rememberAgents(): void {
    const connected = new Map<number, { address: string; connectedAt: number; isDrained?: boolean }>();
    const streams = new Map<string, number>();
    serverAgentConnected.subscribe(({ agentId, stream, remote: address }) => {
      connected.set(stream, { address, connectedAt: Date.now() });
      streams.set(agentId, (streams.get(agentId) ?? 0) + 1);
      this.history.peerCame(agentId);
    }, this.#server);
    serverAgentDraining.subscribe(({ stream }) => {
      const facts = connected.get(stream);
      if (facts !== undefined) facts.isDrained = true;
    }, this.#server);
    serverAgentDisconnected.subscribe(({ agentId, stream, reason }) => {
      const facts = connected.get(stream);
      if (!connected.delete(stream)) return;
      const left = streams.get(agentId)! - 1;
      if (left > 0) streams.set(agentId, left);
      else {
        streams.delete(agentId);
        this.history.peerLeft({ id: agentId, ...facts!, reason });
      }
    }, this.#server);
  }

  process() {
    const { board, config, ready, unreadyReason, draining } = this.#server;
    return {
      role: "server" as const,
      id: config.serverId,
      ready,
      draining,
      unreadyReason: ready ? undefined : (unreadyReason ?? board.waiting.givenUp ?? "no agent is connected"),
      serverCount: config.serverCount,
      strategies: config.strategies,
      strategyCounts: board.registry.strategyCounts(),
    };
  }

  path(): PathHealth | undefined {
    return this.#server.watchdog?.path();
  }

  get flights(): FlightHistory | undefined {
    return this.#server.board.flights;
  }

  totals(): Omit<Totals, "at"> {
    const { board, traffic } = this.#server;
    return {
      bytesToTarget: traffic.toAgents,
      bytesFromTarget: traffic.fromAgents,
      tunnelsOpen: board.establishedTunnels,
      dialsPending: board.pendingDials,
      dialsWaiting: board.waiting.size,
      ...this.#dials.totals,
      queuedBytes: board.budget.queuedBytes,
    };
  }

  certificates(): CertificatesInUse[] {
    return this.#server.certificates.map(({ use, files, current }) => {
      return { use, cert: current.cert, certFile: files.certFile, ca: current.ca, caFile: files.clientCaFile };
    });
  }

  unusedFiles() {
    return this.#server.unusedFiles;
  }

  *agents(): Iterable<AgentPeer> {
    const now = this.#server.board.runtime.now();
    for (const link of this.#server.board.registry.links()) {
      const { toFar, toNear } = link.tunnels.traffic;
      const { roundTripMs, queuedBytes } = link.stream;
      const demotedUntil = Math.max(link.demotedUntil, link.group.demotedUntil);
      yield {
        key: link.number,
        ...this.#textsOf(link),
        remote: link.identity.remote,
        drawbridge: link.identity.extended,
        connectedAt: Math.round(this.#epoch + link.connectedAt),
        roundTripMs: hundredths(roundTripMs),
        draining: link.draining,
        demotedUntil: demotedUntil > now ? Math.round(this.#epoch + demotedUntil) : undefined,
        tunnels: link.tunnels.size,
        pendingDials: link.pendingDials,
        bytesToTarget: toFar,
        bytesFromTarget: toNear,
        queuedBytes,
        path: this.#server.watchdog?.pathOf(link),
      };
    }
  }

  *tunnels(): Iterable<LiveTunnel> {
    for (const { asked } of this.#server.board.waiting.dials()) yield this.#rows.live(asked);
    for (const link of this.#server.board.registry.links()) {
      const peer = this.#peerOf(link);
      for (const { asked } of link.dials()) yield this.#rows.live(asked, peer);
      for (const tunnel of link.tunnels.values()) yield this.#rows.live(tunnel.info, peer, tunnel);
    }
  }

  explain(target: string): Forecast {
    const to = parseDestination(target);
    if ("error" in to) return { target, possible: false, why: `It cannot be dialled: ${to.error}.` };
    const { board } = this.#server;
    const { registry, runtime: clock } = board;
    const explanation = board.explainChoice(to.address);
    const decision = registry.matchesFor(to.address).strategies.find(({ candidates }) => candidates.length > 0);
    if (decision === undefined) {
      const why = explanation.agentsConnected === 0 ? NO_AGENT_CONNECTED : "No agent takes this destination.";
      return { target, possible: false, why: `${why}${waitOf(board.waiting)}`, explanation };
    }
    const { name: strategy, candidates: matches } = decision;
    const candidates: Candidate[] = matches
      .map(({ links }) => {
        const link = preferredOf(links, clock.now())!;
        const { id } = this.#textsOf(link);
        return { key: link.number, id, status: statusOf(link, clock.now()), load: link.load };
      })
      .sort(
        (one, two) => AGENT_STATUSES.indexOf(one.status) - AGENT_STATUSES.indexOf(two.status) || one.load - two.load,
      );
    return {
      target,
      possible: true,
      why: `Strategy ${strategy} decides, with ${matches.length} of ${registry.agents} agents to choose among.`,
      strategy,
      candidates: candidates.slice(0, MAX_CANDIDATES),
      candidatesLeftOut: candidates.length > MAX_CANDIDATES ? candidates.length - MAX_CANDIDATES : undefined,
      explanation,
    };
  }

  drainAgent(key: number): boolean {
    const link = this.#linkOf(key);
    link?.drain();
    return link !== undefined;
  }

  async pingAgent(key: number): Promise<boolean> {
    const link = this.#linkOf(key);
    if (link === undefined) return false;
    const { runtime: clock } = this.#server.board;
    await new Promise<void>((resolve, reject) => {
      const silent = `the agent did not answer a ping within ${PING_MS / 1000} s`;
      const cancel = clock.after(PING_MS, () => reject(new ApiFailure(504, "no-answer", silent)));
      link.connection.ping(() => {
        cancel();
        resolve();
      });
    });
    return true;
  }

  #linkOf(key: number): AgentLink | undefined {
    for (const link of this.#server.board.registry.links()) if (link.number === key) return link;
    return undefined;
  }
}

/** What becomes of a dial meanwhile, as a further sentence. */
function waitOf({ waitMs, size, givenUp, full }: Pick<WaitingDials, "waitMs" | "size" | "givenUp" | "full">): string {
  if (waitMs === 0) return "";
  if (givenUp !== undefined) return ` N${givenUp.slice(1)} (--wait-for-agent).`;
  if (full !== undefined) return ` ${full}, so a further one is refused at once (--wait-for-agent).`;
  return ` A dial waits up to ${waitMs / 1000} s for one (--wait-for-agent); ${size} ${size === 1 ? "waits" : "wait"} now.`;
}

function textsOf({ identity }: AgentLink): Pick<AgentPeer, "id" | "identifiers" | "principal" | "version"> {
  const { agentId, identifierText, principal, program } = identity;
  return {
    id: shown(agentId),
    identifiers: shown(identifierText),
    principal: principal === "" ? undefined : shown(principal),
    version: program === "" ? undefined : shown(program),
  };
}
