/** Entries of a config as payloads use them. */
import { dataUrlOf } from "../../ignition/data/data-url.js";
import type { Config, FileEntry, Unit } from "../../ignition/model/config.js";
import { NEWEST, versionOf } from "../../ignition/model/spec.js";

/** Over whatever the machine's image or an earlier config has there. */
export function file(path: string, content: string, mode = 0o644): FileEntry {
  return { path, mode, overwrite: true, contents: { source: dataUrlOf(content) } };
}

export function enabledUnit(name: string, contents: string): Unit {
  return { name, enabled: true, contents };
}

export interface Parts {
  readonly files?: readonly FileEntry[];
  readonly units?: readonly Unit[];
  /** Of the user core. */
  readonly sshKeys?: readonly string[];
}

/** Lists that would be empty are left out, as the model wants it. */
export function configOf({ files = [], sshKeys = [], units = [] }: Parts): Config {
  return {
    ignition: { version: versionOf(NEWEST) },
    ...(files.length === 0 ? {} : { storage: { files } }),
    ...(units.length === 0 ? {} : { systemd: { units } }),
    ...(sshKeys.length === 0 ? {} : { passwd: { users: [{ name: "core", sshAuthorizedKeys: sshKeys }] } }),
  };
}
