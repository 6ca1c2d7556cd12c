/** Writes the last packets of links down when a path fails and when the process crashes: few files, for the owner only. */

import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../base/clock.js";
import { causeFields, DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { createFileNow } from "../../../base/files.js";
import { RateLimit } from "../../../base/rate-limit.js";
import { redact } from "../../../base/redact/redact.js";
import { noteChannel, serverPathChecked } from "../../../tunnel/events/channels.js";
import type { FlightHistory } from "../../../tunnel/link/flight-recorder.js";
import type { FlightRecord } from "../admin/contract.js";
import { flightText, packetText } from "./flight-text.js";

/** When a hundred agents fail at once, the first ten are enough. */
const STALLS_AT_ONCE = 10;
const STALLS_PER_SECOND = 0.1;
const PACKETS_IN_LOG = 6;
/** In the file of a crash. */
const LINKS_IN_CRASH = 50;

/**
 * A few packets in the log, all that are remembered in a file, once for each series of failures. `source`: the server in
 * events; `directory`: empty, and the log has to do.
 */
export function dumpOnStall(
  source: object,
  flights: FlightHistory,
  directory: string,
  clock: Clock = systemClock,
): () => void {
  const pace = new RateLimit(clock, STALLS_PER_SECOND, STALLS_AT_ONCE);
  return serverPathChecked.subscribe(({ agentId, stream, failures, error }) => {
    if (failures !== 1 || !pace.take()) return;
    const flight = flights.find(stream);
    if (flight === undefined) return;
    const why = `nothing comes through the link any more: ${error}`;
    const { file, error: problem } = directory === "" ? {} : writeDump(directory, why, [flight]);
    const written = problem === undefined ? { file } : { error: problem.message, ...causeFields(problem) };
    const lastPackets = flight.last.slice(-PACKETS_IN_LOG).map((packet) => packetText(packet).replace(/\s+/g, " "));
    const fields = { agentId, stream, lastPackets, ...written };
    noteChannel.publish({ source, level: "warn", message: "the last packets of the link that fails", fields });
  }, source);
}

/** Only observes: the process still crashes. */
export function dumpOnCrash(flights: FlightHistory, directory: string): () => void {
  const onCrash = (error: unknown): void => {
    writeDump(directory, `the process crashed: ${redact(messageOf(error))}`, flights.records(LINKS_IN_CRASH));
  };
  process.on("uncaughtExceptionMonitor", onCrash);
  return () => process.off("uncaughtExceptionMonitor", onCrash);
}

const FILES_KEPT = 10;
const NAME = /^drawbridge-flight-[\w.-]+\.txt$/;
let written = 0;

/**
 * The file, or an error when nothing could be written. Synchronous, since a crash leaves no other time; throws
 * nothing, since a dump must not be the crash.
 */
export function writeDump(
  directory: string,
  why: string,
  flights: readonly FlightRecord[],
): { readonly file?: string; readonly error?: DrawbridgeError } {
  try {
    if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
    // The time, and a number for those of one millisecond: names sort by age.
    const stamp = new Date().toISOString().replaceAll(":", "");
    const number = String(++written).padStart(6, "0");
    const file = join(directory, `drawbridge-flight-${stamp}-${process.pid}-${number}.txt`);
    createFileNow(file, [why, "", ...flights.map(flightText)].join("\n"), 0o600);
    // The new one stays whatever the others are called: the clock may have been set back.
    const others = readdirSync(directory).filter((name) => NAME.test(name) && join(directory, name) !== file);
    for (const name of others.sort().slice(0, 1 - FILES_KEPT)) rmSync(join(directory, name), { force: true });
    return { file };
  } catch (reason) {
    const sentence = `the packets cannot be written into ${directory}: ${messageOf(reason)}`;
    return { error: new DrawbridgeError("DB_DUMP", sentence, { cause: reason }) };
  }
}
