/** What runs on the workers of the hosted cluster, as its users apply it. */
import { applyWebhookFiles, webhookPodSpec } from "../lab/bridge/webhook-pod.js";
import { POD_IMAGE } from "../lab/node/image.js";
import * as lab from "../lab/objects.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../lab/webhook/aggregated.js";
import type { HostedPlane } from "./plane.js";

/** Config maps of lab.NAMESPACE with this value of the label `hook` go past the webhook. */
export const HOOK = "kept-alive";
/** Of the pods to talk to by exec, one on each worker. */
export const TALKER = "talker";
export const AGGREGATED_API = `${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;

/** Two pods with the webhook and an aggregated API, which callers keep their connections to, and talkers. */
export async function startWorkloads(plane: HostedPlane, image: string): Promise<void> {
  const { admin, ca } = plane;
  await applyWebhookFiles(admin, ca);
  await admin.apply(
    webhookDeployment(image),
    disruptionBudget,
    talkers,
    lab.validatingWebhook("kept-alive", HOOK, lab.byService("/validate"), ca.cert),
    lab.aggregatedApi(ca.cert),
  );
}

/** Returns once all of it answers; the kube-apiserver needs its tunnel for that. */
export async function workloadsReady({ admin }: HostedPlane): Promise<void> {
  const rolledOut = (...workload: readonly string[]) => admin.run(["rollout", "status", ...workload, "--timeout=110s"]);
  await rolledOut(`deployment/${lab.SERVICE}`, "-n", lab.NAMESPACE);
  await rolledOut(`daemonset/${TALKER}`);
  await admin.run(["wait", "--for=condition=Available", "--timeout=110s", `apiservice/${AGGREGATED_API}`]);
}

const labels = { app: lab.SERVICE };
const metadata = { name: lab.SERVICE, namespace: lab.NAMESPACE };

const webhookDeployment = (image: string): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata,
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { ...webhookPodSpec(image, undefined, "kept-alive"), topologySpreadConstraints: [onePerNode] },
    },
  },
});

const onePerNode = {
  maxSkew: 1,
  topologyKey: "kubernetes.io/hostname",
  whenUnsatisfiable: "ScheduleAnyway",
  labelSelector: { matchLabels: labels },
};

/** A drain moves one after the other. */
const disruptionBudget = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata,
  spec: { minAvailable: 1, selector: { matchLabels: labels } },
};

const talkers = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: TALKER, namespace: "default" },
  spec: {
    selector: { matchLabels: { app: TALKER } },
    template: {
      metadata: { labels: { app: TALKER } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: TALKER, image: POD_IMAGE, command: ["sh", "-c", "echo good morning; exec sleep 86400"] }],
      },
    },
  },
};
