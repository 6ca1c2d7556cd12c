/** Admits agents: metadata, authentication, claims, headers, and only then a place in the registry. */
import type { PeerCertificate } from "node:tls";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { plainText } from "../../../base/text.js";
import { untilDate } from "../../connection/until-date.js";
import { FEATURES_KEY, featureHeader, featuresIn, isConnectedAlready, searchersHeader } from "../../link/features.js";
import { GrpcStatus } from "../../link/grpc-status.js";
import { acceptCall, endWithStatus, type IncomingCall } from "../../link/listener.js";
import type { SegmentCounters } from "../../link/packet-meter.js";
import { PacketStream } from "../../link/packet-stream.js";
import type { PeerRefusal } from "../../link/tls-listener.js";
import { shownCertificate } from "../../pki/shown.js";
import { type Identifiers, NO_IDENTIFIERS, parseIdentifiers } from "../../wire/identifiers.js";
import type { Switchboard } from "../switchboard.js";
import type { AgentLink } from "./agent-link.js";
import type { ClaimRules, Principal } from "./claims.js";
import type { TokenSender } from "./review-queue.js";
import type { TokenAuthenticator } from "./token-auth.js";

export interface AgentListenerOptions {
  readonly board: Switchboard;
  readonly serverId: string;
  readonly serverCount: number;
  readonly received: SegmentCounters;
  readonly sent: SegmentCounters;
  readonly tokens?: TokenAuthenticator | undefined;
  /** The claim rules in force now. */
  readonly claims?: { readonly current: ClaimRules } | undefined;
  /** Streams end with the certificates of their agents. */
  readonly timeBoxed?: boolean;
  readonly onRefused: (peer: PeerRefusal) => void;
}

export class AgentListener {
  /** Open Connect calls, those still being authenticated included. */
  openCalls = 0;
  readonly #options: AgentListenerOptions;
  /** Calls of agents that let their tunnels finish after a GOAWAY. */
  readonly #extended = new Set<IncomingCall>();
  #leaving = false;

  constructor(options: AgentListenerOptions) {
    this.#options = options;
  }

  onCall(call: IncomingCall): void {
    this.openCalls++;
    call.stream.once("close", () => this.openCalls--);
    this.#admit(call).catch((reason: unknown) => this.#reject(call, reason));
  }

  async #admit(call: IncomingCall): Promise<void> {
    const { board, serverId, serverCount, received, sent, tokens, claims } = this.#options;
    const [agentId, ...otherIds] = call.metadata("agentid");
    if (agentId === undefined || otherIds.length > 0)
      throw new Error(`expected one agent ID in the context, got [${call.metadata("agentid").join(" ")}]`);
    const [identifierText = "", ...otherTexts] = call.metadata("agentidentifiers");
    if (otherTexts.length > 0) {
      const all = [identifierText, ...otherTexts].join(" ");
      throw new Error(`expected at most one set of agent identifiers in the context, got [${all}]`);
    }
    const identifiers = identifierText === "" ? NO_IDENTIFIERS : readIdentifiers(identifierText);
    const certificate: PeerCertificate | undefined = call.tlsSocket?.getPeerCertificate();
    const principal: Principal = {
      subject: distinguishedName(certificate?.subject),
      issuer: distinguishedName(certificate?.issuer),
      serviceAccount: (await tokens?.authenticate(call.metadata("authorization"), senderOf(call))) ?? "",
    };
    const refusal = claims?.current.refusal(principal, identifiers);
    if (refusal !== undefined) throw new DrawbridgeError("DB_AGENT_CLAIM", refusal);
    if (call.stream.closed) return;
    if (this.#leaving) {
      endWithStatus(call.stream, GrpcStatus.UNAVAILABLE, "this server is shutting down; connect to another");
      return;
    }
    const features = featuresIn(call.metadata(FEATURES_KEY)[0]);
    acceptCall(call.stream, {
      serverid: serverId,
      servercount: String(serverCount),
      ...featureHeader(features),
      ...searchersHeader(features, board.registry.searchers.with({ agentId, identifierText })),
    });
    if (features.extended && isConnectedAlready(call.metadata, serverId)) {
      call.stream.end({ "grpc-status": String(GrpcStatus.OK), "grpc-message": "" });
      return;
    }
    call.admitted();
    const link = board.addAgent(
      {
        agentId,
        identifiers,
        identifierText,
        remote: call.remote,
        principal: principal.serviceAccount || principal.subject,
        ...features,
        program: call.metadata("user-agent")[0] ?? "",
        claimant: principal,
        groupKey: claims?.current.countsAsOne(principal) ? groupKey(principal) : groupKey(principal, agentId),
      },
      call.stream.session,
      (owner, number) =>
        new PacketStream(call.stream, owner, {
          ...{ received, sent, extended: features.extended },
          observer: board.flights?.open(number, agentId),
        }),
    );
    // The first of the pings that measure the round trip; gRPC clients answer any number of them.
    call.stream.session.ping(() => {});
    if (features.extended) {
      this.#extended.add(call);
      call.stream.once("close", () => this.#extended.delete(call));
    }
    if (this.#options.timeBoxed) this.#timeBox(call, link);
  }

  /**
   * No new agents. Ours look for another server and let their tunnels here finish. Upstream's take a GOAWAY for the end and drop
   * their tunnels, so they get none, and are released once they are idle.
   */
  askToLeave(): void {
    this.#leaving = true;
    for (const { stream } of this.#extended) stream.session.close();
  }

  /** Upstream's agents without a tunnel here lose nothing: they look for another server now, and not when this one is gone. */
  releaseIdle(): void {
    for (const link of [...this.#options.board.registry.links()]) {
      if (link.extended || link.load > 0 || link.stream.queuedBytes > 0) continue;
      link.dismiss(GrpcStatus.UNAVAILABLE, "this server is shutting down");
    }
  }

  #timeBox(call: IncomingCall, link: AgentLink): void {
    const end = call.tlsSocket?.getPeerX509Certificate()?.validTo;
    if (end === undefined) return;
    const cancel = untilDate(this.#options.board.runtime, new Date(end), () =>
      link.dismiss(GrpcStatus.UNAUTHENTICATED, "the agent's certificate has ended"),
    );
    call.stream.once("close", cancel);
  }

  /** The peer gets the message alone: a cause may name what strangers should not see. */
  #reject(call: IncomingCall, reason: unknown): void {
    const agentId = call.metadata("agentid")[0];
    const message = messageOf(reason);
    const cause = reason instanceof Error ? reason.cause : undefined;
    // With the cause's own code it is no fault of the agent.
    const isOurs = reason instanceof DrawbridgeError && cause instanceof DrawbridgeError && cause.code === reason.code;
    const said = isOurs ? "its token could not be reviewed" : message;
    const certificate = call.tlsSocket?.getPeerX509Certificate();
    this.#options.onRefused({
      remote: call.remote,
      code: reason instanceof DrawbridgeError ? reason.code : "DB_PEER_PROTOCOL",
      reason: plainText(cause === undefined ? said : `${said}: ${messageOf(cause)}`),
      ...(agentId === undefined ? {} : { agentId: plainText(agentId, LONGEST_ID) }),
      ...(certificate === undefined ? {} : { certificate: shownCertificate(certificate) }),
    });
    // Upstream's handlers return plain errors, which gRPC turns into UNKNOWN.
    endWithStatus(call.stream, GrpcStatus.UNKNOWN, message);
  }
}

/** Of an agent ID in a report. */
const LONGEST_ID = 128;

function senderOf({ stream, remote }: IncomingCall): TokenSender {
  const gone = new AbortController();
  if (stream.closed) gone.abort();
  else stream.once("close", () => gone.abort());
  return { connection: stream.session, remote, signal: gone.signal };
}

/** Without an agentID, all streams of a certificate's subject or a service account are one agent in the choice. */
function groupKey({ issuer, subject, serviceAccount }: Principal, agentId?: string): string {
  return JSON.stringify([issuer, subject, serviceAccount, agentId ?? null]);
}

function readIdentifiers(text: string): Identifiers {
  try {
    return parseIdentifiers(text);
  } catch (reason) {
    throw new Error(`fail to parse url encoded string: ${messageOf(reason)}`);
  }
}

function distinguishedName(name: object = {}): string {
  // A value must not be able to look like two parts.
  const escaped = (value: string) => value.replace(/[\\,=]/g, "\\$&");
  return Object.entries(name)
    .flatMap(([key, value]: [string, string | string[]]) => [value].flat().map((each) => `${key}=${escaped(each)}`))
    .sort()
    .join(",");
}
