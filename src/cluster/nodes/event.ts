/** Events, as `kubectl describe` shows them under what they are about. */
import type { KubeObject } from "../kube/port.js";
import { nameOf } from "./objects.js";
import { secondTime } from "./token/time.js";

export interface Happening {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The API refuses more. */
const LONGEST_MESSAGE = 1024;

export function eventAbout(about: KubeObject, what: Happening, component: string, at: number): KubeObject {
  const { apiVersion, kind, metadata } = about;
  const { name, namespace } = nameOf(about);
  const time = secondTime(at);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { generateName: `${name}.`, namespace },
    involvedObject: { apiVersion, kind, namespace, name, uid: metadata?.uid },
    ...{ ...what, message: what.message.slice(0, LONGEST_MESSAGE) },
    ...{ count: 1, firstTimestamp: time, lastTimestamp: time, source: { component } },
  } as KubeObject;
}

export const eventsPath = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
