/**
 * The record of everything that a bridge makes or may have made on this host, written before it is made. A process killed at any
 * point leaves a record that names at least all it left.
 */

import { posix } from "node:path";
import { DrawbridgeError, messageOf, reasonOf } from "../../../base/errors/error.js";
import type { AddressChoice } from "../address/choose.js";
import { familyOf } from "../address/ip.js";
import { type BridgeThing, createdObjects } from "../model/created.js";
import { type BridgeModel, type BridgeOptions, bridgeModel } from "../model/model.js";
import { KUBEADM_MANIFEST } from "../model/names.js";
import { HostFiles } from "./files.js";
import type { Host } from "./host.js";

export const DEFAULT_STATE_DIRECTORY = "/var/lib/drawbridge-bootstrap";

/** How the kube-apiserver comes to its flag, and how it loses it again. */
export type SettingMethod =
  /** Somebody does it. */
  | { readonly by: "hand" }
  /** `edit` names the copy of the original, once it was changed. */
  | { readonly by: "manifest"; readonly manifest: string; readonly edit?: { readonly backup: string } }
  | { readonly by: "command"; readonly apply: string; readonly restore: string | undefined };

export interface BridgeRecord {
  readonly version: 1;
  /** The model is made from these again. */
  readonly options: BridgeOptions;
  readonly kubeconfig: string;
  /** Of the kubeconfig; missing or empty: its current one. */
  readonly context?: string;
  /** The address as it was chosen before the certificates were made. */
  readonly address?: Pick<AddressChoice, "target" | "sans" | "source">;
  readonly setting: SettingMethod;
  readonly madeAt: string;
  /** Things, and when each was about to be made, ISO 8601. */
  readonly opened: readonly { readonly thing: BridgeThing; readonly at: string }[];
}

export class RecordKeeper {
  readonly directory: string;
  readonly #host: Host;
  #record: BridgeRecord;

  private constructor(host: Host, directory: string, record: BridgeRecord) {
    this.#host = host;
    this.directory = directory;
    this.#record = record;
  }

  get record(): BridgeRecord {
    return this.#record;
  }

  get model(): BridgeModel {
    return bridgeModel(this.#record.options);
  }

  file(name: string): string {
    return `${this.directory}/${name}`;
  }

  /** Undefined when no bridge was begun here. */
  static async find(host: Host, directory: string): Promise<RecordKeeper | undefined> {
    const record = await readBridgeRecord(host.files, directory);
    return record && new RecordKeeper(host, directory, record);
  }

  static async begin(
    host: Host,
    directory: string,
    start: Pick<BridgeRecord, "options" | "kubeconfig" | "context" | "setting">,
  ): Promise<RecordKeeper> {
    const madeAt = new Date(host.date()).toISOString();
    const keeper = new RecordKeeper(host, directory, { version: 1, ...start, madeAt, opened: [] });
    await asRecordError(async () => {
      // One that is there already may be somebody else's; then its mode must not be changed either.
      if ((await host.files.status(directory)) !== undefined) await host.files.requireTrustedDirectory(directory);
      await host.files.makeDirectory(directory, 0o700);
      await host.files.requireTrustedDirectory(directory);
    });
    await keeper.change({});
    return keeper;
  }

  /** Before any of it is made. Things that are known already are not written again. */
  async willOpen(things: readonly BridgeThing[]): Promise<void> {
    const known = new Set(this.#record.opened.map(({ thing }) => thingName(thing)));
    const added = things.filter((thing) => !known.has(thingName(thing)) && known.add(thingName(thing)));
    if (added.length === 0) return;
    const at = new Date(this.#host.date()).toISOString();
    await this.change({ opened: [...this.#record.opened, ...added.map((thing) => ({ thing, at }))] });
  }

  async change(part: Partial<BridgeRecord>): Promise<void> {
    this.#record = { ...this.#record, ...part };
    const text = `${JSON.stringify(this.#record, undefined, 2)}\n`;
    await asRecordError(() => this.#host.files.write(recordFile(this.directory), text, 0o600));
  }
}

export function recordFile(directory: string): string {
  return `${directory}/bridge.json`;
}

/** Teardown empties the directory, so a chosen one must be recognisable as the bridge's own. */
export function checkStateDirectory(path: string): string {
  if (/^(\/[\w.-]+)+$/.test(path) && !/\/\.{1,2}(\/|$)/.test(path) && /drawbridge[\w.-]*$/.test(path)) return path;
  const why = "it is emptied at teardown, so it must be an absolute path whose last part contains drawbridge";
  throw new DrawbridgeError("DB_FLAG_VALUE", `The state directory ${JSON.stringify(path)} cannot be used: ${why}.`);
}

/** Undefined when no bridge was begun there. Throws DB_BRIDGE_RECORD. */
export async function readBridgeRecord(files: HostFiles, directory: string): Promise<BridgeRecord | undefined> {
  const path = recordFile(directory);
  const text = await asRecordError(() => files.readTrusted(path));
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as Partial<BridgeRecord> | null;
    if (record?.version !== 1) throw new Error(`its version is ${JSON.stringify(record?.version)}, not 1`);
    const { options, setting, opened, kubeconfig } = record;
    if (!options || !setting || typeof kubeconfig !== "string" || !Array.isArray(opened))
      throw new Error("parts of it are missing");
    const address = record.address ?? (await formerAddress(files, bridgeModel(options)));
    if (address !== undefined && ![address.target, ...(address.sans ?? [""])].every((each) => familyOf(each)))
      throw new Error("its address is not an IP address");
    // What it names gets removed, so it has to describe a bridge that could be made.
    requireOwnThings(record as BridgeRecord, bridgeModel(options), directory);
    return { ...(record as BridgeRecord), ...(address && { address }) };
  } catch (reason) {
    if (isUntrusted(reason)) throw reason;
    throw recordError(`${path} cannot be used: ${reasonOf(reason)}.`, reason);
  }
}

/** Earlier versions kept it beside the configuration. */
async function formerAddress(files: HostFiles, { paths }: BridgeModel): Promise<BridgeRecord["address"]> {
  const text = await files.readTrusted(`${posix.dirname(paths.egressConfig.host)}/bridge-address.json`);
  return text === undefined ? undefined : (JSON.parse(text) as BridgeRecord["address"]);
}

async function asRecordError<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (reason) {
    if (isUntrusted(reason)) throw reason;
    throw recordError(`The bridge's record cannot be used: ${messageOf(reason)}`, reason);
  }
}

function isUntrusted(reason: unknown): boolean {
  return reason instanceof DrawbridgeError && reason.code === "DB_RECORD_UNTRUSTED";
}

function recordError(sentence: string, cause: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_BRIDGE_RECORD", sentence, { cause });
}

/** The same text for the same thing. */
export function thingName(thing: BridgeThing): string {
  switch (thing.type) {
    case "object":
      return `${thing.kind} ${thing.namespace === undefined ? "" : `${thing.namespace}/`}${thing.name}`;
    case "setting":
      return `kube-apiserver --${thing.flag}=${thing.value}`;
    case "unit":
      return `unit ${thing.name} (${thing.path})`;
    case "process":
      return `server process on ${thing.socket}`;
    case "parent":
      return `directory ${thing.path}, if empty`;
    case "static-pod":
      return `static pod ${thing.path}`;
    default:
      return `${thing.type} ${thing.path}`;
  }
}

/**
 * A record may name nothing but what `up` makes of the same options. Throws DB_RECORD_UNTRUSTED: one with anything else
 * in it was not written by `up`.
 */
function requireOwnThings({ opened, setting }: BridgeRecord, model: BridgeModel, directory: string): void {
  const foreign = (name: string): DrawbridgeError => {
    const sentence = `${recordFile(directory)} is not believed: it names ${name.slice(0, 200)}, which up does not make.`;
    return new DrawbridgeError("DB_RECORD_UNTRUSTED", sentence);
  };
  const own = ownNames(model);
  for (const { thing } of opened) {
    const name = typeof thing === "object" && thing !== null ? thingName(thing) : String(thing);
    if (!own.has(name)) throw foreign(name);
  }
  if (setting.by !== "manifest") return;
  const { manifest, edit } = setting;
  if (manifest !== posix.join(posix.dirname(model.paths.staticPod), KUBEADM_MANIFEST))
    throw foreign(`the manifest ${manifest}`);
  if (edit !== undefined && edit.backup !== `${directory}/${KUBEADM_MANIFEST}`)
    throw foreign(`the backup ${edit.backup}`);
}

function ownNames(model: BridgeModel): Set<string> {
  const made = createdObjects(model);
  const parents = made.flatMap((thing) => ("path" in thing ? directoriesAbove(thing.path) : []));
  const things = [...made, ...parents.map((path): BridgeThing => ({ type: "parent", path }))];
  return new Set(things.map(thingName));
}

/** All but the root. */
function directoriesAbove(path: string): string[] {
  const above = posix.dirname(path);
  return above === "/" || above === "." ? [] : [...directoriesAbove(above), above];
}

/** What `up` wrote down on this host, for commands that only look. `given`: somebody named the directory, so a record must be there; otherwise it may as well be unreadable. */
export async function recordedHere(directory: string, given: boolean): Promise<BridgeRecord | undefined> {
  const record = await readBridgeRecord(new HostFiles(), directory).catch((reason: unknown) => {
    if (given) throw reason;
    return undefined;
  });
  if (record === undefined && given)
    throw new DrawbridgeError("DB_BRIDGE_RECORD", `No bridge is recorded in ${directory}.`);
  return record;
}
