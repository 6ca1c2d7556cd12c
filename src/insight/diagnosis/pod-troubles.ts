/** Why pods do not run: the words of their containers, and the last warning that the cluster recorded about each. */
import { messageOf } from "../../base/errors/error.js";
import { collectionPath } from "../../cluster/kube/paths.js";
import { isReady, type Pod } from "../../cluster/kube/pods.js";
import type { KubeApi, KubeObject } from "../../cluster/kube/port.js";
import { nameOf, pathOf } from "../../cluster/nodes/objects.js";

interface KubeEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  /** Set instead of the other two by programs that use the newer API for events. */
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
}

/** One line or more for each pod that is not Ready. An event that cannot be read is said, and takes nothing away. */
export async function podTroubles(api: KubeApi, pods: readonly Pod[]): Promise<string[]> {
  const waiting = pods.filter((pod) => !isReady(pod));
  const namespaces = [...new Set(waiting.map((pod) => nameOf(pod).namespace))];
  const found = await Promise.all(
    namespaces.map(async (namespace) => [namespace, await warnings(api, namespace)] as const),
  );
  const events = new Map(found);
  return waiting.flatMap((pod) => {
    const { name, namespace } = nameOf(pod);
    const recorded = events.get(namespace);
    const said = typeof recorded === "string" ? recorded : lastWarning(recorded ?? [], name);
    const lines = [...containerTroubles(pod), ...(said === undefined ? [] : [said])];
    return (lines.length === 0 ? [`is ${pod.status?.phase ?? "unknown"} and not Ready`] : lines).map(
      (line) => `pod ${pathOf({ namespace, name })}: ${line}`,
    );
  });
}

/** Warnings about pods; a sentence when they cannot be read. */
async function warnings(api: KubeApi, namespace: string): Promise<readonly KubeEvent[] | string> {
  try {
    const path = collectionPath("Event", namespace);
    const { items } = await api.list<KubeEvent>(path, { fieldSelector: "type=Warning,involvedObject.kind=Pod" });
    return items.filter(({ involvedObject, type }) => type === "Warning" && involvedObject?.kind === "Pod");
  } catch (reason) {
    return `its events could not be read: ${messageOf(reason)}`;
  }
}

function lastWarning(events: readonly KubeEvent[], pod: string): string | undefined {
  const own = events.filter(({ involvedObject }) => involvedObject?.name === pod);
  const [last] = own.sort((a, b) => timeOf(b).localeCompare(timeOf(a)));
  if (last === undefined) return undefined;
  const count = last.series?.count ?? last.count ?? 1;
  return `${last.reason}${count > 1 ? ` (${count} times)` : ""}: ${last.message}`;
}

function timeOf({ eventTime, lastTimestamp, series }: KubeEvent): string {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? "";
}

/** Waiting for these is no reason of its own: what they wait for is in the events. */
const PLAIN_WAITS = ["ContainerCreating", "PodInitializing"];

function containerTroubles({ status }: Pod): string[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.flatMap(({ lastState, name, restartCount = 0, state }) => {
    const restarts = restartCount > 0 ? `, ${restartCount} restarts` : "";
    const { message, reason } = state?.waiting ?? {};
    if (reason !== undefined && !PLAIN_WAITS.includes(reason)) {
      const exit = lastState?.terminated?.exitCode;
      const ended = exit === undefined ? "" : `, ended with ${exit} before`;
      return [`container ${name} waits: ${reason}${restarts}${ended}${message ? `: ${message}` : ""}`];
    }
    const ended = state?.terminated;
    return ended?.exitCode ? [`container ${name} ended with ${ended.exitCode} (${ended.reason})${restarts}`] : [];
  });
}
