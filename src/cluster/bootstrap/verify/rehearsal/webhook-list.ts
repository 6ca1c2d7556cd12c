/** The admission webhooks of a cluster, as their configurations tell. */
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import type { ServiceReference } from "./resolve.js";

export interface Rule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
}

export interface AdmissionWebhook {
  readonly name: string;
  readonly clientConfig: { readonly url?: string; readonly service?: ServiceReference; readonly caBundle?: string };
  readonly rules?: readonly Rule[];
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly admissionReviewVersions?: readonly string[];
}

export type ConfigurationKind = "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration";

export interface ConfiguredWebhook extends AdmissionWebhook {
  readonly kind: ConfigurationKind;
  readonly configuration: string;
  /** Its place in the configuration. */
  readonly index: number;
}

interface Configuration extends KubeObject {
  readonly webhooks?: readonly AdmissionWebhook[] | null;
}

const resources: Readonly<Record<string, ConfigurationKind>> = {
  mutatingwebhookconfigurations: "MutatingWebhookConfiguration",
  validatingwebhookconfigurations: "ValidatingWebhookConfiguration",
};

/** In the order in which a kube-apiserver calls them: mutating ones first. */
export async function listWebhooks(api: KubeApi, signal: AbortSignal): Promise<ConfiguredWebhook[]> {
  const found: ConfiguredWebhook[] = [];
  for (const [resource, kind] of Object.entries(resources)) {
    const { items } = await api.list<Configuration>(`/apis/admissionregistration.k8s.io/v1/${resource}`, { signal });
    for (const { metadata, webhooks } of items) {
      const configuration = metadata?.name ?? "";
      found.push(...(webhooks ?? []).map((webhook, index) => ({ ...webhook, kind, configuration, index })));
    }
  }
  return found;
}

/** By the webhook's own name or by that of its configuration. */
export function isNamed({ name, configuration }: ConfiguredWebhook, wanted: string): boolean {
  return wanted === name || wanted === configuration;
}
