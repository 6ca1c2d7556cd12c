/** A small pod on one node, to see that the cluster can use it: made, watched, removed. */
import { isConflict, isNotFound } from "../../kube/errors.js";
import type { KubeApi } from "../../kube/port.js";
import type { Taint } from "./node.js";
import { type Pod, podPath, podsPath } from "./pod.js";

export interface TestPodOptions {
  readonly namespace: string;
  readonly image: string;
  /** The pool's own must not keep it away. */
  readonly taints: readonly Taint[];
}

const PREFIX = "drawbridge-verify-";
/** Whatever becomes of us, it does not run for ever. */
const LONGEST_SECONDS = 900;

/** By the scheduler, as every other pod; so what keeps pods away keeps this one away, too. */
export function testPod(node: string, { image, namespace, taints }: TestPodOptions): Pod {
  const only = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  const spec = {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [only] } },
    },
    tolerations: taints.map(({ effect, key, value }) => ({
      ...{ key, effect },
      ...(value === undefined ? { operator: "Exists" } : { operator: "Equal", value }),
    })),
    containers: [
      {
        name: "verify",
        image,
        resources: { requests: { cpu: "1m", memory: "4Mi" } },
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 0,
    activeDeadlineSeconds: LONGEST_SECONDS,
  };
  const metadata = { name: `${PREFIX}${node}`, namespace, labels: { "app.kubernetes.io/name": "drawbridge-verify" } };
  return { apiVersion: "v1", kind: "Pod", metadata, spec } as Pod;
}

/** One that an earlier run left behind makes room first. */
export async function startTestPod(api: KubeApi, pod: Pod): Promise<"started" | "waiting"> {
  try {
    await api.create(podsPath(pod.metadata?.namespace ?? ""), pod);
    return "started";
  } catch (reason) {
    if (!isConflict(reason)) throw reason;
    await removeTestPod(api, pod);
    return "waiting";
  }
}

export async function removeTestPod(api: KubeApi, pod: Pod): Promise<void> {
  try {
    await api.delete(podPath(pod));
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
}

export type PodStanding = "started" | { readonly because: string };

export function podStanding({ status }: Pod): PodStanding {
  if (status?.phase === "Running" || status?.phase === "Succeeded") return "started";
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "True") {
    return { because: `no pod is scheduled on it: ${scheduled?.message ?? "the scheduler has said nothing yet"}` };
  }
  const waiting = status?.containerStatuses?.[0]?.state?.waiting;
  const why = [waiting?.reason, waiting?.message].filter(Boolean).join(": ") || "its kubelet has said nothing yet";
  return { because: `a pod is scheduled on it and does not start: ${why}` };
}
