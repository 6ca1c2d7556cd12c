/** One screenful of a process: pure, so that a test can read it. */
import { plainText } from "../../../base/text.js";
import { bytesText, count, countdown, durationText, rateText, timeOfDay } from "../view/format.js";
import type { History } from "../view/history.js";
import { type PeerState, type ProcessView, peerId, peerState } from "../view/process-view.js";
import { refusedPeerText } from "../view/refused-peer.js";
import { listTunnels, type Order, peerName } from "../view/tunnel-list.js";
import { cell, clipped, line, type Paint, painted, paragraph, sparkline } from "./cells.js";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Choices {
  readonly order: Order;
  readonly search: string;
  /** The search is being typed. */
  readonly isTyping: boolean;
  /** How many tunnels are scrolled past. */
  readonly skipped: number;
}

const PEERS_SHOWN = 5;
const REFUSALS_SHOWN = 3;

export function screen(
  { view, history, problem }: { view: ProcessView | undefined; history: History; problem: string },
  choices: Choices,
  { columns, rows }: Size,
  now: number,
): string[] {
  if (view === undefined) return [cell(problem || "waiting for the process to answer", columns)];
  const carries = view.facts.process.role !== "ignition";
  const sums = carries ? totals(view, history, columns) : fetches(view);
  const { ready, unreadyReason } = view.facts.process;
  const why = ready ? [] : paragraph(`not ready: ${unreadyReason ?? ""}`, columns).map((each) => painted(each, "red"));
  const head = [title(view, problem, now), ...why, ...sums, ""];
  const peers = carries ? peerLines(view, columns, now) : [];
  // Two lines for tunnels, one for the keys; a cause is shown whole or not at all.
  const left = rows - head.length - peers.length - 3;
  const refusedPeers = section(...refusedPeerLines(view, columns), left);
  const refusals = [...refusedPeers, ...section(...refusalLines(view, columns), left - refusedPeers.length)];
  const keys = choices.isTyping
    ? `search: ${plainText(choices.search, 60)}▏`
    : "q quit  / search  s sort  r reverse  ↑↓ scroll";
  const room = rows - head.length - peers.length - refusals.length - 3;
  const tunnels = carries ? tunnelLines(view, choices, { columns, rows: Math.max(1, room) }, now) : [];
  const lines = [...head, ...peers, ...tunnels, ...refusals, painted(line(carries ? keys : "q quit", columns), "dim")];
  return lines.slice(0, rows).map((each) => clipped(each, columns));
}

function title({ facts }: ProcessView, problem: string, now: number): string {
  const { role, id, version, startedAt, ready, draining } = facts.process;
  const parts = [
    painted(`drawbridge ${plainText(role)}`, "bold"),
    plainText(id),
    plainText(version),
    `up ${durationText(now - startedAt)}`,
    // Why it is not has lines of its own.
    ...(ready ? [painted("ready", "green")] : []),
    ...(draining ? [painted("draining", "yellow")] : []),
    ...(facts.path?.state === "failing" ? [painted("path fails", "red")] : []),
    ...(problem === "" ? [] : [painted(plainText(problem, 60), "yellow")]),
  ];
  return parts.join("  ");
}

function totals({ facts }: ProcessView, { rates, columns }: History, width: number): string[] {
  const spark = Math.max(0, Math.min(60, width - 44));
  const sum = (name: string, now: string, all: string, values: readonly number[]) =>
    `${cell(name, 13)} ${cell(now, 12, "right")}  ${cell(all, 14)} ${painted(sparkline(values, spark), "blue")}`;
  const { totals: sums } = facts;
  const certificate = soonestEnd(facts);
  const { dialMs = null } = rates ?? {};
  return [
    sum("from targets", rateText(rates?.fromTarget), `${bytesText(sums.bytesFromTarget)} in all`, columns.fromTarget),
    sum("to targets", rateText(rates?.toTarget), `${bytesText(sums.bytesToTarget)} in all`, columns.toTarget),
    sum("tunnels", count(sums.tunnelsOpen), `${count(sums.dialsFailed)} failed`, columns.tunnels),
    line(
      `dial ${dialMs === null ? "–" : durationText(dialMs)}   new ${rates === undefined ? "–" : `${rates.dials.toFixed(1)}/s`}   waiting ${bytesText(sums.queuedBytes)}   ${certificate}`,
      width,
    ),
  ];
}

function soonestEnd({ certificates, totals: { at } }: ProcessView["facts"]): string {
  const soonest = Math.min(...certificates.map(({ notAfterAt }) => notAfterAt));
  return Number.isFinite(soonest) ? `certificates ${countdown(soonest, at).text}` : "";
}

/** An Ignition server answers and is done: nothing lasts long enough to be listed. */
function fetches({ facts }: ProcessView): string[] {
  const { payloadsServed = 0, fetchesRefused = 0 } = facts.totals;
  const sum = (name: string, value: number) => `${cell(name, 13)} ${cell(count(value), 12, "right")}`;
  return [sum("payloads", payloadsServed), sum("refused", fetchesRefused), soonestEnd(facts)];
}

function peerLines(view: ProcessView, width: number, now: number): string[] {
  const agents = [...view.agents.values()].sort((a, b) => b.tunnels - a.tunnels || a.key - b.key);
  const peers = [...agents, ...view.servers.values()];
  const what = view.facts.process.role === "server" ? "AGENTS" : "SERVERS";
  const nameWidth = Math.max(10, width - 52);
  const strategies = (view.facts.process.strategyCounts ?? []).map((each) => `${plainText(each.name)} ${each.agents}`);
  const lines = peers.slice(0, PEERS_SHOWN).map((peer) => {
    const [note, ...paint] = PEER_NOTES[peerState(peer)];
    const moved = (peer.bytesToTarget ?? 0) + (peer.bytesFromTarget ?? 0);
    const trip = peer.roundTripMs === undefined ? "" : durationText(peer.roundTripMs);
    const age = peer.connectedAt === undefined ? "" : durationText(now - peer.connectedAt);
    return [
      cell(peerId(peer), nameWidth),
      painted(cell(note, 10), ...paint),
      cell(age, 10, "right"),
      cell(trip, 8, "right"),
      cell(String(peer.tunnels ?? ""), 7, "right"),
      cell(bytesText(moved), 10, "right"),
    ].join(" ");
  });
  const rest = peers.length - lines.length;
  const heading = `${what} ${peers.length}${rest > 0 ? `, the busiest ${PEERS_SHOWN}` : ""}`;
  const split = strategies.length === 0 ? "" : `, by strategy: ${strategies.join(", ")}`;
  return [painted(line(`${heading}${split}`, width), "bold"), ...lines, ""];
}

const PEER_NOTES: Record<PeerState, [text: string, ...paints: Paint[]]> = {
  ok: [""],
  draining: ["draining", "yellow"],
  demoted: ["demoted", "yellow"],
  failing: ["path fails", "red"],
};

function tunnelLines(
  view: ProcessView,
  { order, search, skipped }: Choices,
  { columns, rows }: Size,
  now: number,
): string[] {
  const found = listTunnels(view.tunnels.values(), search, order);
  const wide = Math.max(20, columns - 58);
  const widths = [Math.ceil(wide * 0.55), Math.floor(wide * 0.45), 12, 9, 10, 10, 9];
  // Texts are on the left, numbers on the right.
  const row = (...texts: string[]): string =>
    texts.map((text, at) => cell(text, widths[at] ?? 0, at < 3 ? "left" : "right")).join(" ");
  const carrier = view.facts.process.role === "sidecar" ? "CAME IN BY" : "CARRIED BY";
  const heading = row("TARGET", carrier, "STATE", "AGE", "TO", "FROM", "WAITING");
  const lines = found
    .slice(skipped, skipped + rows - 1)
    .map((tunnel) =>
      row(
        ...[tunnel.target, peerName(tunnel), tunnel.state, durationText(now - tunnel.askedAt)],
        ...[bytesText(tunnel.bytesToTarget), bytesText(tunnel.bytesFromTarget)],
        tunnel.queuedBytes === 0 ? "" : bytesText(tunnel.queuedBytes),
      ),
    );
  const sorted = `sorted by ${order.column}${order.descending ? ", greatest first" : ""}`;
  const filter = search === "" ? "" : `, with ${plainText(search, 30)}`;
  return [
    painted(cell(`TUNNELS ${count(found.length)} of ${count(view.tunnels.size)}${filter}, ${sorted}`, columns), "bold"),
    painted(line(heading, columns), "dim"),
    ...lines.map((text) => line(text, columns)),
  ];
}

/** A heading and the entries below it, each of several lines. */
type Section = readonly [heading: string, entries: readonly (readonly string[])[]];

/** As many of the first entries as have room. */
function section(heading: string, entries: Section[1], rows: number): string[] {
  const lines = ["", painted(heading, "bold")];
  for (const entry of entries)
    if (lines.length + entry.length <= rows) lines.push(...entry);
    else break;
  return lines.length === 2 ? [] : lines;
}

function refusedPeerLines({ facts: { refusedPeers = [], totals: sums } }: ProcessView, width: number): Section {
  const entries = refusedPeers.slice(0, REFUSALS_SHOWN).map((peer) => {
    const { subject } = peer.certificate ?? {};
    const more = [peer.code, ...(subject === undefined ? [] : [`certificate of ${subject}`])].join(", ");
    return [...paragraph(refusedPeerText(peer), width), ...paragraph(more, width - 2).map((each) => `  ${each}`)];
  });
  return [`PEERS REFUSED AT TLS OR LOGIN ${count(sums.peersRefused ?? 0)}`, entries];
}

function refusalLines({ refusals, ended }: ProcessView, width: number): Section {
  const failed = ended
    .filter(({ state }) => state === "failed")
    .map(({ askedAt, marks, target, lastError = "no reason was given" }) => ({
      at: askedAt + (marks.ended ?? 0),
      target,
      why: lastError,
    }));
  const latest = [...refusals, ...failed].sort((a, b) => b.at - a.at).slice(0, REFUSALS_SHOWN);
  return [
    "REFUSED OR FAILED",
    latest.map(({ at, target, why }) => paragraph(`${timeOfDay(at)} ${target} ${why}`, width)),
  ];
}
