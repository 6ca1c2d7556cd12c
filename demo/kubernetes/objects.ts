import { readFileSync } from "node:fs";
import { RULE } from "../webhook/admission.js";

const NAMESPACE = "demo";
const SERVICE = "webhook";

/** The objects an administrator would apply, each with the path it is posted to. */
export function clusterObjects(webhook: { host: string; port: number }, caFile: string): [string, object][] {
  return [
    ["/api/v1/namespaces", { metadata: { name: NAMESPACE } }],
    [
      `/api/v1/namespaces/${NAMESPACE}/services`,
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
    ["/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", webhookConfiguration(caFile)],
  ];
}

function webhookConfiguration(caFile: string): object {
  return {
    metadata: { name: "bridge" },
    webhooks: [
      {
        name: "bridge.demo.example",
        clientConfig: {
          service: { name: SERVICE, namespace: NAMESPACE, port: 443, path: "/validate" },
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
