/**
 * Lets a kube-apiserver call webhooks for nothing but one ConfigMap of ours: a configuration that selects it by a label, and
 * its creation as a dry run, which stores nothing.
 */
import { pause, systemClock } from "../../base/clock.js";
import type { KubeManifest } from "./apply.js";
import { kubeManifest } from "./builders.js";
import { collectionPath } from "./paths.js";
import type { KubeApi, KubeObject } from "./port.js";

export interface AdmissionProbe {
  /** Of the configuration and of the ConfigMap. */
  readonly name: string;
  /** Label of both; its value is different each time. */
  readonly label: string;
  readonly id: string;
  /** Of the ConfigMap. */
  readonly namespace: string;
}

type ProbedWebhook = Readonly<{
  name: string;
  clientConfig: object;
  timeoutSeconds: number;
  namespaceSelector?: object;
}>;

/** The kube-apiserver calls the webhooks in this order. */
export function probeConfiguration(
  { name, label, id }: AdmissionProbe,
  webhooks: readonly ProbedWebhook[],
  metadata: { readonly labels?: object; readonly ownerReferences?: readonly object[] } = {},
): KubeManifest {
  const common = {
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
    objectSelector: { matchLabels: { [label]: id } },
    failurePolicy: "Fail",
    sideEffects: "None",
    admissionReviewVersions: ["v1", "v1beta1"],
  };
  return kubeManifest(
    "MutatingWebhookConfiguration",
    { ...metadata, name, labels: { [label]: id, ...metadata.labels } },
    { webhooks: webhooks.map((webhook) => ({ ...common, ...webhook })) },
  );
}

/** A kube-apiserver learns of a new configuration by a watch. */
export const IN_FORCE_MS = 20_000;
const POLL_MS = 250;
/** Longer than any webhook may take. */
const REQUEST_MS = 45_000;

/** Creates the ConfigMap until `read` has a result; undefined when the configuration is not in force in time. */
export async function probeAdmission<T>(
  api: KubeApi,
  { name, label, id, namespace }: AdmissionProbe,
  read: (create: () => Promise<KubeObject>) => Promise<T | undefined>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T | undefined> {
  const object = kubeManifest("ConfigMap", { name, namespace, labels: { [label]: id } });
  const path = collectionPath("ConfigMap", namespace);
  const late = AbortSignal.timeout(IN_FORCE_MS);
  for (;;) {
    signal.throwIfAborted();
    const result = await read(() =>
      api.create<KubeObject>(path, object, { dryRun: true, signal, timeoutMs: REQUEST_MS }),
    );
    if (result !== undefined || late.aborted) return result;
    await pause(systemClock, POLL_MS, signal);
  }
}
