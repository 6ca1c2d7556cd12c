/** What is shown instead of the lists: the keys, everything about one row, or a question. */

import { painted } from "../../../base/colour.js";
import { plainText } from "../../../base/text.js";
import type { TunnelRow } from "../../observe/admin/contract.js";
import { bytesText, durationText } from "../view/format.js";
import { peerId } from "../view/process-view.js";
import { peerName } from "../view/tunnel-list.js";
import { waterfall } from "../view/waterfall.js";
import { cell, paragraph, sparkline } from "./cells.js";
import type { Choices, Lists, Peer } from "./choices.js";
import { HELP } from "./keys.js";
import { failureRate, seriesOf } from "./peers.js";
import type { Watched } from "./screen.js";

export function overlayLines(
  over: NonNullable<Choices["overlay"]>,
  { peer, tunnel }: Lists,
  watched: Watched,
  width: number,
  now: number,
): string[] {
  if (over === "help") return [painted("KEYS", "bold"), ...HELP.map(([keys, what]) => `${cell(keys, 16)} ${what}`)];
  if (over === "drain") return drainQuestion(peer, watched, width);
  if (tunnel !== undefined) return tunnelDetails(tunnel, width, now);
  return peer === undefined ? ["Nothing is selected."] : peerDetails(peer, watched, width, now);
}

function drainQuestion(peer: Peer | undefined, { view }: Watched, width: number): string[] {
  if (peer === undefined || view?.facts.process.role !== "server")
    return ["Only an agent of a server can be drained here: Tab goes to the list of agents."];
  const question = `Drain ${peerId(peer)}? Its ${peer.tunnels ?? 0} tunnels go on, and it gets new ones only while there is no other agent. Press y to do it.`;
  return paragraph(question, width).map((each) => painted(each, "yellow"));
}

const facts = (rows: readonly (readonly [name: string, value: string | undefined])[], width: number): string[] =>
  rows.flatMap(([name, value]) =>
    value === undefined || value === ""
      ? []
      : paragraph(value, width - 16).map((each, at) => `${cell(at === 0 ? name : "", 15)} ${each}`),
  );

function peerDetails(peer: Peer, { past, health }: Watched, width: number, now: number): string[] {
  const series = seriesOf(peer, past);
  const ms = (value: number | undefined) => (value === undefined ? undefined : durationText(value));
  const agent = "remote" in peer ? peer : undefined;
  const found = (health?.causes ?? [])
    .flatMap(({ findings }) => findings)
    .filter(({ subject }) => subject !== undefined && subject === peerId(peer));
  return [
    painted(plainText(peerId(peer)), "bold"),
    ...facts(
      [
        ["address", agent?.remote ?? ("address" in peer ? peer.address : undefined)],
        ["certificate of", agent?.principal],
        ["identifiers", agent?.identifiers],
        ["program", peer.version],
        ["connected for", peer.connectedAt === undefined ? undefined : durationText(now - peer.connectedAt)],
        ["path", peer.path?.state === "failing" ? `fails: ${peer.path.error ?? "no echo"}` : peer.path?.state],
        ["round trip", ms(peer.roundTripMs)],
        ["dials, p50", ms(series?.p50Ms)],
        ["dials, p99", ms(series?.p99Ms)],
        ["failed", failureRate(series)],
        ["tunnels", String(peer.tunnels ?? "")],
        ["to targets", bytesText(peer.bytesToTarget ?? 0)],
        ["from targets", bytesText(peer.bytesFromTarget ?? 0)],
        ["ten minutes", series && sparkline(series.dials, Math.min(60, width - 18)).trimStart()],
      ],
      width,
    ),
    ...found.flatMap(({ message, remedy }) => [
      ...paragraph(message, width).map((each) => painted(each, "yellow")),
      ...paragraph(`Do: ${remedy}`, width),
    ]),
  ];
}

function tunnelDetails(tunnel: TunnelRow, width: number, now: number): string[] {
  const { bars, events } = waterfall(tunnel, now);
  return [
    painted(plainText(tunnel.target), "bold"),
    ...facts(
      [
        ["carried by", peerName(tunnel)],
        ["came in by", tunnel.frontend],
        ["state", `${tunnel.state}${tunnel.paused === true ? ", its source is held back" : ""}`],
        ["to target", bytesText(tunnel.bytesToTarget)],
        ["from target", bytesText(tunnel.bytesFromTarget)],
        ["waiting", tunnel.queuedBytes === 0 ? undefined : bytesText(tunnel.queuedBytes)],
        ["dial ID", tunnel.dialId],
        ["last error", tunnel.lastError],
      ],
      width,
    ),
    ...bars.map(({ label, fromMs, toMs }) => `${cell(durationText(toMs - fromMs), 15, "right")} ${label}`),
    ...events.map(({ label, atMs }) => `${cell(`at ${durationText(atMs)}`, 15, "right")} ${plainText(label)}`),
  ];
}
