/** What `up` wrote down on this host, for commands that only look. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { HostFiles } from "./files.js";
import { type BridgeRecord, readBridgeRecord } from "./record.js";

/** `given`: somebody named the directory, so a record must be there; otherwise it may as well be unreadable. */
export async function recordedHere(directory: string, given: boolean): Promise<BridgeRecord | undefined> {
  const record = await readBridgeRecord(new HostFiles(), directory).catch((reason: unknown) => {
    if (given) throw reason;
    return undefined;
  });
  if (record === undefined && given)
    throw new DrawbridgeError("DB_BRIDGE_RECORD", `No bridge is recorded in ${directory}.`);
  return record;
}
