/** The test webhook's objects in the cluster: made, waited for, removed. */
import { CheckFailure } from "../../../../base/check.js";
import { isNotFound, KubeApiError } from "../../../kube/errors.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import { type Condition, isTrue } from "../checks/conditions.js";
import { type TestObject, testCollections, testSelector } from "./objects.js";

interface Pod extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly {
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
    }[];
  };
}

const POLL_MS = 500;
/** Removal has its own time: it is due also when the test's is over. */
const REMOVAL_MS = 20_000;

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { setTimeout: wait } = await import("node:timers/promises");
  await wait(ms, undefined, { signal });
}

export async function create(api: KubeApi, { collection, object }: TestObject, signal: AbortSignal): Promise<void> {
  await api.create(collection, object, { signal });
}

/** A kubelet tries such things again for ever. */
const HOPELESS = /^(Err|Invalid|ImagePullBackOff|Create\w*Error|RunContainerError|CrashLoopBackOff)/;

export async function untilReady(api: KubeApi, path: string, image: string, signal: AbortSignal): Promise<void> {
  for (let pod: Pod | undefined; ; await pause(POLL_MS, signal).catch(() => undefined)) {
    if (signal.aborted) throw new CheckFailure(`its pod is not ready in time: ${stateOf(pod)}`, podRemedy(image));
    pod = await api.get<Pod>(path, { signal });
    if (isTrue(pod.status?.conditions, "Ready")) return;
    const { reason = "", message = "" } = waitingOf(pod);
    if (HOPELESS.test(reason)) throw new CheckFailure(`its pod does not start: ${reason} ${message}`, podRemedy(image));
  }
}

function podRemedy(image: string): string {
  return `Give drawbridge's own image, which every node can pull or has, with --test-image (tried: ${image}).`;
}

function waitingOf(pod: Pod | undefined) {
  return pod?.status?.containerStatuses?.[0]?.state?.waiting ?? {};
}

function stateOf(pod: Pod | undefined): string {
  const unscheduled = pod?.status?.conditions?.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  return unscheduled?.message ?? waitingOf(pod).reason ?? pod?.status?.phase ?? "unknown";
}

/**
 * Removes whatever a test left in the cluster, this one or an earlier one that was killed. Gives the paths of what is
 * still there; never throws, and never waits long.
 */
export async function removeAll(api: KubeApi, namespace: string): Promise<string[]> {
  const signal = AbortSignal.timeout(REMOVAL_MS);
  const left = new Set<string>();
  const stuck = new Set<string>();
  for (const collection of testCollections(namespace)) {
    const paths = await pathsIn(api, collection, signal).catch(() => undefined);
    // Unknown is not gone.
    if (paths === undefined) stuck.add(`${collection}?labelSelector=${testSelector}`);
    for (const path of paths ?? []) left.add(path);
  }
  while (left.size > 0 && !signal.aborted) {
    for (const path of left) {
      const state = await remove(api, path, signal);
      if (state !== "going") left.delete(path);
      if (state === "refused") stuck.add(path);
    }
    if (left.size > 0) await pause(POLL_MS, signal).catch(() => undefined);
  }
  return [...stuck, ...left];
}

/** Asked again it says whether the object is still on its way out. */
async function remove(api: KubeApi, path: string, signal: AbortSignal): Promise<"gone" | "going" | "refused"> {
  try {
    await api.delete(path, { signal });
    return "going";
  } catch (reason) {
    if (isNotFound(reason)) return "gone";
    return reason instanceof KubeApiError && (reason.status === 401 || reason.status === 403) ? "refused" : "going";
  }
}

async function pathsIn(api: KubeApi, collection: string, signal: AbortSignal): Promise<string[]> {
  const { items } = await api.list<KubeObject>(collection, { labelSelector: testSelector, signal });
  return items.map(({ metadata }) => `${collection}/${metadata?.name}`);
}
