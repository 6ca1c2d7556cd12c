/** The peers that the listeners of one process refused lately: at TLS, at the login, before they asked for anything. */
import type { TLSSocket } from "node:tls";

import { splitHostPort } from "../../base/address.js";
import { remedies } from "../../base/errors/catalogue.js";
import { shown } from "../../base/redact/redact.js";
import {
  callerAccepted,
  certificatesReloaded,
  peerRefused,
  serverAgentConnected,
} from "../../tunnel/events/channels.js";
import { shownName } from "../../tunnel/pki/shown.js";
import type { RefusedPeer, RefusedPeerRow } from "./admin/contract.js";

const MAX_ROWS = 64;

/** What is known of who was refused: whoever dials the agents' port is an agent only once it has spoken as one. */
export function kindOfPeer({ listener, agentId, code }: Pick<RefusedPeer, "listener" | "agentId" | "code">): string {
  if (listener === "admin") return "admin client";
  if (listener !== "agents") return "caller";
  return agentId !== undefined || /^DB_AGENT_/.test(code) ? "agent" : "peer";
}

/** Whether the peer itself ended it, and the listener had nothing against it. */
export const gaveUp = ({ code }: Pick<RefusedPeer, "code">): boolean =>
  code === "DB_PEER_HUNG_UP" || code === "DB_PEER_DISTRUSTS";

interface Row {
  readonly id: number;
  readonly host: string;
  readonly firstAt: number;
  peer: RefusedPeer;
  at: number;
  count: number;
  /** When it was accepted at its listener, if it was after `at`. */
  acceptedAt: number | undefined;
  /** When its listener's certificate was replaced, which was what it did not accept. */
  replacedAt: number | undefined;
}

export class RefusedPeers {
  /** Since the process started, those whose rows had to go included. */
  total = 0;
  /** Those refused longest ago first. */
  readonly #rows = new Map<string, Row>();
  #ids = 0;

  /** Keeps what is refused at the listeners of `source`; the answer ends it. */
  keep(source: object): () => void {
    const endings = [
      peerRefused.subscribe(({ source: _source, ...peer }) => this.add(peer, Date.now()), source),
      serverAgentConnected.subscribe(
        ({ remote, principal, subject = principal }) => this.accepted("agents", remote, Date.now(), () => subject),
        source,
      ),
      callerAccepted.subscribe(
        ({ listener, remote, tlsSocket }) => this.accepted(listener, remote, Date.now(), () => subjectOf(tlsSocket)),
        source,
      ),
      certificatesReloaded.subscribe(({ listener }) => this.replaced(listener, Date.now()), source),
    ];
    return () => {
      for (const end of endings) end();
    };
  }

  /**
   * Whoever was refused from this address may have been corrected; one that still fails is refused again. Behind one
   * address may be many: who showed a certificate is known by its subject, which is only asked for then.
   */
  accepted(listener: string, remote: string, at: number, subject: () => string | undefined = () => undefined): void {
    if (this.#rows.size === 0) return;
    const host = hostOf(remote);
    for (const row of this.#rows.values()) {
      if (row.host !== host || row.peer.listener !== listener || row.acceptedAt !== undefined) continue;
      const { certificate } = row.peer;
      if (certificate === undefined || isSameName(certificate.subject, subject())) row.acceptedAt = at;
    }
  }

  /** What those who did not accept the listener's certificate said is not of the one that it has now. */
  replaced(listener: string, at: number): void {
    for (const row of this.#rows.values()) {
      if (row.peer.listener === listener && gaveUp(row.peer)) row.replacedAt ??= at;
    }
  }

  /** A thousand may come in a second: nothing is made of them before somebody asks. */
  add(peer: RefusedPeer, at: number): void {
    this.total++;
    const host = hostOf(peer.remote);
    const { subject = "", issuer = "", serial = "" } = peer.certificate ?? {};
    const key = [host, peer.listener, peer.code, subject, issuer, serial].join("\0");
    const row = this.#rows.get(key) ?? {
      id: ++this.#ids,
      host,
      firstAt: at,
      peer,
      at,
      count: 0,
      acceptedAt: undefined,
      replacedAt: undefined,
    };
    Object.assign(row, { peer, at, count: row.count + 1, acceptedAt: undefined, replacedAt: undefined });
    this.#rows.delete(key);
    this.#rows.set(key, row);
    if (this.#rows.size > MAX_ROWS) this.#rows.delete(this.#mostCrowded());
  }

  /**
   * The oldest row of the address that has the most of them, and of addresses with equally many one at the most crowded
   * listener: a stranger with many certificates displaces nobody else, and one with many addresses nobody at other listeners.
   */
  #mostCrowded(): string {
    const rows = [...this.#rows];
    const worst = mostOf(rows, ([, { host }]) => host);
    const [oldest] = mostOf(worst, ([, { peer }]) => peer.listener, rows);
    return oldest![0];
  }

  /** Newest first. */
  list(): RefusedPeerRow[] {
    return [...this.#rows.values()].reverse().map(describe);
  }
}

function subjectOf(socket: TLSSocket | undefined): string | undefined {
  // Without a certificate it is an empty object, of a closed socket null.
  const { subject = {} }: { subject?: object } = socket?.getPeerCertificate() ?? {};
  const parts = Object.entries(subject).flatMap(([key, value]: [string, string | string[]]) =>
    [value].flat().map((each) => `${key}=${each}`),
  );
  return parts.length === 0 ? undefined : shownName(parts.join("\n"));
}

/** In whatever order their parts are. */
const isSameName = (one: string, other: string | undefined): boolean =>
  other !== undefined && one.split(",").sort().join() === other.split(",").sort().join();

function hostOf(remote: string): string {
  const split = splitHostPort(remote);
  return "error" in split ? remote : split.host;
}

/** The items whose name is the most frequent one among `all`, in their order. */
function mostOf<Item>(items: readonly Item[], nameOf: (item: Item) => string, all = items): readonly Item[] {
  const counts = new Map<string, number>();
  for (const item of all) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
  const most = Math.max(...items.map((item) => counts.get(nameOf(item)) ?? 0));
  return items.filter((item) => counts.get(nameOf(item)) === most);
}

function describe({ id, host, firstAt, at, count, peer, acceptedAt, replacedAt }: Row): RefusedPeerRow {
  const { listener, code, reason, remedy = remedies[code], agentId, certificate } = peer;
  return {
    ...{ id, listener, address: shown(host), code, reason: shown(reason), remedy, count, firstAt, at },
    ...(acceptedAt === undefined ? {} : { acceptedAt }),
    ...(replacedAt === undefined ? {} : { replacedAt }),
    ...(agentId === undefined ? {} : { agentId: shown(agentId) }),
    ...(certificate === undefined
      ? {}
      : { certificate: { ...certificate, subject: shown(certificate.subject), issuer: shown(certificate.issuer) } }),
  };
}
