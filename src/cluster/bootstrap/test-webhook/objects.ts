/** Everything a test webhook consists of; all of it bootstrap-only, and gone after the test. */
import { type AdmissionProbe, probeConfiguration } from "../../kube/admission-probe.js";
import type { KubeManifest } from "../../kube/apply.js";
import { kubeManifest, mountsOf, volumesOf } from "../../kube/builders.js";
import { collectionPath } from "../../kube/paths.js";
import { bridgeModel } from "../model/model.js";
import { BOOTSTRAP_ONLY_SELECTOR, bootstrapOnlyLabel, type Topology } from "../model/names.js";
import { agentSecurity } from "../render/objects.js";
import { WEBHOOK_PATH } from "./serve.js";

/** The test webhook looks only at objects with this label; its value is different for each test. */
const TEST_LABEL = "drawbridge-verify";
const WEBHOOK_PORT = 8443;

export interface TestWebhook {
  readonly topology: Topology;
  readonly probe: AdmissionProbe;
  /** Of the agents' namespace, which admits pods like this one. */
  readonly namespaceUid: string;
  readonly image: string;
  /** PEM texts. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export const testProbe = (namespace: string, id: string): AdmissionProbe => ({
  ...{ name: `drawbridge-verify-${id}`, label: TEST_LABEL, id, namespace },
});

/** Selects objects of every test, also of an earlier one that was killed. */
export const testSelector = `${TEST_LABEL},${BOOTSTRAP_ONLY_SELECTOR}`;

/** Collections in the order of removal: first the configuration, so that the kube-apiserver calls no more. */
export const testCollections = (namespace: string): string[] => [
  collectionPath("MutatingWebhookConfiguration"),
  ...(["Pod", "Service", "Secret"] as const).map((kind) => collectionPath(kind, namespace)),
];

/** In the order in which they are made: `configuration` last, so that it is never in force without its pod. */
export function testObjects(test: TestWebhook): {
  parts: KubeManifest[];
  pod: KubeManifest;
  configuration: KubeManifest;
} {
  const { name, namespace, id } = test.probe;
  const metadata = { name, namespace, labels: { [TEST_LABEL]: id, ...bootstrapOnlyLabel } };
  const pod = kubeManifest("Pod", metadata, { spec: podSpec(test) });
  const secret = { type: "kubernetes.io/tls", stringData: { "tls.crt": test.cert, "tls.key": test.key } };
  const ports = [{ name: "https", port: 443, targetPort: WEBHOOK_PORT }];
  const service = { spec: { selector: { [TEST_LABEL]: id }, ports } };
  const parts = [kubeManifest("Secret", metadata, secret), kubeManifest("Service", metadata, service), pod];
  return { parts, pod, configuration: configuration(test) };
}

function podSpec({ image, probe, topology }: TestWebhook) {
  const model = bridgeModel({ for: topology, imageKind: "drawbridge" });
  const security = agentSecurity(model);
  const tls = [{ name: "tls", secret: probe.name, path: "/tls", mode: 0o644 }];
  return {
    ...security.pod,
    // As the agents: nodes under construction carry taints of all kinds.
    tolerations: [{ operator: "Exists" }],
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: "Always",
    containers: [
      {
        name: "test-webhook",
        image,
        imagePullPolicy: "IfNotPresent",
        command: ["/usr/bin/drawbridge"],
        args: ["test-webhook", `--port=${WEBHOOK_PORT}`, "--cert=/tls/tls.crt", "--key=/tls/tls.key"],
        resources: model.images.resources,
        readinessProbe: { httpGet: { scheme: "HTTPS", path: "/healthz", port: WEBHOOK_PORT }, periodSeconds: 1 },
        securityContext: security.container,
        volumeMounts: mountsOf(tls),
      },
    ],
    volumes: volumesOf(tls),
  };
}

/** Owned by the namespace, so that it goes with the namespace, whatever becomes of the test. */
function configuration({ ca, namespaceUid: uid, probe }: TestWebhook): KubeManifest {
  const { name, namespace } = probe;
  const service = { namespace, name, port: 443, path: WEBHOOK_PATH };
  const webhook = {
    name: "verify.drawbridge.test",
    clientConfig: { service, caBundle: Buffer.from(ca).toString("base64") },
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    timeoutSeconds: 10,
  };
  const owner = { apiVersion: "v1", kind: "Namespace", name: namespace, uid };
  return probeConfiguration(probe, [webhook], { labels: bootstrapOnlyLabel, ownerReferences: [owner] });
}
