/** What a person would write down for a pool without any cluster. */
import { stringify } from "yaml";
import type { KubeObject } from "../../src/cluster/kube/port.js";

export const NAMESPACE = "drawbridge";
export const POOL = "workers";

interface Addresses {
  /** URL of the API server that nodes join. */
  readonly api: string;
  readonly apiCa: string;
  /** host:port */
  readonly ignition: string;
  /** The credential that all machines share. */
  readonly kubeconfig: string;
}

export function poolObjects({ api, apiCa, ignition, kubeconfig }: Addresses): string {
  const objects: KubeObject[] = [
    object("v1", "ConfigMap", "demo", {
      metadata: { name: "demo", namespace: NAMESPACE, labels: { "drawbridge/cluster": "true" } },
      data: { apiServer: api, apiServerCA: apiCa, ignitionEndpoint: ignition, version: "4.18.0" },
    }),
    object("v1", "Secret", "bootstrap-kubeconfig", { stringData: { kubeconfig } }),
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

function object(apiVersion: string, kind: string, name: string, content: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE }, ...content };
}

/** A whole machine, rendered by drawbridge: nothing is downloaded. */
export const PAYLOAD = stringify({ profile: "kubelet", kubelet: { clusterDns: ["10.96.0.10"] } });
