/** One screenful of a process: pure, so that a test can read it. */
import { plainText } from "../../../base/text.js";
import { bytes, clock, count, countdown, duration, rate } from "../view/format.js";
import type { History } from "../view/history.js";
import { listTunnels, type Order, peerName } from "../view/tunnel-list.js";
import { type PeerState, peerId, peerState, type World } from "../view/world.js";
import { cell, clipped, line, type Paint, painted, sparkline } from "./cells.js";

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
  { world, history, problem }: { world: World | undefined; history: History; problem: string },
  choices: Choices,
  { columns, rows }: Size,
  now: number,
): string[] {
  if (world === undefined) return [cell(problem || "waiting for the process to answer", columns)];
  const carries = world.facts.process.role !== "ignition";
  const sums = carries ? totals(world, history, columns) : fetches(world);
  const head = [title(world, problem, now), ...sums, ""];
  const peers = carries ? peerLines(world, columns, now) : [];
  const refusals = refusalLines(world, columns);
  const keys = choices.isTyping
    ? `search: ${plainText(choices.search, 60)}▏`
    : "q quit  / search  s sort  r reverse  ↑↓ scroll";
  const room = rows - head.length - peers.length - refusals.length - 3;
  const tunnels = carries ? tunnelLines(world, choices, { columns, rows: Math.max(1, room) }, now) : [];
  const lines = [...head, ...peers, ...tunnels, ...refusals, painted(line(carries ? keys : "q quit", columns), "dim")];
  return lines.slice(0, rows).map((each) => clipped(each, columns));
}

function title({ facts }: World, problem: string, now: number): string {
  const { role, id, version, startedAt, ready, unreadyReason, draining } = facts.process;
  const state = ready ? painted("ready", "green") : painted(`not ready: ${plainText(unreadyReason ?? "")}`, "red");
  const parts = [
    painted(`drawbridge ${plainText(role)}`, "bold"),
    plainText(id),
    plainText(version),
    `up ${duration(now - startedAt)}`,
    state,
    ...(draining ? [painted("draining", "yellow")] : []),
    ...(facts.path?.state === "failing" ? [painted("path fails", "red")] : []),
    ...(problem === "" ? [] : [painted(plainText(problem, 60), "yellow")]),
  ];
  return parts.join("  ");
}

function totals({ facts }: World, { rates, columns }: History, width: number): string[] {
  const spark = Math.max(0, Math.min(60, width - 44));
  const sum = (name: string, now: string, all: string, values: readonly number[]) =>
    `${cell(name, 13)} ${cell(now, 12, "right")}  ${cell(all, 14)} ${painted(sparkline(values, spark), "blue")}`;
  const { totals: sums } = facts;
  const certificate = soonestEnd(facts);
  return [
    sum("from targets", rate(rates.fromTarget), `${bytes(sums.bytesFromTarget)} in all`, columns.fromTarget),
    sum("to targets", rate(rates.toTarget), `${bytes(sums.bytesToTarget)} in all`, columns.toTarget),
    sum("tunnels", count(sums.tunnelsOpen), `${count(sums.dialsFailed)} failed`, columns.tunnels),
    line(
      `dial ${rates.dialMs === null ? "–" : duration(rates.dialMs)}   new ${rates.dials.toFixed(1)}/s   waiting ${bytes(sums.queuedBytes)}   ${certificate}`,
      width,
    ),
  ];
}

function soonestEnd({ certificates, totals: { at } }: World["facts"]): string {
  const soonest = Math.min(...certificates.map(({ notAfterAt }) => notAfterAt));
  return Number.isFinite(soonest) ? `certificates ${countdown(soonest, at).text}` : "";
}

/** An Ignition server answers and is done: nothing lasts long enough to be listed. */
function fetches({ facts }: World): string[] {
  const { payloadsServed = 0, fetchesRefused = 0 } = facts.totals;
  const sum = (name: string, value: number) => `${cell(name, 13)} ${cell(count(value), 12, "right")}`;
  return [sum("payloads", payloadsServed), sum("refused", fetchesRefused), soonestEnd(facts)];
}

function peerLines(world: World, width: number, now: number): string[] {
  const agents = [...world.agents.values()].sort((a, b) => b.tunnels - a.tunnels || a.key - b.key);
  const peers = [...agents, ...world.servers.values()];
  const what = world.facts.process.role === "server" ? "AGENTS" : "SERVERS";
  const nameWidth = Math.max(10, width - 52);
  const lines = peers.slice(0, PEERS_SHOWN).map((peer) => {
    const [note, ...paint] = PEER_NOTES[peerState(peer)];
    const moved = (peer.bytesToTarget ?? 0) + (peer.bytesFromTarget ?? 0);
    const trip = peer.roundTripMs === undefined ? "" : duration(peer.roundTripMs);
    const age = peer.connectedAt === undefined ? "" : duration(now - peer.connectedAt);
    return [
      cell(peerId(peer), nameWidth),
      painted(cell(note, 10), ...paint),
      cell(age, 10, "right"),
      cell(trip, 8, "right"),
      cell(String(peer.tunnels ?? ""), 7, "right"),
      cell(bytes(moved), 10, "right"),
    ].join(" ");
  });
  const rest = peers.length - lines.length;
  const heading = `${what} ${peers.length}${rest > 0 ? `, the busiest ${PEERS_SHOWN}` : ""}`;
  return [painted(cell(heading, width), "bold"), ...lines, ""];
}

const PEER_NOTES: Record<PeerState, [text: string, ...paints: Paint[]]> = {
  ok: [""],
  draining: ["draining", "yellow"],
  demoted: ["demoted", "yellow"],
  failing: ["path fails", "red"],
};

function tunnelLines(
  world: World,
  { order, search, skipped }: Choices,
  { columns, rows }: Size,
  now: number,
): string[] {
  const found = listTunnels(world.tunnels.values(), search, order);
  const wide = Math.max(20, columns - 58);
  const [target, peer] = [Math.ceil(wide * 0.55), Math.floor(wide * 0.45)];
  const heading = [
    cell("TARGET", target),
    cell(world.facts.process.role === "sidecar" ? "CAME IN BY" : "CARRIED BY", peer),
    cell("STATE", 12),
    cell("AGE", 9, "right"),
    cell("TO", 10, "right"),
    cell("FROM", 10, "right"),
    cell("WAITING", 9, "right"),
  ].join(" ");
  const lines = found
    .slice(skipped, skipped + rows - 1)
    .map((tunnel) =>
      [
        cell(tunnel.target, target),
        cell(peerName(tunnel), peer),
        cell(tunnel.state, 12),
        cell(duration(now - tunnel.askedAt), 9, "right"),
        cell(bytes(tunnel.bytesToTarget), 10, "right"),
        cell(bytes(tunnel.bytesFromTarget), 10, "right"),
        cell(tunnel.queuedBytes === 0 ? "" : bytes(tunnel.queuedBytes), 9, "right"),
      ].join(" "),
    );
  const sorted = `sorted by ${order.column}${order.descending ? ", greatest first" : ""}`;
  const filter = search === "" ? "" : `, with ${plainText(search, 30)}`;
  return [
    painted(
      cell(`TUNNELS ${count(found.length)} of ${count(world.tunnels.size)}${filter}, ${sorted}`, columns),
      "bold",
    ),
    painted(line(heading, columns), "dim"),
    ...lines.map((text) => line(text, columns)),
  ];
}

function refusalLines({ refusals, ended }: World, width: number): string[] {
  const failed = ended
    .filter(({ state }) => state === "failed")
    .map(({ askedAt, marks, target, lastError = "no reason was given" }) => ({
      at: askedAt + (marks.ended ?? 0),
      target,
      why: lastError,
    }));
  const latest = [...refusals, ...failed].sort((a, b) => b.at - a.at).slice(0, REFUSALS_SHOWN);
  if (latest.length === 0) return [];
  const lines = latest.map(({ at, target, why }) => cell(`${clock(at)} ${target} ${why}`, width).trimEnd());
  return ["", painted(cell("REFUSED OR FAILED", width), "bold"), ...lines];
}
