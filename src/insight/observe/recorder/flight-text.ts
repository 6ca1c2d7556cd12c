/** A link's last packets for a person to read. */
import { plainText } from "../../../base/text.js";
import type { FlightPacket, FlightRecord } from "../admin/contract.js";

const ARROW = { sent: "->", received: "<-" } as const;

export function flightText(flight: FlightRecord): string {
  const { key, peer, at, openedAt, closedAt, packets, last } = flight;
  const end = closedAt === undefined ? "" : `, gone since ${clockTime(closedAt)}`;
  return [
    `link ${key} with ${plainText(peer)}, since ${clockTime(openedAt)}${end}`,
    `the last ${last.length} of ${packets} packets, the newest at the bottom: seconds before ${clockTime(at)}, seconds`,
    "after the line above, -> sent, <- received",
    "",
    ...last.map((packet, index) => line(packet, last[index - 1])),
    "",
    ...(["sent", "received"] as const).map((direction) => totalsLine(flight, direction)),
    "",
  ].join("\n");
}

/** One packet without its time, e.g. `-> DATA connection 7, 16 bytes`. */
export function packetText({ direction, type, connectId, bytes, dial }: FlightPacket): string {
  const failed = type === "DIAL_RSP" && connectId === undefined;
  const details = [
    ...(dial === undefined ? [] : [`dial ${dial}`]),
    ...(connectId === undefined ? [] : [`connection ${connectId}`]),
    ...(bytes === undefined ? [] : [`${bytes} bytes`]),
    ...(failed ? ["failed"] : []),
  ];
  return `${ARROW[direction]} ${type.padEnd(13)} ${details.join(", ")}`.trimEnd();
}

function line(packet: FlightPacket, before: FlightPacket | undefined): string {
  const since = before === undefined ? "" : `+${seconds(before.agoMs - packet.agoMs)}`;
  return `${`-${seconds(packet.agoMs)}`.padStart(12)} ${since.padStart(12)}  ${packetText(packet)}`;
}

function totalsLine({ totals }: FlightRecord, direction: "sent" | "received"): string {
  const parts = totals
    .filter((total) => total.direction === direction)
    .map(({ type, packets, bytes }) => `${packets} ${type}${bytes === undefined ? "" : ` (${bytes} bytes)`}`);
  return `in all ${ARROW[direction]} ${parts.join(", ") || "nothing"}`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(6);
}

function clockTime(at: number): string {
  return new Date(at).toISOString();
}
