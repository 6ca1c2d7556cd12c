/** The proof: the kube-apiserver calls a webhook of our own, and the proxy-server counts the dial. */
import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import { at } from "../../../base/at.js";
import { pause, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { CheckFailure, failed, type Judgement, ok } from "../../../base/finding.js";
import { httpGet } from "../../../base/http-get.js";
import { samplesOf } from "../../../base/metrics/samples.js";
import { type AdmissionProbe, IN_FORCE_MS, probeAdmission, probeConfiguration } from "../../kube/admission-probe.js";
import { kubeManifest, mountsOf, UNPRIVILEGED, volumesOf } from "../../kube/builders.js";
import { isNotFound, KubeApiError } from "../../kube/errors.js";
import { find } from "../../kube/objects.js";
import { collectionPath, namedPath, objectPath } from "../../kube/paths.js";
import { isReady, type Pod } from "../../kube/pods.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { bridgeModel } from "../model/model.js";
import { AGENT_NAME, BOOTSTRAP_ONLY_SELECTOR, bootstrapOnlyLabel, type Topology } from "../model/names.js";
import { agentSecurity } from "../render/objects.js";
import { SEEN_FROM, WEBHOOK_PATH } from "./serve.js";

export interface TestedBridge {
  readonly topology: Topology;
  /** Of the agents. */
  readonly namespace: string;
  /** URL of the server's health port, which serves its metrics. */
  readonly health: string;
}

/** Never rejects. Removes everything that it made before it resolves, also when the signal fires. */
export async function proveWithTestWebhook(
  bridge: TestedBridge,
  api: KubeApi,
  image: string,
  signal: AbortSignal,
): Promise<Judgement> {
  const before = await removeAll(api, bridge.namespace);
  if (before.length > 0) return leftovers("objects of an earlier test cannot be removed", before);
  let judgement: Judgement;
  try {
    judgement = await deployAndCall(bridge, api, image, signal);
  } catch (reason) {
    const remedy =
      reason instanceof CheckFailure
        ? reason.remedy
        : "Give a kubeconfig whose user may create pods, services, secrets and webhook configurations with --kubeconfig.";
    judgement = signal.aborted
      ? failed(`given up: ${messageOf(signal.reason)}; everything was removed again`, "Run it again.")
      : failed(messageOf(reason), remedy);
  }
  const left = await removeAll(api, bridge.namespace);
  return left.length === 0 ? judgement : leftovers(`${judgement.message}; then not all of it could be removed`, left);
}

function leftovers(message: string, paths: readonly string[]): Judgement {
  const remedy = `Remove it: ${paths.map((path) => `kubectl delete --raw ${path}`).join("; ")}`;
  return { ...failed(message, remedy), details: { left: paths } };
}

/** The test webhook looks only at objects with this label; its value is different for each test. */
const TEST_LABEL = "drawbridge-verify";
const WEBHOOK_PORT = 8443;

/** All that is made is bootstrap-only. The configuration comes last, so that it is never in force without its pod. */
async function deployAndCall(bridge: TestedBridge, api: KubeApi, given: string, signal: AbortSignal) {
  const { namespace, topology } = bridge;
  const live = await find(api, namedPath("Namespace", { name: namespace }), { signal });
  if (live === undefined) {
    const remedy = "Give the agents' namespace with --namespace.";
    throw new CheckFailure(`the agents' namespace ${namespace} does not exist`, remedy);
  }
  const image = given || (await agentImage(api, namespace, signal));
  const id = randomBytes(5).toString("hex");
  const name = `${TEST_LABEL}-${id}`;
  const probe = { name, label: TEST_LABEL, id, namespace };
  const metadata = { name, namespace, labels: { [TEST_LABEL]: id, ...bootstrapOnlyLabel } };
  const { ca, cert, key } = await servingCertificate(`${name}.${namespace}.svc`);
  const create = (object: KubeObject) => api.create(posix.dirname(objectPath(object)), object, { signal });
  const pod = kubeManifest("Pod", metadata, { spec: podSpec(topology, image, name) });
  const stringData = { "tls.crt": cert, "tls.key": key };
  await create(kubeManifest("Secret", metadata, { type: "kubernetes.io/tls", stringData }));
  const ports = [{ name: "https", port: 443, targetPort: WEBHOOK_PORT }];
  await create(kubeManifest("Service", metadata, { spec: { selector: { [TEST_LABEL]: id }, ports } }));
  await create(pod);
  await untilReady(api, objectPath(pod), image, signal);
  const service = { namespace, name, port: 443, path: WEBHOOK_PATH };
  const webhook = {
    name: "verify.drawbridge.test",
    clientConfig: { service, caBundle: Buffer.from(ca).toString("base64") },
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    timeoutSeconds: 10,
  };
  // Owned by the namespace, so that it goes with the namespace, whatever becomes of the test.
  const owner = { apiVersion: "v1", kind: "Namespace", name: namespace, uid: live.metadata?.uid ?? "" };
  await create(probeConfiguration(probe, [webhook], { labels: bootstrapOnlyLabel, ownerReferences: [owner] }));
  return callAndCount(bridge, api, probe, signal);
}

/** PEM texts. */
async function servingCertificate(dnsName: string) {
  const { createAuthority, issueCertificate } = await import("../../../tunnel/pki/issue.js");
  const common = { commonName: TEST_LABEL, validForMs: 60 * 60_000 };
  const authority = await createAuthority(common);
  const issued = await issueCertificate(authority, { ...common, use: "server", dnsNames: [dnsName] });
  return { ca: authority.certificatePem, cert: issued.certificatePem, key: issued.privateKeyPem };
}

/** Of the agents' kind, which their namespace admits. */
function podSpec(topology: Topology, image: string, secret: string) {
  const model = bridgeModel({ for: topology, imageKind: "drawbridge" });
  const security = agentSecurity(model);
  const tls = [{ name: "tls", secret, path: "/tls", mode: 0o644 }];
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
        securityContext: UNPRIVILEGED,
        volumeMounts: mountsOf(tls),
      },
    ],
    volumes: volumesOf(tls),
  };
}

async function agentImage(api: KubeApi, namespace: string, signal: AbortSignal): Promise<string> {
  const daemonSet = await find(api, namedPath("DaemonSet", { namespace, name: AGENT_NAME }), { signal });
  if (daemonSet === undefined) {
    const remedy = "Name an image of drawbridge with --test-image.";
    throw new CheckFailure(`there is no DaemonSet ${namespace}/${AGENT_NAME} to take the image from`, remedy);
  }
  return String(at(daemonSet, "spec", "template", "spec", "containers", 0, "image") ?? "");
}

const POD_POLL_MS = 500;
/** A kubelet tries such things again for ever. */
const HOPELESS = /^(Err|Invalid|ImagePullBackOff|Create\w*Error|RunContainerError|CrashLoopBackOff)/;

async function untilReady(api: KubeApi, path: string, image: string, signal: AbortSignal): Promise<void> {
  const remedy = `Give drawbridge's own image, which every node can pull or has, with --test-image (tried: ${image}).`;
  for (let state = "unknown"; ; await pause(systemClock, POD_POLL_MS, signal)) {
    if (signal.aborted) throw new CheckFailure(`its pod is not ready in time: ${state}`, remedy);
    const pod = await api.get<Pod>(path, { signal });
    if (isReady(pod)) return;
    const { conditions = [], containerStatuses = [], phase = "unknown" } = pod.status ?? {};
    const { reason = "", message = "" } = containerStatuses[0]?.state?.waiting ?? {};
    if (HOPELESS.test(reason)) throw new CheckFailure(`its pod does not start: ${reason} ${message}`, remedy);
    const unscheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
    state = unscheduled?.message ?? (reason || phase);
  }
}

async function callAndCount(
  bridge: TestedBridge,
  api: KubeApi,
  probe: AdmissionProbe,
  signal: AbortSignal,
): Promise<Judgement> {
  const call = async (create: () => Promise<KubeObject>): Promise<Judgement | undefined> => {
    const before = await dialsCounted(bridge, signal);
    const answer = await create().catch((reason) => {
      const remedy =
        "Rehearse the webhooks one by one, and look at the checks agents, server-protocol and api-server-flag.";
      throw new CheckFailure(`the kube-apiserver could not call it: ${messageOf(reason)}`, remedy);
    });
    const from = answer.metadata?.annotations?.[SEEN_FROM];
    return from === undefined ? undefined : judgeCall(bridge, from, before, await dialsCounted(bridge, signal));
  };
  const called = await probeAdmission(api, probe, call, signal);
  if (called !== undefined) return called;
  const remedy = "See that --kubeconfig leads to a kube-apiserver that runs admission webhooks.";
  throw new CheckFailure(`the kube-apiserver did not call it within ${IN_FORCE_MS / 1000} s`, remedy);
}

function judgeCall({ health }: TestedBridge, from: string, before: number, after: number): Judgement {
  const details = { calledFrom: from, dialsBefore: before, dialsAfter: after };
  const called = `the webhook was called from ${from}`;
  if (after > before) return { ...ok(`${called}; the server's dials went from ${before} to ${after}`), details };
  const remedy =
    "Set --egress-selector-config-file at the kube-apiserver that --kubeconfig leads to, restart it, and see that " +
    `${health} is the server it uses.`;
  return { ...failed(`${called}, but not through this server: its dials stayed at ${after}`, remedy), details };
}

function dialsCounted({ health }: TestedBridge, signal: AbortSignal): Promise<number> {
  const metric = "konnectivity_network_proxy_server_dial_duration_seconds_count";
  return readMetrics(health, "does not count dials", (page) => samplesOf(page, metric)[0]?.value, signal);
}

/** What `read` finds on the server's page of metrics; throws a CheckFailure where it finds nothing. */
export async function readMetrics<T>(
  health: string,
  lack: string,
  read: (page: string) => T | undefined,
  signal: AbortSignal,
): Promise<T> {
  const url = `${health}/metrics`;
  const remedy = "Start the server, or give its health port with --health.";
  const { status, body } = await httpGet(url, { signal }).catch((reason) => {
    throw new CheckFailure(`${url} does not answer: ${messageOf(reason)}`, remedy);
  });
  const found = status === 200 ? read(body) : undefined;
  if (found === undefined) throw new CheckFailure(`${url} ${lack} (status ${status})`, remedy);
  return found;
}

/** Removal has its own time: it is due also when the test's is over. */
const REMOVAL_MS = 20_000;

/**
 * Removes whatever a test left in the cluster, this one or an earlier one that was killed. Returns the paths of what is
 * still there; never rejects, and never waits long.
 */
async function removeAll(api: KubeApi, namespace: string): Promise<string[]> {
  const signal = AbortSignal.timeout(REMOVAL_MS);
  const left = new Set<string>();
  const stuck = new Set<string>();
  // First the configuration, so that the kube-apiserver calls no more.
  const collections = [
    collectionPath("MutatingWebhookConfiguration"),
    ...(["Pod", "Service", "Secret"] as const).map((kind) => collectionPath(kind, namespace)),
  ];
  const testSelector = `${TEST_LABEL},${BOOTSTRAP_ONLY_SELECTOR}`;
  for (const collection of collections) {
    const found = await api.list(collection, { labelSelector: testSelector, signal }).catch(() => undefined);
    // Unknown is not gone.
    if (found === undefined) stuck.add(`${collection}?labelSelector=${testSelector}`);
    for (const { metadata } of found?.items ?? []) left.add(`${collection}/${metadata?.name}`);
  }
  while (left.size > 0 && !signal.aborted) {
    for (const path of left) {
      const state = await remove(api, path, signal);
      if (state !== "going") left.delete(path);
      if (state === "refused") stuck.add(path);
    }
    if (left.size > 0) await pause(systemClock, POD_POLL_MS, signal);
  }
  return [...stuck, ...left];
}

/** A second call shows whether the object is still being removed. */
async function remove(api: KubeApi, path: string, signal: AbortSignal): Promise<"gone" | "going" | "refused"> {
  try {
    await api.delete(path, { signal });
    return "going";
  } catch (reason) {
    if (isNotFound(reason)) return "gone";
    return reason instanceof KubeApiError && (reason.status === 401 || reason.status === 403) ? "refused" : "going";
  }
}
