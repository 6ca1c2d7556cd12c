import { readFileSync } from "node:fs";
import type { Place } from "../isolation/place.js";
import { RULE } from "../webhook/admission.js";

const NAMESPACE = "demo";
const SERVICE = "webhook";
const SERVICES = `/api/v1/namespaces/${NAMESPACE}/services`;

type KubeRequest = readonly [path: string, object: object];

/** Kubernetes takes no loopback address for the endpoint of a service, but any name for an external one. */
export function serviceKind(place: Place): "endpoints" | "external name" {
  return place.refusedSourcePort === undefined ? "endpoints" : "external name";
}

/** The objects an administrator would apply, each with the path it is posted to. */
export function clusterObjects(place: Place, caFile: string): KubeRequest[] {
  return [
    ["/api/v1/namespaces", { metadata: { name: NAMESPACE } }],
    ...(serviceKind(place) === "endpoints" ? serviceWithEndpoints(place) : externalService(place)),
    [
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      webhookConfiguration(caFile, serviceKind(place) === "endpoints" ? 443 : place.webhook.port),
    ],
  ];
}

/** Without a selector: nobody but the demo says where the endpoint is. */
function serviceWithEndpoints({ webhook }: Place): KubeRequest[] {
  return [
    [
      SERVICES,
      { metadata: { name: SERVICE }, spec: { ports: [{ name: "https", port: 443, targetPort: webhook.port }] } },
    ],
    [
      `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`,
      {
        metadata: { name: SERVICE, labels: { "kubernetes.io/service-name": SERVICE } },
        addressType: "IPv4",
        ports: [{ name: "https", port: webhook.port, protocol: "TCP" }],
        endpoints: [{ addresses: [webhook.host], conditions: { ready: true } }],
      },
    ],
  ];
}

function externalService({ webhook }: Place): KubeRequest[] {
  const spec = { type: "ExternalName", externalName: webhook.host, ports: [{ name: "https", port: webhook.port }] };
  return [[SERVICES, { metadata: { name: SERVICE }, spec }]];
}

function webhookConfiguration(caFile: string, port: number): object {
  return {
    metadata: { name: "bridge" },
    webhooks: [
      {
        name: "bridge.demo.example",
        clientConfig: {
          service: { name: SERVICE, namespace: NAMESPACE, port, path: "/validate" },
          caBundle: readFileSync(caFile).toString("base64"),
        },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": NAMESPACE } },
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
      },
    ],
  };
}

export const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

export const configMap = (name: string, bridge: string): object => ({
  metadata: { name, labels: { [RULE.label]: bridge } },
});
