/** What a record may name: nothing but what `up` makes of the same options. */
import { posix } from "node:path";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { createdObjects } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { nameOf, type Opened } from "./opened.js";
import type { BridgeRecord } from "./record.js";
import { KUBEADM_MANIFEST } from "./survey.js";

interface Origin {
  readonly model: BridgeModel;
  /** The record's file and its directory. */
  readonly path: string;
  readonly directory: string;
}

/** Throws DB_RECORD_UNTRUSTED: a record with anything else in it was not written by `up`. */
export function requireOwnThings({ opened, setting }: BridgeRecord, { model, path, directory }: Origin): void {
  const own = ownNames(model);
  for (const { thing } of opened) {
    const name = typeof thing === "object" && thing !== null ? nameOf(thing) : String(thing);
    if (!own.has(name)) throw foreign(path, name);
  }
  if (setting.by !== "manifest") return;
  const manifest = posix.join(posix.dirname(model.paths.staticPod), KUBEADM_MANIFEST);
  if (setting.manifest !== manifest) throw foreign(path, `the manifest ${setting.manifest}`);
  const { edit } = setting;
  if (edit !== undefined && edit.backup !== `${directory}/${KUBEADM_MANIFEST}`)
    throw foreign(path, `the backup ${edit.backup}`);
  if (edit !== undefined && !isMode(edit.mode)) throw foreign(path, `the mode ${edit.mode}`);
}

function ownNames(model: BridgeModel): Set<string> {
  const made = createdObjects(model);
  const parents = made.flatMap((thing) => ("path" in thing ? directoriesAbove(thing.path) : []));
  const things: Opened[] = [
    ...made,
    { type: "process", socket: model.paths.socket.server },
    ...parents.map((path): Opened => ({ type: "parent", path })),
  ];
  return new Set(things.map(nameOf));
}

/** All but the root. */
function directoriesAbove(path: string): string[] {
  const above = posix.dirname(path);
  return above === "/" || above === "." ? [] : [...directoriesAbove(above), above];
}

function isMode(mode: unknown): boolean {
  return Number.isInteger(mode) && (mode as number) >= 0 && (mode as number) <= 0o777;
}

function foreign(path: string, name: string): DrawbridgeError {
  return new DrawbridgeError(
    "DB_RECORD_UNTRUSTED",
    `${path} is not believed: it names ${name.slice(0, 200)}, which up does not make.`,
  );
}
