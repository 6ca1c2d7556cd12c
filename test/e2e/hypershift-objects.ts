/** What HyperShift has in its management cluster for a pool of platform None, written as its operator writes it. */
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { encoded } from "../../src/cluster/nodes/objects.js";

export const TOKEN = "0b8ad9c5-7c77-4a31-8c55-2d0a5f1c9e10";
export const IGNITION_ENDPOINT = "ignition-server.apps.example:443";
export const IGNITION_CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const HASH = "83935368";
const CONTROL_PLANE = "clusters-demo";

/** Its definitions have many fields; which of them are there does not matter to us. */
function definition(plural: string, kind: string): object {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.hypershift.openshift.io` },
    spec: {
      group: "hypershift.openshift.io",
      scope: "Namespaced",
      names: { plural, kind, listKind: `${kind}List`, singular: kind.toLowerCase() },
      versions: [
        {
          ...{ name: "v1beta1", served: true, storage: true, subresources: { status: {} } },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
        },
      ],
    },
  };
}

export const hyperShiftResources: readonly object[] = [
  definition("nodepools", "NodePool"),
  definition("hostedclusters", "HostedCluster"),
];

const userData = JSON.stringify({
  ignition: {
    config: {
      merge: [
        {
          httpHeaders: [
            { name: "Authorization", value: `Bearer ${encoded(TOKEN)}` },
            { name: "NodePool", value: "clusters/workers" },
            { name: "TargetConfigVersionHash", value: HASH },
          ],
          source: `https://${IGNITION_ENDPOINT}/ignition`,
        },
      ],
    },
    security: { tls: { certificateAuthorities: [{ source: `data:text/plain;base64,${encoded(IGNITION_CA)}` }] } },
    version: "3.2.0",
  },
});

const apiVersion = "hypershift.openshift.io/v1beta1";
const networking = { machineNetwork: [{ cidr: "192.0.2.0/24" }] };
const release = { image: "registry.example/release:4.18.0" };
const poolAnnotation = { "hypershift.openshift.io/nodePool": "clusters/workers" };

export const hyperShiftObjects: readonly KubeObject[] = [
  ...["clusters", CONTROL_PLANE].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  {
    ...{ apiVersion, kind: "HostedCluster", metadata: { name: "demo", namespace: "clusters" } },
    spec: {
      release,
      platform: { type: "None" },
      infraID: "demo-x7k2p",
      pullSecret: { name: "pull-secret" },
      networking,
    },
  } as KubeObject,
  {
    ...{ apiVersion, kind: "NodePool" },
    metadata: {
      name: "workers",
      namespace: "clusters",
      annotations: {
        "hypershift.openshift.io/nodePoolCurrentConfig": "0db5756d",
        "hypershift.openshift.io/nodePoolCurrentConfigVersion": HASH,
      },
      finalizers: ["hypershift.openshift.io/finalizer"],
    },
    spec: { clusterName: "demo", release, platform: { type: "None" }, management: { upgradeType: "InPlace" } },
  } as KubeObject,
  secret(
    `token-workers-${HASH}`,
    {
      "hypershift.openshift.io/ignition-config": "true",
      "hypershift.openshift.io/node-pool-upgrade-type": "InPlace",
      "hypershift.openshift.io/last-token-generation-time": "2031-01-02T03:04:05.678901234Z",
    },
    {
      ...{ token: TOKEN, release: release.image, "release-version": "4.18.0", "os-stream": "rhel-9" },
      ...{ config: "", "pull-secret-hash": "2e24ad6f", "additional-trust-bundle-hash": "811c9dc5" },
      ...{ "hc-configuration-hash": "77074ba4", "cloud-config-hash": "" },
      ...{ reason: "AsExpected", message: "Payload generated successfully" },
    },
  ),
  // The value of disableTemplating is encoded twice there.
  secret(`user-data-workers-${HASH}`, {}, { disableTemplating: encoded("true"), value: userData }),
];

function secret(name: string, annotations: object, texts: Readonly<Record<string, string>>): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: CONTROL_PLANE, annotations: { ...annotations, ...poolAnnotation } },
    immutable: false,
    type: "Opaque",
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encoded(text)])),
  } as KubeObject;
}
