/** Agents, or servers, as rows. */

import type { Paint } from "../../../base/colour.js";
import { sum } from "../../../base/sum.js";
import type { DialHistory, HistoryInfo } from "../../observe/admin/contract.js";
import { bytesText, durationText, shareText } from "../view/format.js";
import { peerId, peerState } from "../view/process-view.js";
import { troublesOf } from "../view/severity.js";
import type { Peer } from "./choices.js";
import type { Column } from "./columns.js";
import type { Watched } from "./screen.js";

export const seriesOf = (peer: Peer, past: HistoryInfo | undefined): DialHistory | undefined =>
  past?.peers.find(({ id }) => id === peerId(peer));

/** `3 %` of its dials of ten minutes. */
export function failureRate(series: DialHistory | undefined): string {
  const dials = sum(series?.dials ?? []);
  return dials === 0 ? "" : shareText(sum(series!.failures), dials);
}

const ms = (value: number | undefined): string => (value === undefined ? "" : durationText(value));

/** What the diagnosis says of it counts, too: a slow agent is not shown as a good one. */
function stateOf(peer: Peer, { health }: Watched): [text: string, ...paints: Paint[]] {
  const state = peerState(peer);
  if (state === "failing") return ["path fails", "red"];
  if (state !== "ok") return [state, "yellow"];
  const troubles = troublesOf(health?.causes.flatMap(({ findings }) => findings) ?? []);
  return troubles.has(peerId(peer)) ? ["slow", "yellow"] : ["ok", "green"];
}

export function peerColumns(watched: Watched, now: number): readonly Column<Peer>[] {
  const { past } = watched;
  return [
    { title: "NAME", text: peerId },
    {
      ...{ title: "STATE", width: 10 },
      text: (peer) => stateOf(peer, watched)[0],
      paint: (peer) => stateOf(peer, watched).slice(1) as Paint[],
    },
    {
      ...{ title: "AGE", width: 9, align: "right", dropped: 4 },
      text: ({ connectedAt }) => (connectedAt === undefined ? "" : durationText(now - connectedAt)),
    },
    { title: "RTT", width: 7, align: "right", text: ({ roundTripMs }) => ms(roundTripMs) },
    { title: "P50", width: 7, align: "right", dropped: 3, text: (peer) => ms(seriesOf(peer, past)?.p50Ms) },
    { title: "P99", width: 7, align: "right", dropped: 2, text: (peer) => ms(seriesOf(peer, past)?.p99Ms) },
    { title: "FAILED", width: 6, align: "right", dropped: 1, text: (peer) => failureRate(seriesOf(peer, past)) },
    { title: "TUNNELS", width: 7, align: "right", text: ({ tunnels }) => String(tunnels ?? "") },
    {
      ...{ title: "BYTES", width: 9, align: "right", dropped: 5 },
      text: ({ bytesToTarget = 0, bytesFromTarget = 0 }) => bytesText(bytesToTarget + bytesFromTarget),
    },
  ];
}
