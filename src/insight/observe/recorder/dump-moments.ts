/** Writes the last packets of links down when a path fails and when the process crashes. */

import { type Clock, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { RateLimit } from "../../../base/rate-limit.js";
import { redact } from "../../../base/redact/redact.js";
import { note, serverPathChecked } from "../../../tunnel/events/channels.js";
import type { FlightHistory } from "../../../tunnel/link/flight-recorder.js";
import type { FlightRecord } from "../admin/contract.js";
import type { DumpFiles } from "./dump-files.js";
import { packetText } from "./flight-text.js";

/** When a hundred agents fail at once, the first ten are enough. */
const STALLS_AT_ONCE = 10;
const STALLS_PER_SECOND = 0.1;
const PACKETS_IN_LOG = 6;
/** In the file of a crash. */
const LINKS_IN_CRASH = 50;

export interface DumpParts {
  /** The server or agent in events. */
  readonly source: object;
  readonly flights: FlightHistory;
  /** Undefined: the log has to do. */
  readonly files: DumpFiles | undefined;
}

/** A few packets in the log, all that are remembered in a file, once for each series of failures. */
export function dumpOnStall({ source, flights, files }: DumpParts, clock: Clock = systemClock): () => void {
  const pace = new RateLimit(clock, STALLS_PER_SECOND, STALLS_AT_ONCE);
  return serverPathChecked.subscribe(({ agentId, stream, failures, error }) => {
    if (failures !== 1 || !pace.take()) return;
    const flight = flights.find(stream);
    if (flight === undefined) return;
    const written = files?.write(`nothing comes through the link any more: ${error}`, [flight]);
    const fields = { agentId, stream, lastPackets: lastPackets(flight), ...written };
    note.publish({ source, level: "warn", message: "the last packets of the link that fails", fields });
  }, source);
}

function lastPackets({ last }: FlightRecord): string[] {
  return last.slice(-PACKETS_IN_LOG).map((packet) => packetText(packet).replace(/\s+/g, " "));
}

/** Only observes: the process still crashes. */
export function dumpOnCrash({ flights, files }: DumpParts): () => void {
  if (files === undefined) return () => {};
  const onCrash = (error: unknown): void => {
    files.write(`the process crashed: ${redact(messageOf(error))}`, flights.records(LINKS_IN_CRASH));
  };
  process.on("uncaughtExceptionMonitor", onCrash);
  return () => process.off("uncaughtExceptionMonitor", onCrash);
}
