/** The log as one more listener: which events become lines, and from which verbosity on. */

import { type Sourced, Subscriptions } from "../../base/channel.js";
import type { Clock } from "../../base/clock.js";
import type { CloseReason } from "../../base/connection.js";
import { processConnections } from "../../base/connections.js";
import type { Fields, Logger } from "../../base/log/log.js";
import { PacedLog } from "../../base/log/paced-log.js";
import * as channels from "../../tunnel/events/channels.js";

/** klog levels. Up to 4 is what everybody sees by default, so nothing that happens for every tunnel may be below 5. */
const RARE = 1;
const DETAIL = 4;
const EVERY_TUNNEL = 5;

interface EventLog {
  readonly events: Subscriptions;
  readonly logger: Logger;
  /** For whatever a caller, a peer or a broken network can make happen at any rate. */
  readonly paced: PacedLog;
}

/** Writes lines for the events of `source` until the function that it returns is called. */
export function logEvents(logger: Logger, source: object, clock?: Clock): () => void {
  const log: EventLog = { events: new Subscriptions(source), logger, paced: new PacedLog(logger, clock) };
  logProcess(log);
  logServer(log);
  logAgent(log);
  const endConnections = processConnections.subscribe(({ listener, remote, reason }) =>
    log.paced.warn(CLOSED_BECAUSE[reason], { listener, remote }),
  );
  return () => {
    endConnections();
    log.events.end();
    log.paced.close();
  };
}

const CLOSED_BECAUSE: Readonly<Record<CloseReason, string>> = {
  "handshake-timeout": "a connection was closed: its TLS handshake was not finished in time",
  "request-timeout": "a connection was closed: its peer asked for nothing in time",
  "pending-limit": "a connection was closed: too many at this listener are unfinished, and it was the oldest of them",
  "connection-limit": "a connection was closed: this listener has as many as it may have",
  "descriptor-limit":
    "a connection was closed: the process is about to reach its limit of open files; raise it (LimitNOFILE, ulimit -n)",
};

function logProcess({ events, logger, paced }: EventLog): void {
  events.on(channels.listening, ({ what, address }) => logger.info(RARE, "listening", { what, address }));
  events.on(channels.certificatesReloaded, ({ files }) =>
    logger.info(RARE, "certificates were replaced on disk and are in use", { files }),
  );
  events.on(channels.certificatesRefused, ({ files, error }) =>
    logger.error("changed certificate files cannot be used; the old ones stay in use", { files, error }),
  );
  events.on(channels.tunnelCut, ({ address, connectId, queuedBytes, reason }) =>
    paced.warn("a tunnel was cut because its reader is too slow", { address, connectId, queuedBytes, reason }),
  );
  events.on(channels.streamError, ({ segment, code, packetType }) =>
    logger.info(EVERY_TUNNEL, "stream error", { segment, code, packetType }),
  );
  const leaseRequests = { list: channels.leaseListed, watch: channels.leaseWatched, delete: channels.leaseDeleted };
  for (const [call, channel] of Object.entries(leaseRequests)) {
    events.on(channel, ({ status, reason, durationMs }) => {
      const fields = { call, status, reason, durationMs };
      if (status >= 200 && status < 300) logger.info(EVERY_TUNNEL, "lease request", fields);
      else paced.warn("a lease request failed", fields);
    });
  }
  events.on(channels.leasesCulled, ({ count }) => logger.info(2, "expired leases were deleted", { count }));
  events.on(channels.note, ({ level, message, fields = {} }) => {
    if (level === "info") paced.info(2, message, fields, "note");
    else paced[level](message, fields, "note");
  });
}

function logServer({ events, logger, paced }: EventLog): void {
  events.on(channels.serverAgentConnected, (agent) => paced.info(RARE, "agent connected", fieldsOf(agent)));
  events.on(channels.serverAgentDisconnected, (agent) => paced.info(RARE, "agent disconnected", fieldsOf(agent)));
  events.on(channels.serverAgentDraining, (agent) =>
    paced.info(RARE, "agent is draining and gets new dials only if no other can serve them", fieldsOf(agent)),
  );
  events.on(channels.claimRulesReloaded, ({ file, dismissed }) =>
    logger.info(RARE, "claim rules were replaced on disk and are in use", { file, dismissed }),
  );
  events.on(channels.claimRulesRefused, ({ file, error }) =>
    logger.error("the changed claim rules cannot be used; the old ones stay in use", { file, error }),
  );
  events.on(channels.serverPathChecked, ({ agentId, stream, failures, failuresBefore, error, roundTripMs }) => {
    // The first failure and the first success after it; what is between them shows in metrics.
    if (failures === 1) paced.warn("an agent is connected, but nothing comes through it", { agentId, stream, error });
    else if (failures === 0 && failuresBefore > 0) {
      paced.info(RARE, "bytes come through the agent again", { agentId, stream, failuresBefore, roundTripMs });
    }
  });
  events.on(channels.serverLinkRecycled, (link) =>
    paced.warn("a link on which nothing moves was ended; its agent has to connect again", fieldsOf(link)),
  );
  events.on(channels.serverAgentRejected, (agent) => paced.warn("agent was rejected", fieldsOf(agent)));
  events.on(channels.serverRefused, (refusal) => paced.warn("dial was refused", fieldsOf(refusal)));
  events.on(channels.serverDialEnded, (dial) => {
    if (dial.outcome === "established") everyTunnel(logger, "tunnel established", dial);
    // With a reference id the refusal has a line of its own.
    else if (dial.referenceId === undefined && logger.verbosity >= DETAIL) paced.warn("dial failed", fieldsOf(dial));
  });
  events.on(channels.serverTunnelClosed, (tunnel) => everyTunnel(logger, "tunnel closed", tunnel));
}

function logAgent({ events, logger, paced }: EventLog): void {
  events.on(channels.agentServerConnected, (server) => paced.info(RARE, "connected to server", fieldsOf(server)));
  events.on(channels.agentServerDisconnected, (server) => paced.warn("lost server", fieldsOf(server)));
  events.on(channels.agentServerConnectFailed, ({ address, error }) =>
    paced.warn("cannot connect to server; trying again", { address, error }),
  );
  events.on(channels.agentDuplicateServer, (server) =>
    paced.info(DETAIL, "reached a server that is already connected", fieldsOf(server)),
  );
  events.on(channels.agentDraining, () => logger.info(RARE, "draining: servers were asked to prefer others"));
  events.on(channels.agentDialEnded, (dial) => {
    if (dial.outcome === "policy") paced.warn("dial was denied by the destination policy", fieldsOf(dial));
    else if (dial.outcome === "established" || dial.outcome === "cancelled") everyTunnel(logger, "dial ended", dial);
    else if (/too many open files/.test(dial.error)) paced.warn(OUT_OF_DESCRIPTORS, fieldsOf(dial));
    else if (logger.verbosity >= DETAIL) paced.warn("dial failed", fieldsOf(dial));
  });
  events.on(channels.agentTunnelClosed, (tunnel) => everyTunnel(logger, "tunnel closed", tunnel));
}

const OUT_OF_DESCRIPTORS =
  "this agent has no file descriptor left for a dial, which the server tries elsewhere; raise its limit (ulimit -n)";

/** Costs nothing to speak of while nobody asked for so much. */
function everyTunnel(logger: Logger, message: string, event: Sourced): void {
  if (logger.verbosity >= EVERY_TUNNEL) logger.info(EVERY_TUNNEL, message, fieldsOf(event));
}

/** The objects that an event is about are for listeners that keep them; a line has plain fields. */
const OBJECTS = new Set(["source", "link", "tunnel", "dial", "asked"]);

function fieldsOf(event: Sourced): Fields {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !OBJECTS.has(name)));
}
