/** What makes or removes the machine of a worker, by its provider. */
import { messageOf } from "../../../base/errors/error.js";
import { renderCommand, runCommand } from "./command-line.js";
import { gcloudCreate, gcloudDelete } from "./gcloud.js";
import type { Worker } from "./worker.js";

type Verb = "create" | "delete";

/** Empty where people do it. */
export function machineCommand(verb: Verb, worker: Worker, userData: string): string[] {
  if (worker.provider === "gcloud") return verb === "create" ? gcloudCreate(worker, userData) : gcloudDelete(worker);
  if (worker.provider !== "command") return [];
  return renderCommand(verb === "create" ? worker.createCommand : worker.deleteCommand, worker, userData);
}

/** Somebody was killed after the machine was made, or was gone, and before that was written down. */
const alreadyDone: Readonly<Record<Verb, RegExp>> = { create: /already exists/, delete: /was not found/ };

export async function runMachineCommand(verb: Verb, worker: Worker, command: readonly string[]): Promise<void> {
  try {
    await runCommand(worker.name, command);
  } catch (reason) {
    if (worker.provider === "gcloud" && alreadyDone[verb].test(messageOf(reason))) return;
    throw reason;
  }
}
