import { readFileSync } from "node:fs";
import { address } from "./topology.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "./webhook/aggregated.js";
import { WEBHOOK_PORT } from "./webhook-process.js";

/** The Kubernetes objects of the story, as an administrator would apply them. */
export const NAMESPACE = "lab";
export const SERVICE = "webhook";
export const CRD_GROUP = "lab.drawbridge.test";

const inNamespaceOnly = { matchLabels: { "kubernetes.io/metadata.name": NAMESPACE } };
const labelled = (label: string) => ({ matchLabels: { hook: label } });

export const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };

/** A service without a selector: nobody but the lab says where its endpoint is. */
export const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: SERVICE, namespace: NAMESPACE },
  spec: { ports: [{ name: "https", port: 443, targetPort: WEBHOOK_PORT }] },
};

export const endpoints = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: SERVICE, namespace: NAMESPACE, labels: { "kubernetes.io/service-name": SERVICE } },
  addressType: "IPv4",
  ports: [{ name: "https", port: WEBHOOK_PORT, protocol: "TCP" }],
  endpoints: [{ addresses: [address.wh], conditions: { ready: true } }],
};

type ClientConfig = { readonly url: string } | { readonly service: object };

export const byService = (path: string): ClientConfig => ({
  service: { name: SERVICE, namespace: NAMESPACE, port: 443, path },
});

export function validatingWebhook(name: string, label: string, client: ClientConfig, caFile: string): object {
  return admission("ValidatingWebhookConfiguration", name, label, client, caFile);
}

export function mutatingWebhook(name: string, label: string, client: ClientConfig, caFile: string): object {
  return admission("MutatingWebhookConfiguration", name, label, client, caFile);
}

function admission(kind: string, name: string, label: string, client: ClientConfig, caFile: string): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name },
    webhooks: [
      {
        name: `${name}.${CRD_GROUP}`,
        clientConfig: { ...client, caBundle: base64(caFile) },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        namespaceSelector: inNamespaceOnly,
        objectSelector: labelled(label),
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
      },
    ],
  };
}

/** A config map that goes past exactly the webhook of that label. */
export const configMap = (name: string, hook: string, labels: Readonly<Record<string, string>> = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: NAMESPACE, labels: { hook, ...labels } },
});

export function drawings(caFile: string): object {
  const version = (name: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  });
  const clientConfig = { ...byService("/convert"), caBundle: base64(caFile) };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `drawings.${CRD_GROUP}` },
    spec: {
      group: CRD_GROUP,
      scope: "Namespaced",
      names: { plural: "drawings", singular: "drawing", kind: "Drawing", listKind: "DrawingList" },
      versions: [version("v1", true), version("v2", false)],
      conversion: { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } },
    },
  };
}

/** The same two for another workload of the lab. */
export const serviceAt = (name: string, host: string): object[] => [
  { ...service, metadata: { ...service.metadata, name } },
  {
    ...endpoints,
    metadata: { ...endpoints.metadata, name, labels: { "kubernetes.io/service-name": name } },
    endpoints: [{ addresses: [host], conditions: { ready: true } }],
  },
];

export function aggregatedApi(caFile: string, serviceName = SERVICE): object {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `${AGGREGATED_VERSION}.${AGGREGATED_GROUP}` },
    spec: {
      group: AGGREGATED_GROUP,
      version: AGGREGATED_VERSION,
      groupPriorityMinimum: 1000,
      versionPriority: 10,
      service: { name: serviceName, namespace: NAMESPACE, port: 443 },
      caBundle: base64(caFile),
    },
  };
}

/** A node whose kubelet is at this address and port, and a pod that it is said to run. */
export const nodeWithPod = (name: string, host: string, port: number): object[] => [
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    status: {
      addresses: [{ type: "InternalIP", address: host }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `on-${name}`, namespace: NAMESPACE },
    spec: { nodeName: name, containers: [{ name: "main", image: "none" }] },
  },
];

const base64 = (file: string): string => readFileSync(file).toString("base64");
