import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Authority } from "../certificates.js";
import type { Kubectl } from "../kubectl.js";
import type { LabNode } from "../node/node.js";
import { NAMESPACE, SERVICE, service } from "../objects.js";
import { must } from "../run.js";
import { until } from "../wait.js";
import { WEBHOOK_PORT, type WebhookRequest } from "../webhook-process.js";

/** What it is called, and what its certificate is for. */
export interface WebhookPlace {
  readonly namespace: string;
  readonly name: string;
  readonly dns: string;
  /** Of its Service; the cluster chooses one where it is left open. */
  readonly clusterIP?: string;
}

const USUAL: WebhookPlace = { namespace: NAMESPACE, name: SERVICE, dns: `${SERVICE}.${NAMESPACE}.svc` };

/** The lab's workload as a real pod, run by Node from drawbridge's own image, behind a service with a selector. */
export class WebhookPod {
  /** In the pod network. */
  readonly address: string;
  readonly node: LabNode;

  private constructor(node: LabNode, address: string) {
    this.node = node;
    this.address = address;
  }

  /** Returns once the service has the pod as its endpoint. */
  static async start(admin: Kubectl, ca: Authority, image: string, node: LabNode, place = USUAL): Promise<WebhookPod> {
    await applyWebhookFiles(admin, ca, place);
    await admin.apply(podOn(node.name, image, place));
    const address = await until(`${place.name}'s pod to be ready`, 120_000, () => endpointOf(admin, place));
    return new WebhookPod(node, address);
  }

  /** What it was asked so far. Its node asks it: a pod's log comes late, and kubectl would need the tunnel. */
  async requests(path?: string): Promise<WebhookRequest[]> {
    const url = `https://${this.address}:${WEBHOOK_PORT}/requests`;
    const answer = await must(["curl", "-sSk", "--max-time", "5", url], { netns: this.node.netns });
    const seen = JSON.parse(answer) as WebhookRequest[];
    return path === undefined ? seen : seen.filter((request) => request.path === path);
  }
}

/** Its Service, and what its pods mount. */
export async function applyWebhookFiles(admin: Kubectl, ca: Authority, place = USUAL): Promise<void> {
  const { name, namespace, dns, clusterIP } = place;
  const metadata = { name, namespace };
  const pair = ca.issue({ file: `${name}-pod`, name, use: "server", dns: [dns] });
  const [certificate, key] = [readFileSync(pair.cert, "utf8"), readFileSync(pair.key, "utf8")];
  const program = await bundle();
  const own = clusterIP === undefined ? {} : { clusterIP };
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  // Pods are refused until the controller manager has given the namespace its default account.
  await until(`${namespace} to have its default service account`, 60_000, async () => {
    return (await admin.try(["get", "serviceaccount/default", "-n", namespace])).code === 0;
  });
  await admin.apply(
    { ...service, metadata, spec: { ...service.spec, ...own, selector: { app: name } } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: filesOf(place), data: { "main.mjs": program } },
    {
      ...{ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata },
      stringData: { "tls.crt": certificate, "tls.key": key },
    },
  );
}

const filesOf = ({ name, namespace }: WebhookPlace) => ({ name: `${name}-files`, namespace });

function podOn(nodeName: string, image: string, place: WebhookPlace): object {
  const { name, namespace } = place;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      // By selector, so that the scheduler places it; a bare nodeName would bypass it.
      nodeSelector: { "kubernetes.io/hostname": nodeName },
      terminationGracePeriodSeconds: 0,
      ...webhookPodSpec(image, place),
    },
  };
}

/** `manner`: a further argument of the program. */
export const webhookPodSpec = (image: string, place = USUAL, ...manner: readonly "kept-alive"[]): object => ({
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true },
  containers: [
    {
      name: place.name,
      image,
      imagePullPolicy: "IfNotPresent",
      command: ["/usr/bin/node", "/files/main.mjs"],
      args: ["0.0.0.0", String(WEBHOOK_PORT), "/tls/tls.crt", "/tls/tls.key", ...manner],
      // Without a request, pods that have one leave it nothing.
      resources: { requests: { cpu: "50m" } },
      readinessProbe: { tcpSocket: { port: WEBHOOK_PORT }, periodSeconds: 1 },
      volumeMounts: [
        { name: "files", mountPath: "/files", readOnly: true },
        { name: "tls", mountPath: "/tls", readOnly: true },
      ],
    },
  ],
  volumes: [
    { name: "files", configMap: { name: filesOf(place).name } },
    { name: "tls", secret: { secretName: place.name } },
  ],
});

/** What the endpoint-slice controller made of the service: kube-apiservers dial nothing else. */
async function endpointOf(admin: Kubectl, { name, namespace }: WebhookPlace): Promise<string | undefined> {
  const { items } = await admin.json<{
    items: { endpoints: { addresses: string[]; conditions: { ready?: boolean } }[] | null }[];
  }>(["get", "endpointslices", "-n", namespace, "-l", `kubernetes.io/service-name=${name}`]);
  const ready = items.flatMap(({ endpoints }) => endpoints ?? []).find(({ conditions }) => conditions.ready);
  return ready?.addresses[0];
}

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../webhook/main.ts", import.meta.url))],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}
