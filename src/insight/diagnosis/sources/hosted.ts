/** The facts of a hosted control plane, from the management cluster and the hosted cluster. */
import { currentCertificates, publishedAddress } from "../../../cluster/hosted/apply/apply.js";
import type { HostedClusters } from "../../../cluster/hosted/apply/clusters.js";
import type { HostedConfig } from "../../../cluster/hosted/config/config.js";
import { hostedModel } from "../../../cluster/hosted/model/model.js";
import { AGENT_NAMESPACE, names } from "../../../cluster/hosted/model/names.js";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath, namedPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { type FactSource, unavailable } from "../check.js";
import { controlPlaneConnection, dataPlaneConnection, infrastructureReady } from "../hosted/conditions.js";
import { PROBE_LABEL, removeForgotten, type WebhookTarget } from "../hosted/webhook-probe.js";

export interface HostedWorkload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly name: string }[] } };
  };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly numberReady?: number;
    readonly desiredNumberScheduled?: number;
  };
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig: { readonly service?: WebhookTarget["service"]; readonly caBundle?: string };
    readonly sideEffects?: string;
    readonly failurePolicy?: string;
    readonly timeoutSeconds?: number;
  }[];
}

export interface HostedWebhook extends WebhookTarget {
  /** `configuration/webhook` */
  readonly name: string;
  readonly sideEffects: string | undefined;
}

export interface AggregatedApi extends KubeObject {
  readonly spec?: {
    readonly service?: { readonly name: string; readonly namespace: string } | null;
    readonly group?: string;
    readonly version?: string;
  };
}

export interface HostedControlPlane {
  readonly clusters: HostedClusters;
  readonly config: HostedConfig;
  /** The version of drawbridge. */
  readonly version: string;
}

export function hostedSource({ clusters: { hosted, management }, config, version }: HostedControlPlane): FactSource {
  const { aggregatedApis, controlPlaneNamespace: namespace, publishing } = config;
  const workload = async (api: KubeApi, kind: "Deployment" | "DaemonSet", place: string) => ({
    workload: await find<HostedWorkload>(api, namedPath(kind, { namespace: place, name: names.agent })),
  });
  return {
    hostedConfig: () => config,
    hostedApi: () =>
      hosted ?? unavailable("no kubeconfig of the hosted cluster was given", "Give --hosted-kubeconfig."),
    infrastructureReady: () => infrastructureReady(management, config),
    dataPlaneConnection: async (facts) => dataPlaneConnection(await facts.get("hostedApi")),
    controlPlaneConnection: async (facts) => controlPlaneConnection(await facts.get("hostedApi")),

    async issuedCertificates() {
      const { host } = await publishedAddress(management, namespace, publishing);
      return currentCertificates(management, hostedModel(config, { version, host }));
    },

    async apiServerDeployment() {
      const path = namedPath("Deployment", { namespace, name: names.apiServer });
      const found = await find<HostedWorkload>(management, path);
      return found ?? unavailable(`there is no Deployment ${namespace}/${names.apiServer}`);
    },

    controlPlaneAgents: () =>
      aggregatedApis.length === 0
        ? unavailable("the control plane serves no aggregated API")
        : workload(management, "Deployment", namespace),

    agents: async (facts) => workload(await facts.get("hostedApi"), "DaemonSet", AGENT_NAMESPACE),

    async webhooks(facts) {
      const api = await facts.get("hostedApi");
      await removeForgotten(api);
      const found: HostedWebhook[] = [];
      for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const) {
        const { items } = await api.list<WebhookConfiguration>(collectionPath(kind));
        const others = items.filter(({ metadata }) => metadata?.labels?.[PROBE_LABEL] === undefined);
        found.push(...others.flatMap(webhooksOf));
      }
      return found;
    },

    async apiServices(facts) {
      const { items } = await (await facts.get("hostedApi")).list<AggregatedApi>(collectionPath("APIService"));
      return items.filter(({ spec }) => spec?.service != null);
    },
  };
}

/** The webhooks that are called at a Service: those with a URL are not called through the tunnel. */
function webhooksOf({ metadata, webhooks = [] }: WebhookConfiguration): HostedWebhook[] {
  return webhooks.flatMap(({ clientConfig: { caBundle, service }, name, sideEffects, ...webhook }) => {
    const { failurePolicy = "Fail", timeoutSeconds = 10 } = webhook;
    const target = { service, caBundle, failurePolicy, timeoutSeconds };
    return service === undefined ? [] : [{ ...target, service, sideEffects, name: `${metadata?.name}/${name}` }];
  });
}
