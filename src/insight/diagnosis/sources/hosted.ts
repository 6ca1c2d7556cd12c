/** The facts of a hosted control plane, from the management cluster and the hosted cluster. */
import { currentCertificates, publishedAddress } from "../../../cluster/hosted/apply/apply.js";
import type { HostedClusters } from "../../../cluster/hosted/apply/clusters.js";
import type { HostedConfig } from "../../../cluster/hosted/config/config.js";
import { hostedModel } from "../../../cluster/hosted/model/model.js";
import { AGENT_NAMESPACE, names } from "../../../cluster/hosted/model/names.js";
import { find } from "../../../cluster/kube/objects.js";
import { namedPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { type FactSource, unavailable } from "../check.js";
import { controlPlaneConnection, dataPlaneConnection, infrastructureReady } from "../hosted/conditions.js";
import { PROBE_LABEL, removeForgotten } from "../hosted/webhook-probe.js";
import { listApiServices } from "../rehearsal/api-services.js";
import { listWebhooks } from "../rehearsal/webhooks.js";

export interface HostedWorkload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly name: string }[] } };
  };
  readonly status?: Readonly<Partial<Record<"readyReplicas" | "numberReady" | "desiredNumberScheduled", number>>>;
}

export interface HostedControlPlane {
  readonly clusters: HostedClusters;
  readonly config: HostedConfig;
  /** The version of drawbridge. */
  readonly version: string;
}

export function hostedSource({ clusters: { hosted, management }, config, version }: HostedControlPlane): FactSource {
  const { aggregatedApis, controlPlaneNamespace: namespace, publishing } = config;
  const workload = async (api: KubeApi, kind: "Deployment" | "DaemonSet", place: string, name: string) => ({
    workload: await find<HostedWorkload>(api, namedPath(kind, { namespace: place, name })),
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
      const { workload: found } = await workload(management, "Deployment", namespace, names.apiServer);
      return found ?? unavailable(`there is no Deployment ${namespace}/${names.apiServer}`);
    },

    controlPlaneAgents: () =>
      aggregatedApis.length === 0
        ? unavailable("the control plane serves no aggregated API")
        : workload(management, "Deployment", namespace, names.agent),

    agents: async (facts) => workload(await facts.get("hostedApi"), "DaemonSet", AGENT_NAMESPACE, names.agent),

    async webhooks(facts) {
      const api = await facts.get("hostedApi");
      await removeForgotten(api);
      const found = await listWebhooks(api, facts.signal);
      return found.filter(({ configuration }) => configuration?.labels?.[PROBE_LABEL] === undefined);
    },

    apiServices: async (facts) => listApiServices(await facts.get("hostedApi"), facts.signal),
  };
}
