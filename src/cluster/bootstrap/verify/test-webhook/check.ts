/** The proof: a webhook of our own, called by the kube-apiserver, and counted by the proxy-server. */
import { randomBytes } from "node:crypto";
import { at } from "../../../../base/at.js";
import { type Check, CheckFailure, fail, type Outcome, pass } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import { httpGet } from "../../../../base/http-get.js";
import { find } from "../../../kube/objects.js";
import type { KubeApi } from "../../../kube/port.js";
import { AGENT_NAME } from "../../model/names.js";
import type { Bridge } from "../bridge.js";
import { dialsEstablished } from "../metrics-page.js";
import { create, pause, removeAll, untilReady } from "./cluster.js";
import { SEEN_FROM } from "./marks.js";
import { type TestWebhook, testConfigMap, testName, testObjects } from "./objects.js";

export function testWebhookCheck(bridge: Bridge, api: KubeApi, image: string): Check {
  return {
    id: "test-webhook",
    title: "The kube-apiserver calls a test webhook through the tunnel",
    run: (signal) => prove(bridge, api, image, signal),
  };
}

async function prove(bridge: Bridge, api: KubeApi, image: string, signal: AbortSignal): Promise<Outcome> {
  const before = await removeAll(api, bridge.namespace);
  if (before.length > 0) return leftovers("an earlier test's objects cannot be removed", before);
  let outcome: Outcome;
  try {
    outcome = await deployAndCall(bridge, api, image, signal);
  } catch (reason) {
    outcome = signal.aborted ? interrupted(signal) : failureOf(reason);
  }
  const left = await removeAll(api, bridge.namespace);
  return left.length === 0 ? outcome : leftovers(`${outcome.evidence}; then not all of it could be removed`, left);
}

function interrupted(signal: AbortSignal): Outcome {
  return fail(`given up: ${messageOf(signal.reason)}; everything was removed again`, "Run it again.");
}

function failureOf(reason: unknown): Outcome {
  const remedy =
    reason instanceof CheckFailure
      ? reason.remedy
      : "Give a kubeconfig whose user may create pods, services, secrets and webhook configurations with --kubeconfig.";
  return fail(messageOf(reason), remedy);
}

function leftovers(evidence: string, paths: readonly string[]): Outcome {
  return fail(evidence, `Remove it: ${paths.map((path) => `kubectl delete --raw ${path}`).join("; ")}`, {
    left: paths,
  });
}

async function deployAndCall(bridge: Bridge, api: KubeApi, image: string, signal: AbortSignal): Promise<Outcome> {
  const test = await plan(bridge, api, image, signal);
  const { parts, configuration } = testObjects(test);
  for (const part of parts) await create(api, part, signal);
  const name = testName(test.token);
  await untilReady(api, `/api/v1/namespaces/${bridge.namespace}/pods/${name}`, test.image, signal);
  await create(api, configuration, signal);
  return await callAndCount(bridge, api, test, signal);
}

async function plan(bridge: Bridge, api: KubeApi, given: string, signal: AbortSignal): Promise<TestWebhook> {
  const { namespace: name } = bridge;
  const namespace = await find(api, `/api/v1/namespaces/${name}`, { signal });
  if (namespace === undefined)
    throw new CheckFailure(
      `the agents' namespace ${name} does not exist`,
      "Give the agents' namespace with --namespace.",
    );
  const image = given || (await agentImage(api, name, signal));
  const token = randomBytes(5).toString("hex");
  const { createAuthority, issueCertificate } = await import("../../../../tunnel/pki/issue.js");
  const hour = { validForMs: 60 * 60_000 };
  const authority = await createAuthority({ commonName: "drawbridge-verify", ...hour });
  const { certificatePem: cert, privateKeyPem: key } = await issueCertificate(authority, {
    ...{ profile: "server", commonName: "drawbridge-verify", ...hour },
    dnsNames: [`${testName(token)}.${name}.svc`],
  });
  const uid = namespace.metadata?.uid ?? "";
  return {
    topology: bridge.model.for,
    namespace: { name, uid },
    token,
    image,
    ca: authority.certificatePem,
    cert,
    key,
  };
}

async function agentImage(api: KubeApi, namespace: string, signal: AbortSignal): Promise<string> {
  const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/${AGENT_NAME}`;
  const daemonSet = await find(api, path, { signal });
  if (daemonSet === undefined) {
    const remedy = "Name an image of drawbridge with --test-image.";
    throw new CheckFailure(`there is no DaemonSet ${namespace}/${AGENT_NAME} to take the image from`, remedy);
  }
  return String(at(daemonSet, "spec", "template", "spec", "containers", 0, "image") ?? "");
}

/** Kube-apiservers learn of a new webhook after a moment. */
const POLL_MS = 250;
const IN_FORCE_MS = 20_000;

async function callAndCount(bridge: Bridge, api: KubeApi, test: TestWebhook, signal: AbortSignal): Promise<Outcome> {
  const { collection, object } = testConfigMap(test);
  const late = AbortSignal.timeout(IN_FORCE_MS);
  for (;;) {
    const before = await dials(bridge, signal);
    const answer = await api.create(collection, object, { signal }).catch((reason) => {
      const remedy = "Rehearse the webhooks one by one, and look at the checks agents, front-door and api-server-flag.";
      throw new CheckFailure(`the kube-apiserver could not call it: ${messageOf(reason)}`, remedy);
    });
    const from = answer.metadata?.annotations?.[SEEN_FROM];
    if (from !== undefined) return judge(bridge, from, before, await dials(bridge, signal));
    if (late.aborted) {
      const remedy = "See that --kubeconfig leads to a kube-apiserver that runs admission webhooks.";
      throw new CheckFailure(`the kube-apiserver did not call it within ${IN_FORCE_MS / 1000} s`, remedy);
    }
    await pause(POLL_MS, signal);
  }
}

function judge({ health }: Bridge, from: string, before: number, after: number): Outcome {
  const details = { calledFrom: from, dialsBefore: before, dialsAfter: after };
  const shown = `the webhook was called from ${from}`;
  if (after > before) return pass(`${shown}; the server's dials went from ${before} to ${after}`, details);
  const remedy =
    "Set --egress-selector-config-file at the kube-apiserver that --kubeconfig leads to, restart it, and see that " +
    `${health} is the server it uses.`;
  return fail(`${shown}, but not through this server: its dials stayed at ${after}`, remedy, details);
}

async function dials({ health }: Bridge, signal: AbortSignal): Promise<number> {
  const url = `${health}/metrics`;
  const remedy = "Start the server, or give its health port with --health.";
  const { body } = await httpGet(url, { signal }).catch((reason) => {
    throw new CheckFailure(`${url} does not answer: ${messageOf(reason)}`, remedy);
  });
  const count = dialsEstablished(body);
  if (count === undefined) throw new CheckFailure(`${url} does not count dials`, remedy);
  return count;
}
