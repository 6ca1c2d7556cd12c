/** Questions that reading alone answers. */
import { type Check, fail, type Outcome, pass, skip } from "../../../base/check.js";
import { find } from "../../kube/objects.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { currentCertificates, publishedAddress } from "../apply/apply.js";
import type { Clusters } from "../apply/clusters.js";
import type { HostedConfig } from "../config/config.js";
import { hostedModel } from "../model/model.js";
import { AGENT_NAMESPACE, names } from "../model/names.js";
import { type Condition, controlPlaneConnection, dataPlaneConnection, infrastructureReady } from "./conditions.js";

interface Workload extends KubeObject {
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

export interface Subject {
  readonly clusters: Clusters;
  readonly config: HostedConfig;
  /** drawbridge's own. */
  readonly version: string;
}

export function readingChecks(subject: Subject): Check<void>[] {
  const { clusters, config } = subject;
  const inHosted = (ask: (api: KubeApi) => Promise<Outcome>) => async (): Promise<Outcome> =>
    clusters.hosted === undefined
      ? skip("no kubeconfig of the hosted cluster was given", "Give --hosted-kubeconfig.")
      : ask(clusters.hosted);
  return [
    {
      id: "infrastructure",
      title: "Servers are published",
      run: async () =>
        judged(await infrastructureReady(clusters.management, config), "See the Service's or the Route's events."),
    },
    { id: "certificates", title: "Certificates are as they should be", run: () => certificates(subject) },
    { id: "servers", title: "Every kube-apiserver has its server", run: () => servers(subject) },
    { id: "control-plane-agents", title: "Control-plane agents are ready", run: () => controlPlaneAgents(subject) },
    { id: "agents", title: "Agents are ready", run: inHosted(agents) },
    {
      id: "data-plane-connection",
      title: "Pod logs come through the tunnel",
      run: inHosted(async (api) =>
        judged(
          await dataPlaneConnection(api),
          `Look at the servers' and the agents' logs (kubectl logs needs the tunnel: use crictl on a node), and whether nodes reach the published address.`,
        ),
      ),
    },
    {
      id: "control-plane-connection",
      title: "Workers reach the kube-apiserver",
      run: inHosted(async (api) =>
        judged(await controlPlaneConnection(api), "Check the kube-apiserver's published address from a node."),
      ),
    },
  ];
}

/** Unknown is not a failure: there is nothing yet to judge by. */
function judged(condition: Condition, remedy: string): Outcome {
  const { status, reason, message } = condition;
  const evidence = `${condition.type}=${status} (${reason}): ${message}`;
  if (status === "True") return pass(evidence, { condition });
  return status === "False" || reason === "ReconcileError" || reason === "InfraStatusFailure"
    ? fail(evidence, remedy, { condition })
    : skip(evidence, "", { condition });
}

async function certificates({ clusters, config, version }: Subject): Promise<Outcome> {
  const { controlPlaneNamespace, publishing } = config;
  const { host } = await publishedAddress(clusters.management, controlPlaneNamespace, publishing);
  const model = hostedModel(config, { version, host });
  const { issued, leaves, signers } = await currentCertificates(clusters.management, model);
  if (issued.length === 0) return pass(`${leaves.size} certificates of ${signers.size} signers are good`);
  const list = issued.map(({ name, why }) => `${name}: ${why}`).join("; ");
  return fail(list, "Run drawbridge hosted apply, which issues what is due and keeps the rest.", { due: issued });
}

async function servers({ clusters, config }: Subject): Promise<Outcome> {
  const title = `${config.controlPlaneNamespace}/${names.apiServer}`;
  const path = `/apis/apps/v1/namespaces/${config.controlPlaneNamespace}/deployments/${names.apiServer}`;
  const found = await find<Workload>(clusters.management, path);
  if (found === undefined) return skip(`there is no Deployment ${title}`);
  const remedy = `Patch it: drawbridge hosted render --out DIR writes DIR/patches/${names.apiServer}.yaml.`;
  if (!found.spec?.template?.spec?.containers?.some(({ name }) => name === names.server))
    return fail(`Deployment ${title} has no container ${names.server}`, remedy);
  const [ready = 0, wanted = 1] = [found.status?.readyReplicas, found.spec.replicas];
  const evidence = `${ready} of ${wanted} pods are ready`;
  if (wanted !== config.replicas)
    return fail(
      `${evidence}, but agents look for ${config.replicas} servers`,
      `Set replicas to ${wanted} in the config, apply, and patch the Deployment again.`,
    );
  return ready === 0 ? fail(evidence, "See the pods' events and the server's log.") : pass(evidence, { ready, wanted });
}

async function controlPlaneAgents({ clusters, config }: Subject): Promise<Outcome> {
  if (config.aggregatedApis.length === 0) return skip("the control plane serves no aggregated API");
  const path = `/apis/apps/v1/namespaces/${config.controlPlaneNamespace}/deployments/${names.agent}`;
  const found = await find<Workload>(clusters.management, path);
  if (found === undefined) return fail("their Deployment does not exist", "Run drawbridge hosted apply.");
  const [ready = 0, wanted = 1] = [found.status?.readyReplicas, found.spec?.replicas];
  const evidence = `${ready} of ${wanted} are ready`;
  return ready === 0 ? fail(evidence, "See the pods' events and logs.") : pass(evidence, { ready, wanted });
}

async function agents(hosted: KubeApi): Promise<Outcome> {
  const path = `/apis/apps/v1/namespaces/${AGENT_NAMESPACE}/daemonsets/${names.agent}`;
  const found = await find<Workload>(hosted, path);
  if (found === undefined) return fail("their DaemonSet does not exist", "Run drawbridge hosted apply.");
  const [ready = 0, wanted = 0] = [found.status?.numberReady, found.status?.desiredNumberScheduled];
  const evidence = `${ready} of ${wanted} nodes have one that is connected`;
  if (wanted === 0) return skip(evidence);
  const remedy = "Check that nodes reach the published address, and the events of the agents' pods.";
  return ready === 0 ? fail(evidence, remedy) : pass(evidence, { ready, wanted });
}
