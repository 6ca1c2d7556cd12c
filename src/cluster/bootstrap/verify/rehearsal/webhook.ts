/** The rehearsal of one admission webhook: what would happen if the kube-apiserver called it now. */
import { type Check, CheckFailure, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import type { KubeApi } from "../../../kube/port.js";
import type { Bridge } from "../bridge.js";
import { plainUrl, seconds } from "../plain-text.js";
import { exchange } from "./exchange.js";
import type { Callee } from "./failure.js";
import { isApiItself, MAY_READ_SERVICES, resolveService, type ServiceReference, whoServes } from "./resolve.js";
import { makeReview, readVerdict, reviewVersion } from "./review.js";
import { connectSecurely } from "./secure-connection.js";
import { chooseSubject, type Subject } from "./subject.js";
import type { ConfiguredWebhook } from "./webhook-list.js";

export function webhookCheck(bridge: Bridge, api: KubeApi, webhook: ConfiguredWebhook): Check {
  const { kind, configuration, name } = webhook;
  return {
    id: `webhook:${configuration}/${name}`,
    title: `${kind === "MutatingWebhookConfiguration" ? "Mutating" : "Validating"} webhook ${name} of ${configuration}`,
    run: (signal) => rehearse(bridge, api, webhook, signal),
  };
}

async function rehearse(
  bridge: Bridge,
  api: KubeApi,
  webhook: ConfiguredWebhook,
  signal: AbortSignal,
): Promise<Outcome> {
  const { service, url } = webhook.clientConfig;
  if (service === undefined) return skip(`${plainUrl(url)} is called directly, not through the tunnel`);
  if (isApiItself(service)) return skip("the kube-apiserver calls itself here, not through the tunnel");
  const { failurePolicy = "Fail" } = webhook;
  const facts = { configuration: webhook.configuration, webhook: webhook.name, failurePolicy };
  try {
    const { evidence, details } = await perform(bridge, api, webhook, service, signal);
    return pass(evidence, { ...facts, ...details, blocks: false });
  } catch (reason) {
    signal.throwIfAborted();
    const remedy = reason instanceof CheckFailure ? reason.remedy : MAY_READ_SERVICES;
    const consequence =
      failurePolicy === "Fail"
        ? "failurePolicy Fail: matching requests would be refused"
        : "failurePolicy Ignore: matching requests would pass unseen by it";
    return fail(`${messageOf(reason)}; ${consequence}`, remedy, { ...facts, blocks: failurePolicy === "Fail" });
  }
}

interface Call {
  readonly evidence: string;
  readonly details: Readonly<Record<string, unknown>>;
}

async function perform(
  bridge: Bridge,
  api: KubeApi,
  webhook: ConfiguredWebhook,
  service: ServiceReference,
  signal: AbortSignal,
): Promise<Call> {
  const version = reviewVersion(webhook.admissionReviewVersions);
  if (version === undefined) {
    const remedy = `Let ${place(webhook)}.admissionReviewVersions contain v1.`;
    throw new CheckFailure("it reads no version of AdmissionReview that a kube-apiserver writes", remedy);
  }
  const { address } = await resolveService(api, service, bridge.resolve, signal);
  const subject = await chooseSubject(api, webhook.rules ?? [], signal);
  const { timeoutSeconds = 10 } = webhook;
  // What the kube-apiserver gives it, the way through the tunnel included.
  const within = AbortSignal.timeout(timeoutSeconds * 1000);
  try {
    return await call({ bridge, webhook, service, address, version, subject }, AbortSignal.any([signal, within]));
  } catch (reason) {
    if (!within.aborted) throw reason;
    const remedy = `Find out why it is slow, or raise ${place(webhook)}.timeoutSeconds (at most 30).`;
    throw new CheckFailure(`no answer within its timeoutSeconds, ${timeoutSeconds} s, from ${address}`, remedy);
  }
}

interface Plan {
  readonly bridge: Bridge;
  readonly webhook: ConfiguredWebhook;
  readonly service: ServiceReference;
  readonly address: string;
  readonly version: string;
  readonly subject: Subject;
}

async function call({ bridge, webhook, service, address, version, subject }: Plan, signal: AbortSignal): Promise<Call> {
  const { caBundle = "" } = webhook.clientConfig;
  const { sideEffects = "Unknown", timeoutSeconds = 10 } = webhook;
  const target = { ...calleeOf(webhook, service), address, caBundle };
  const { socket, dialMs, tlsMs } = await connectSecurely(bridge, target, signal);
  const details = {
    dialled: address,
    dialMs: Math.round(dialMs),
    tlsMs: Math.round(tlsMs),
    timeoutSeconds,
    sideEffects,
  };
  if (sideEffects !== "None" && sideEffects !== "NoneOnDryRun") {
    socket.destroy();
    const seen = `${address} shows the right certificate after ${seconds(dialMs + tlsMs)}`;
    const evidence = `${seen}; only connected, not called: with sideEffects ${sideEffects} a rehearsal might do harm`;
    return { evidence, details: { ...details, called: false } };
  }
  const review = makeReview(version, subject);
  const question = {
    method: "POST",
    path: `${service.path ?? "/"}?timeout=${timeoutSeconds}s`,
    host: `${service.name}.${service.namespace}.svc:${service.port ?? 443}`,
    body: review.body,
  } as const;
  const asked = performance.now();
  const reply = await exchange(socket, question, signal).catch((reason) => {
    throw new CheckFailure(
      `it took the call and gave no answer: ${messageOf(reason)}`,
      `Read the log of ${whoServes(service)}.`,
    );
  });
  const { allowed, message } = readVerdict(review, reply, whoServes(service));
  const totalMs = dialMs + tlsMs + performance.now() - asked;
  const answer = allowed ? "would allow" : `would refuse ("${message.slice(0, 200)}")`;
  const what = `${subject.operation} of a ${subject.kind}`;
  return {
    evidence: `${address} ${answer} ${what} after ${seconds(totalMs)} of ${timeoutSeconds} s`,
    details: { ...details, called: true, allowed, totalMs: Math.round(totalMs) },
  };
}

function calleeOf(webhook: ConfiguredWebhook, { namespace, name }: ServiceReference): Callee {
  return { namespace, service: name, authority: `${place(webhook)}.clientConfig.caBundle` };
}

function place({ kind, configuration, index }: ConfiguredWebhook): string {
  return `${kind} ${configuration} webhooks[${index}]`;
}
