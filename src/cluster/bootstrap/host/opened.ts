/** Everything that a bridge makes on its host and in the cluster, as its record and its receipt name it. */
import type { Created } from "../model/created.js";

/** A server that nobody but us keeps; found by its socket, which no other process names. */
export interface OpenedProcess {
  readonly type: "process";
  readonly socket: string;
}

/** A directory that was missing above one of the bridge's own; it goes when nothing else is in it. */
export interface OpenedParent {
  readonly type: "parent";
  readonly path: string;
}

export type Opened = Created | OpenedProcess | OpenedParent;

/** The same text for the same thing. */
export function nameOf(thing: Opened): string {
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
