/** Everything a test webhook consists of; all of it bootstrap-only, and gone after the test. */
import type { KubeObject } from "../../kube/port.js";
import { bridgeModel } from "../model/model.js";
import { bootstrapOnlyLabel, type Topology } from "../model/names.js";
import { agentSecurity } from "../render/objects.js";

/** The test webhook looks only at objects with this label; its value is one test's token. */
const TOKEN_LABEL = "drawbridge-verify";
/** Put on such an object by the test webhook: the address that its call came from. */
export const SEEN_FROM = "drawbridge-verify-seen-from";
export const WEBHOOK_PATH = "/mutate";
const WEBHOOK_PORT = 8443;

export interface TestWebhook {
  readonly topology: Topology;
  /** The agents', which exists and admits pods like this one. */
  readonly namespace: { readonly name: string; readonly uid: string };
  /** Different each time. */
  readonly token: string;
  readonly image: string;
  /** PEM texts. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface TestObject {
  /** Where it is created; its own path is this with its name. */
  readonly collection: string;
  readonly object: KubeObject;
}

/** Finds what an earlier test left behind. */
export const testSelector = `${TOKEN_LABEL},openshift.io/bootstrap-only=true`;

export const testName = (token: string): string => `drawbridge-verify-${token}`;

/** Collections, in the order in which their objects go: first what makes the kube-apiserver call. */
export function testCollections(namespace: string): string[] {
  const here = `/api/v1/namespaces/${namespace}`;
  return [CONFIGURATIONS, `${here}/pods`, `${here}/services`, `${here}/secrets`];
}

const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/** In the order in which they are made. The configuration is last, so that it is never in force without its pod. */
export function testObjects(test: TestWebhook): { readonly parts: TestObject[]; readonly configuration: TestObject } {
  const { namespace } = test;
  const [, pods, services, secrets] = testCollections(namespace.name) as [string, string, string, string];
  return {
    parts: [
      { collection: secrets, object: secret(test) },
      { collection: services, object: service(test) },
      { collection: pods, object: pod(test) },
    ],
    configuration: { collection: CONFIGURATIONS, object: configuration(test) },
  };
}

/** Created as a dry run while the webhook is in force. */
export function testConfigMap({ namespace, token }: Pick<TestWebhook, "namespace" | "token">): TestObject {
  const metadata = { name: testName(token), namespace: namespace.name, labels: { [TOKEN_LABEL]: token } };
  const collection = `/api/v1/namespaces/${namespace.name}/configmaps?dryRun=All`;
  return { collection, object: { apiVersion: "v1", kind: "ConfigMap", metadata } };
}

function metadata({ namespace, token }: TestWebhook) {
  return { name: testName(token), namespace: namespace.name, labels: labels(token) };
}

const labels = (token: string) => ({ [TOKEN_LABEL]: token, ...bootstrapOnlyLabel });

function secret(test: TestWebhook) {
  const stringData = { "tls.crt": test.cert, "tls.key": test.key };
  return { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata: metadata(test), stringData };
}

function service(test: TestWebhook) {
  const ports = [{ name: "https", port: 443, targetPort: WEBHOOK_PORT }];
  const spec = { selector: { [TOKEN_LABEL]: test.token }, ports };
  return { apiVersion: "v1", kind: "Service", metadata: metadata(test), spec };
}

function pod(test: TestWebhook) {
  const model = bridgeModel({ for: test.topology, imageKind: "drawbridge" });
  const security = agentSecurity(model);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata(test),
    spec: {
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
          image: test.image,
          imagePullPolicy: "IfNotPresent",
          command: ["/usr/bin/drawbridge"],
          args: ["test-webhook", `--port=${WEBHOOK_PORT}`, "--cert=/tls/tls.crt", "--key=/tls/tls.key"],
          resources: model.images.resources,
          readinessProbe: { httpGet: { scheme: "HTTPS", path: "/healthz", port: WEBHOOK_PORT }, periodSeconds: 1 },
          securityContext: security.container,
          volumeMounts: [{ name: "tls", mountPath: "/tls", readOnly: true }],
        },
      ],
      volumes: [{ name: "tls", secret: { secretName: testName(test.token) } }],
    },
  };
}

/** Owned by the namespace, so that the namespace's end is its end, too, whatever becomes of the test. */
function configuration({ namespace, token, ca }: TestWebhook) {
  const owner = { apiVersion: "v1", kind: "Namespace", ...namespace };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: testName(token), labels: labels(token), ownerReferences: [owner] },
    webhooks: [
      {
        name: "verify.drawbridge.test",
        clientConfig: {
          service: { namespace: namespace.name, name: testName(token), port: 443, path: WEBHOOK_PATH },
          caBundle: Buffer.from(ca).toString("base64"),
        },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        // Nothing but the test's own object.
        objectSelector: { matchLabels: { [TOKEN_LABEL]: token } },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace.name } },
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 10,
      },
    ],
  };
}
