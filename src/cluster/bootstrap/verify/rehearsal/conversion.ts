/** The rehearsal of one conversion webhook: what would happen if an object were asked for in another version now. */
import { type Check, CheckFailure, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import type { KubeApi } from "../../../kube/port.js";
import type { Bridge } from "../bridge.js";
import { plainUrl, seconds } from "../plain-text.js";
import type { Conversion } from "./conversion-list.js";
import { conversionVersion, makeConversion, readConversion } from "./conversion-review.js";
import { exchange } from "./exchange.js";
import { isApiItself, MAY_READ_SERVICES, resolveService, type ServiceReference, whoServes } from "./resolve.js";
import { connectSecurely } from "./secure-connection.js";

export function conversionCheck(bridge: Bridge, api: KubeApi, conversion: Conversion): Check {
  const { name } = conversion;
  return {
    id: `conversion:${name}`,
    title: `Conversion webhook of ${name}`,
    run: (signal) => rehearse(bridge, api, conversion, signal),
  };
}

/** What a kube-apiserver gives such a webhook; nobody can set it. */
const TIMEOUT_SECONDS = 30;

async function rehearse(bridge: Bridge, api: KubeApi, conversion: Conversion, signal: AbortSignal): Promise<Outcome> {
  const { name, from, to, clientConfig } = conversion;
  const { service, url } = clientConfig;
  if (service === undefined) return skip(`${plainUrl(url)} is called directly, not through the tunnel`);
  if (isApiItself(service)) return skip("the kube-apiserver calls itself here, not through the tunnel");
  if (from === to) return skip(`${name} has no second version that is served, so nothing is converted`);
  const facts = { customResourceDefinition: name, from, to };
  try {
    const { evidence, details } = await perform(bridge, api, conversion, service, signal);
    return pass(evidence, { ...facts, ...details, blocks: false });
  } catch (reason) {
    signal.throwIfAborted();
    const remedy = reason instanceof CheckFailure ? reason.remedy : MAY_READ_SERVICES;
    // There is no failurePolicy here: what cannot be converted cannot be read.
    const consequence = `requests for ${name} in ${to} would be refused, and namespaces that hold such objects could not be deleted`;
    return fail(`${messageOf(reason)}; ${consequence}`, remedy, { ...facts, blocks: true });
  }
}

interface Call {
  readonly evidence: string;
  readonly details: Readonly<Record<string, unknown>>;
}

async function perform(
  bridge: Bridge,
  api: KubeApi,
  conversion: Conversion,
  service: ServiceReference,
  signal: AbortSignal,
): Promise<Call> {
  const version = conversionVersion(conversion.reviewVersions);
  if (version === undefined) {
    const remedy = `Let ${place(conversion)}.conversionReviewVersions contain v1.`;
    throw new CheckFailure("it reads no version of ConversionReview that a kube-apiserver writes", remedy);
  }
  const { address } = await resolveService(api, service, bridge.resolve, signal);
  const within = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
  try {
    return await call({ bridge, conversion, service, address, version }, AbortSignal.any([signal, within]));
  } catch (reason) {
    if (!within.aborted) throw reason;
    const remedy = `Find out why it is slow: read the log of ${whoServes(service)}.`;
    throw new CheckFailure(`no answer from ${address} within ${TIMEOUT_SECONDS} s`, remedy);
  }
}

interface Plan {
  readonly bridge: Bridge;
  readonly conversion: Conversion;
  readonly service: ServiceReference;
  readonly address: string;
  readonly version: string;
}

async function call({ bridge, conversion, service, address, version }: Plan, signal: AbortSignal): Promise<Call> {
  const { namespace, name, path = "/", port = 443 } = service;
  const authority = `${place(conversion)}.clientConfig.caBundle`;
  const target = { namespace, service: name, authority, address, caBundle: conversion.clientConfig.caBundle ?? "" };
  const { socket, dialMs, tlsMs } = await connectSecurely(bridge, target, signal);
  const review = makeConversion(version, conversion);
  const question = {
    method: "POST",
    path: `${path}?timeout=${TIMEOUT_SECONDS}s`,
    host: `${name}.${namespace}.svc:${port}`,
    body: review.body,
  } as const;
  const asked = performance.now();
  const reply = await exchange(socket, question, signal).catch((reason) => {
    const remedy = `Read the log of ${whoServes(service)}.`;
    throw new CheckFailure(`it took the call and gave no answer: ${messageOf(reason)}`, remedy);
  });
  const { converted, message } = readConversion(review, reply, whoServes(service));
  const totalMs = dialMs + tlsMs + performance.now() - asked;
  const what = `${review.from} to ${conversion.to}`;
  // A made-up object has nothing of what a real one must have, so a refusal is an answer like another.
  const answer = converted ? `converts ${what}` : `refuses an empty object from ${what} ("${message.slice(0, 200)}")`;
  return {
    evidence: `${address} ${answer} after ${seconds(totalMs)} of ${TIMEOUT_SECONDS} s`,
    details: {
      ...{ dialled: address, dialMs: Math.round(dialMs), tlsMs: Math.round(tlsMs), totalMs: Math.round(totalMs) },
      ...{ called: true, converted },
    },
  };
}

function place({ name }: Conversion): string {
  return `CustomResourceDefinition ${name} spec.conversion.webhook`;
}
