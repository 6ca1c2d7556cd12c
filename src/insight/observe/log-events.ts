/** The log as one more listener: which events become lines, and from which verbosity on. */

import { type Channel, type Sourced, Subscriptions } from "../../base/channel.js";
import { type Clock, systemClock } from "../../base/clock.js";
import { type CloseReason, processConnections } from "../../base/connections.js";
import { remedies } from "../../base/errors/catalogue.js";
import type { LogFields, Logger } from "../../base/log/log.js";
import { PacedLog } from "../../base/log/paced-log.js";
import { Repeats } from "../../base/log/repeats.js";
import { isoTime } from "../../base/text.js";
import * as channels from "../../tunnel/events/channels.js";
import type { ShownCertificate } from "../../tunnel/events/facts.js";
import { gaveUp, kindOfPeer } from "./refused-peers.js";

/** klog levels. Up to 4 is what everybody sees by default, so nothing that happens for every tunnel may be below 5. */
const RARE = 1;
const DETAIL = 4;
const EVERY_TUNNEL = 5;

type Write = (message: string, fields: LogFields) => void;

/** Writes lines for the events of `source` until the function that it returns is called. */
export function logEvents(logger: Logger, source: object, clock?: Clock): () => void {
  const events = new Subscriptions(source);
  /** For whatever a caller, a peer or a broken network can make happen at any rate. */
  const paced = new PacedLog(logger, clock);
  plainLines(events, logger, paced, clock);
  leaseLines(events, logger, paced);
  tunnelLines(events, logger, paced);
  const endConnections = processConnections.subscribe(({ listener, remote, reason }) =>
    paced.warn(CLOSED_BECAUSE[reason], { listener, remote }),
  );
  return () => {
    endConnections();
    events.end();
    paced.close();
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

function certificateFields({ subject, issuer, serial, notBeforeAt, notAfterAt }: ShownCertificate): LogFields {
  return { subject, issuer, serial, notBefore: isoTime(notBeforeAt), notAfter: isoTime(notAfterAt) };
}

/** Events that are a line as they are, with all their fields. */
function plainLines(events: Subscriptions, logger: Logger, paced: PacedLog, clock: Clock = systemClock): void {
  const each = <Event extends Sourced>(channel: Channel<Event>, write: Write, message: string): void =>
    events.on(channel, (event) => write(message, fieldsOf(event)));
  const rare: Write = (message, fields) => logger.info(RARE, message, fields);
  const error: Write = (message, fields) => logger.error(message, fields);
  const info: Write = (message, fields) => paced.info(RARE, message, fields);
  const warn: Write = (message, fields) => paced.warn(message, fields);
  each(channels.listening, rare, "listening");
  each(channels.certificatesReloaded, rare, "certificates were replaced on disk and are in use");
  events.on(channels.certificatesRefused, (event) =>
    error("changed certificate files cannot be used; the old ones stay in use", {
      ...fieldsOf(event),
      ...(event.code && { remedy: remedies[event.code] }),
    }),
  );
  each(channels.certificatesUsable, rare, "the certificate files on disk are those in use again");
  each(channels.claimRulesReloaded, rare, "claim rules were replaced on disk and are in use");
  each(channels.claimRulesRefused, error, "the changed claim rules cannot be used; the old ones stay in use");
  each(channels.tunnelCut, warn, "a tunnel was cut because its reader is too slow");

  each(channels.serverAgentConnected, info, "agent connected");
  each(channels.serverAgentDisconnected, info, "agent disconnected");
  const draining = "agent is draining and gets new dials only if no other can serve them";
  each(channels.serverAgentDraining, info, draining);
  refusedPeerLines(events, paced, clock);
  each(channels.serverRefused, warn, "dial was refused");
  const recycled = "a link on which nothing moves was ended; its agent has to connect again";
  each(channels.serverLinkRecycled, warn, recycled);

  each(channels.agentServerConnected, info, "connected to server");
  each(channels.agentServerDisconnected, warn, "lost server");
  attemptLines(events, logger, clock);
  each(channels.agentDraining, rare, "draining: servers were asked to prefer others");
  events.on(channels.agentDuplicateServer, (server) =>
    paced.info(DETAIL, "reached a server that is already connected", fieldsOf(server)),
  );
  events.on(channels.serverPathChecked, ({ agentId, stream, failures, failuresBefore, error, roundTripMs }) => {
    // The first failure and the first success after it; what is between them shows in metrics.
    if (failures === 1) paced.warn("an agent is connected, but nothing comes through it", { agentId, stream, error });
    else if (failures === 0 && failuresBefore > 0) {
      paced.info(RARE, "bytes come through the agent again", { agentId, stream, failuresBefore, roundTripMs });
    }
  });
  events.on(channels.noteChannel, ({ level, message, fields = {} }) => {
    if (level === "info") paced.info(2, message, fields, "note");
    else paced[level](message, fields, "note");
  });
}

/** How often one cause is repeated while it lasts. */
const FAILED_ATTEMPTS_MS = 60_000;
const REFUSALS_MS = 10_000;

/** An agent that cannot connect tries for ever: each address has a line when the cause changes, and one a minute. */
function attemptLines(events: Subscriptions, logger: Logger, clock: Clock): void {
  const repeats = new Repeats(clock, FAILED_ATTEMPTS_MS);
  events.on(channels.agentServerConnectFailed, (attempt) => {
    const { address, error, code = error } = attempt;
    const more = repeats.due(address, code);
    if (more !== undefined) logger.warn("cannot connect to server; trying again", { ...fieldsOf(attempt), ...more });
  });
  events.on(channels.agentServerConnected, ({ address }) => repeats.forget(address));
}

/** A peer that comes again and again with the same problem leaves room for the lines about others. */
function refusedPeerLines(events: Subscriptions, paced: PacedLog, clock: Clock): void {
  const repeats = new Repeats(clock, REFUSALS_MS);
  events.on(channels.peerRefused, (peer) => {
    const { listener, remote, code, certificate } = peer;
    const host = remote.replace(/:\d+$/, "");
    const more = repeats.due([host, listener, code, certificate?.serial].join(" "));
    if (more === undefined) return;
    paced.warn(`${kindOfPeer(peer)} ${gaveUp(peer) ? "gave up" : "was rejected"}`, {
      ...fieldsOf(peer),
      ...(certificate === undefined ? {} : certificateFields(certificate)),
      remedy: peer.remedy ?? remedies[code],
      ...more,
    });
  });
}

function leaseLines(events: Subscriptions, logger: Logger, paced: PacedLog): void {
  const requests = { list: channels.leaseListed, watch: channels.leaseWatched, delete: channels.leaseDeleted };
  for (const [call, channel] of Object.entries(requests)) {
    events.on(channel, ({ status, reason, durationMs }) => {
      const fields = { call, status, reason, durationMs };
      if (status >= 200 && status < 300) logger.info(EVERY_TUNNEL, "lease request", fields);
      else paced.warn("a lease request failed", fields);
    });
  }
  events.on(channels.leasesCulled, ({ count }) => logger.info(2, "expired leases were deleted", { count }));
}

function tunnelLines(events: Subscriptions, logger: Logger, paced: PacedLog): void {
  /** Costs nothing to speak of while nobody asked for so much. */
  const everyTunnel = (message: string, event: Sourced): void => {
    if (logger.verbosity >= EVERY_TUNNEL) logger.info(EVERY_TUNNEL, message, fieldsOf(event));
  };
  events.on(channels.streamError, (error) => everyTunnel("stream error", error));
  events.on(channels.agentProbed, (probe) => everyTunnel("an agent answered a probe", probe));
  events.on(channels.serverDialEnded, (dial) => {
    if (dial.outcome === "established") everyTunnel("tunnel established", dial);
    // With a reference id the refusal has a line of its own.
    else if (dial.referenceId === undefined && logger.verbosity >= DETAIL) paced.warn("dial failed", fieldsOf(dial));
  });
  events.on(channels.serverTunnelClosed, (tunnel) => everyTunnel("tunnel closed", tunnel));
  events.on(channels.agentDialEnded, (dial) => {
    if (dial.outcome === "policy") paced.warn("dial was denied by the destination policy", fieldsOf(dial));
    else if (dial.outcome === "established" || dial.outcome === "cancelled") everyTunnel("dial ended", dial);
    else if (/too many open files/.test(dial.error)) paced.warn(OUT_OF_DESCRIPTORS, fieldsOf(dial));
    else if (logger.verbosity >= DETAIL) paced.warn("dial failed", fieldsOf(dial));
  });
  events.on(channels.agentTunnelClosed, (tunnel) => everyTunnel("tunnel closed", tunnel));
}

const OUT_OF_DESCRIPTORS =
  "this agent has no file descriptor left for a dial, which the server tries elsewhere; raise its limit (ulimit -n)";

/** The objects that an event is about are for listeners that keep them; a line has plain fields. */
const OBJECTS = new Set(["certificate", "source", "link", "tunnel", "dial", "asked"]);

function fieldsOf(event: Sourced): LogFields {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !OBJECTS.has(name)));
}
