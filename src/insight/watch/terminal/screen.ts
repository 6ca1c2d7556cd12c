/** One screenful of a process: pure, so that a test can read it. */

import { type Paint, painted } from "../../../base/colour.js";
import { plainText } from "../../../base/text.js";
import type { Health } from "../../diagnosis/health.js";
import type { FailureGroup, HistoryInfo, TunnelRow } from "../../observe/admin/contract.js";
import { bytesText, count, countdown, durationText, rateText, timeOfDay } from "../view/format.js";
import { placeOf } from "../view/headline.js";
import type { History } from "../view/history.js";
import type { ProcessView } from "../view/process-view.js";
import { refusedPeerText } from "../view/refused-peer.js";
import { peerName } from "../view/tunnel-list.js";
import { cell, clipped, fittingParts, line, paragraph, sparkline } from "./cells.js";
import { type Choices, type Lists, listsOf } from "./choices.js";
import { type Column, tableLines } from "./columns.js";
import { overlayLines } from "./overlay.js";
import { peerColumns } from "./peers.js";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What is known of the process. */
export interface Watched {
  readonly view: ProcessView | undefined;
  readonly history: History;
  /** By its own diagnosis; undefined before the first answer. */
  readonly health?: Health | undefined;
  readonly past?: HistoryInfo | undefined;
  /** Why there is nothing new at present. */
  readonly problem: string;
}

/** As many rows as there are, up to half of the screen. */
const PEERS_SHOWN = 5;
const ENTRIES_SHOWN = 3;

export function screen(watched: Watched, choices: Choices, { columns, rows }: Size, now: number): string[] {
  const { view, history, problem, past } = watched;
  if (view === undefined) return [cell(problem || "waiting for the process to answer", columns)];
  const lists = listsOf(view, choices);
  const carries = view.facts.process.role !== "ignition";
  const head = [
    ...band(watched, view, columns, now),
    ...(carries ? totals(view, history, past, columns) : fetches(view)),
    "",
  ];
  const keys = painted(line(keysLine(choices, carries), columns), "dim");
  if (choices.overlay !== undefined) {
    const over = overlayLines(choices.overlay, lists, watched, columns, now);
    return fitted([...head, ...over, "", painted(line("any key goes back", columns), "dim")], rows, columns);
  }
  const peers = carries ? peerLines(view, lists, watched, { columns, rows }, now) : [];
  // Two lines for tunnels, one for the keys; a cause is shown whole or not at all.
  const left = rows - head.length - peers.length - 3;
  const failures = section(...failureLines(view, past, columns), left);
  const below = [...failures, ...section(...refusedPeerLines(view, columns), left - failures.length)];
  const room = rows - head.length - peers.length - below.length - 1;
  const tunnels = carries ? tunnelLines(view, lists, choices, { columns, rows: Math.max(3, room) }, now) : [];
  return fitted([...head, ...peers, ...tunnels, ...below, keys], rows, columns);
}

const fitted = (lines: readonly string[], rows: number, columns: number): string[] =>
  lines.slice(0, rows).map((each) => clipped(each, columns));

function keysLine({ isTyping, search }: Choices, carries: boolean): string {
  if (isTyping) return `search: ${plainText(search, 60)}▏`;
  return carries ? "? help  q quit  Tab list  ↑↓ select  Enter details  d drain  / search  s sort" : "q quit";
}

const STATES: Record<Health["state"], Paint> = { healthy: "green", degraded: "yellow", down: "red" };

/** The answer first: how it is, who it is, and why. */
function band({ health, problem }: Watched, { facts }: ProcessView, width: number, now: number): string[] {
  const { role, id, host, pid, version, startedAt, ready, unreadyReason, draining } = facts.process;
  const parts = [
    health === undefined ? "…" : painted(health.state.toUpperCase(), "bold", STATES[health.state]),
    ready ? painted("ready", "green") : painted("not ready", "red"),
    ...(draining ? [painted("draining", "yellow")] : []),
    ...(problem === "" ? [] : [painted(plainText(problem, 60), "yellow")]),
    painted(`${plainText(role)} ${plainText(id)}`, "bold"),
    ...(host === undefined ? [] : [`on ${plainText(placeOf({ host, pid }))}`]),
    `up ${durationText(now - startedAt)}`,
    `drawbridge ${plainText(version)}`,
  ];
  const causes = health?.causes.map(({ text }) => text) ?? [];
  // Before the first answer of the diagnosis this is all that is known.
  const why = causes.length === 0 && !ready ? [`not ready: ${unreadyReason ?? ""}`] : causes;
  const paint: Paint = health?.state === "degraded" ? "yellow" : "red";
  return [
    fittingParts(parts, width),
    ...(why.length === 0 ? [] : paragraph(why.join(" · "), width).map((each) => painted(each, paint))),
  ];
}

function totals({ facts }: ProcessView, history: History, past: HistoryInfo | undefined, width: number): string[] {
  const { rates } = history;
  // Ten minutes as the process remembers them; of an older version, what was seen from here.
  const columns = past === undefined ? history.columns : pastColumns(past);
  const spark = Math.max(0, Math.min(60, width - 46));
  const sum = (name: string, now: string, all: string, values: readonly number[]) =>
    `${cell(name, 13)} ${cell(now, 12, "right")}  ${cell(all, 16)} ${painted(sparkline(values, spark), "blue")}`;
  const { totals: sums } = facts;
  const certificate = soonestEnd(facts);
  const { dialMs = null } = rates ?? {};
  const { dialsWaiting = 0 } = sums;
  const waiting =
    dialsWaiting === 0
      ? ""
      : `   ${dialsWaiting === 1 ? "1 dial waits" : `${count(dialsWaiting)} dials wait`} for an agent`;
  return [
    sum("from targets", rateText(rates?.fromTarget), `${bytesText(sums.bytesFromTarget)} in all`, columns.fromTarget),
    sum("to targets", rateText(rates?.toTarget), `${bytesText(sums.bytesToTarget)} in all`, columns.toTarget),
    sum("tunnels", count(sums.tunnelsOpen), `${count(sums.dialsFailed)} failed`, columns.tunnels),
    line(
      `dial ${dialMs === null ? "–" : durationText(dialMs)}   new ${rates === undefined ? "–" : `${rates.dials.toFixed(1)}/s`}   waiting ${bytesText(sums.queuedBytes)}${waiting}   ${certificate}`,
      width,
    ),
  ];
}

const pastColumns = ({ total: { kibFromTarget, kibToTarget, tunnels } }: HistoryInfo) => ({
  ...{ fromTarget: kibFromTarget, toTarget: kibToTarget, tunnels },
});

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

/** The rows around the selected one. */
function around<Row>(rows: readonly Row[], at: number, room: number): { shown: readonly Row[]; first: number } {
  const first = Math.max(0, Math.min(at - Math.floor(room / 2), rows.length - room));
  return { shown: rows.slice(first, first + room), first };
}

function peerLines(view: ProcessView, lists: Lists, watched: Watched, { columns, rows }: Size, now: number): string[] {
  const { peers, peer, at } = lists;
  const what = view.facts.process.role === "server" ? "AGENTS" : "SERVERS";
  const strategies = (view.facts.process.strategyCounts ?? []).map((each) => `${plainText(each.name)} ${each.agents}`);
  const room = peer === undefined ? PEERS_SHOWN : Math.max(PEERS_SHOWN, Math.floor(rows / 2) - 8);
  const { shown, first } = around(peers, peer === undefined ? 0 : at, room);
  const part = shown.length === peers.length ? "" : `, ${first + 1} to ${first + shown.length}`;
  const split = strategies.length === 0 ? "" : `, by strategy: ${strategies.join(", ")}`;
  const gone = (watched.past?.left ?? []).slice(0, ENTRIES_SHOWN).flatMap(({ id, address, leftAt, reason }) => {
    const text = `${id} (${address}) left ${durationText(now - leftAt)} ago: ${reason}`;
    return paragraph(text, columns).map((each) => painted(each, "yellow"));
  });
  const { heading, lines } = tableLines(peerColumns(watched, now), shown, columns, peer);
  return [
    painted(line(`${what} ${peers.length}${part}${split}`, columns), "bold"),
    ...(peers.length === 0 ? [] : [painted(line(heading, columns), "dim")]),
    ...lines,
    ...gone,
    "",
  ];
}

const tunnelColumns = (view: ProcessView, now: number): readonly Column<TunnelRow>[] => [
  { title: "TARGET", text: ({ target }) => target },
  { title: view.facts.process.role === "sidecar" ? "CAME IN BY" : "CARRIED BY", dropped: 3, text: peerName },
  { title: "STATE", width: 11, dropped: 1, text: ({ state }) => state },
  { title: "AGE", width: 9, align: "right", text: ({ askedAt }) => durationText(now - askedAt) },
  { title: "TO", width: 9, align: "right", text: ({ bytesToTarget }) => bytesText(bytesToTarget) },
  { title: "FROM", width: 9, align: "right", text: ({ bytesFromTarget }) => bytesText(bytesFromTarget) },
  {
    ...{ title: "WAITING", width: 9, align: "right", dropped: 2 },
    text: ({ queuedBytes }) => (queuedBytes === 0 ? "" : bytesText(queuedBytes)),
  },
];

function tunnelLines(
  view: ProcessView,
  { tunnels, tunnel, at }: Lists,
  { order, search }: Choices,
  { columns, rows }: Size,
  now: number,
): string[] {
  const { shown } = around(tunnels, tunnel === undefined ? 0 : at, rows - 2);
  const { heading, lines } = tableLines(tunnelColumns(view, now), shown, columns, tunnel);
  const sorted = `sorted by ${order.column}${order.descending ? ", greatest first" : ""}`;
  const filter = search === "" ? "" : `, with ${plainText(search, 30)}`;
  const title = `TUNNELS ${count(tunnels.length)} of ${count(view.tunnels.size)}${filter}, ${sorted}`;
  return [painted(cell(title, columns), "bold"), painted(line(heading, columns), "dim"), ...lines];
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
  const entries = refusedPeers.slice(0, ENTRIES_SHOWN).map((peer) => {
    const { subject } = peer.certificate ?? {};
    const more = [peer.code, ...(subject === undefined ? [] : [`certificate of ${subject}`])].join(", ");
    return [...paragraph(refusedPeerText(peer), width), ...paragraph(more, width - 2).map((each) => `  ${each}`)];
  });
  return [`PEERS REFUSED AT TLS OR LOGIN ${count(sums.peersRefused ?? 0)}`, entries];
}

/** By target and reason, as the process remembers them; one by one where it is of an older version. */
function failureLines(view: ProcessView, past: HistoryInfo | undefined, width: number): Section {
  if (past === undefined) return lastFailures(view, width);
  const text = ({ target, reason, count: times, lastAt }: FailureGroup): string =>
    `${times} × ${target}: ${reason} (last ${timeOfDay(lastAt)})`;
  const entries = past.failures.slice(0, ENTRIES_SHOWN).map((group) => paragraph(text(group), width));
  return ["REFUSED OR FAILED IN 10 MIN", entries];
}

function lastFailures({ refusals, ended }: ProcessView, width: number): Section {
  const failed = ended
    .filter(({ state }) => state === "failed")
    .map(({ askedAt, marks, target, lastError = "no reason was given" }) => ({
      at: askedAt + (marks.ended ?? 0),
      target,
      why: lastError,
    }));
  const latest = [...refusals, ...failed].sort((a, b) => b.at - a.at).slice(0, ENTRIES_SHOWN);
  return [
    "REFUSED OR FAILED",
    latest.map(({ at, target, why }) => paragraph(`${timeOfDay(at)} ${target} ${why}`, width)),
  ];
}
