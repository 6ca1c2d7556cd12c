/** What a person would write down for a pool without any cluster. */
import { stringify } from "yaml";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import type { Cluster } from "./cluster.js";

export const NAMESPACE = "drawbridge";
export const POOL = "workers";

type Access = Pick<Cluster, "ca" | "token" | "url">;

/** `ignition`: host:port of the Ignition server. */
export function poolObjects(cluster: Access, ignition: string): string {
  const objects: KubeObject[] = [
    object("v1", "ConfigMap", "demo", {
      metadata: { name: "demo", namespace: NAMESPACE, labels: { "drawbridge/cluster": "true" } },
      data: { apiServer: cluster.url, apiServerCA: cluster.ca, ignitionEndpoint: ignition, version: "4.18.0" },
    }),
    object("v1", "Secret", "bootstrap-kubeconfig", { stringData: { kubeconfig: kubeconfigOf(cluster) } }),
    object("hypershift.openshift.io/v1beta1", "NodePool", POOL, {
      spec: {
        clusterName: "demo",
        release: { image: "registry.example/release:4.18.0" },
        platform: { type: "None" },
        management: { upgradeType: "InPlace" },
        replicas: 2,
      },
    }),
  ];
  return objects.map((each) => stringify(each)).join("---\n");
}

/** The machines' common credential, in the form in which payloads carry it. */
function kubeconfigOf({ ca, token, url }: Access): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "demo", cluster: { server: url, "certificate-authority-data": btoa(ca) } }],
    users: [{ name: "machine", user: { token } }],
    contexts: [{ name: "demo", context: { cluster: "demo", user: "machine" } }],
    "current-context": "demo",
  });
}

function object(apiVersion: string, kind: string, name: string, content: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE }, ...content };
}

/** A whole machine, rendered by drawbridge: nothing is downloaded. */
export const PAYLOAD = stringify({ profile: "kubelet", kubelet: { clusterDns: ["10.96.0.10"] } });
