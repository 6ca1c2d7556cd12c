/**
 * Rehearsals: every webhook and aggregated API is called through the tunnel as the kube-apiserver would call it now, as a
 * dry run.
 */
import { messageOf } from "../../../base/errors/error.js";
import { CheckFailure, failed, type Judgement, ok, skipped } from "../../../base/finding.js";
import type { KubeApi } from "../../kube/port.js";
import { listApiServices, planApiService } from "./api-services.js";
import { type CallResult, callService, type ServiceCall, type ServiceRoute } from "./call.js";
import { listConversions, planConversion } from "./conversions.js";
import { isApiItself, type ServiceReference } from "./service.js";
import { listWebhooks, planWebhook } from "./webhooks.js";

/** Names of the only calls to rehearse; without any name: all of them, and all aggregated APIs. */
export interface RehearsalSelection {
  /** By their own or their configuration's name. */
  readonly webhooks: readonly string[];
  /** By their CustomResourceDefinition. */
  readonly conversions: readonly string[];
}

/** One call that can be rehearsed. */
export interface Rehearsal {
  /** Stable, for scripts. */
  readonly id: string;
  readonly title: string;
  /** Rejects only when the signal fires. */
  perform(signal: AbortSignal): Promise<Judgement>;
}

export interface RehearsalPlan {
  readonly id: string;
  readonly title: string;
  readonly url?: string;
  readonly service?: ServiceReference;
  /** Why there is nothing to call. */
  readonly unneeded?: string;
  readonly details: NonNullable<Judgement["details"]>;
  /** What a failure means for users of the cluster; may be empty. */
  readonly consequence: string;
  /** Whether a failure makes the kube-apiserver refuse requests. */
  readonly blocks?: boolean;
  /** Throws a CheckFailure where a kube-apiserver would not even call. */
  prepare(service: ServiceReference, api: KubeApi, signal: AbortSignal): Promise<PlannedCall>;
}

export interface PlannedCall extends Omit<ServiceCall, "service"> {
  /** Throws a CheckFailure where a kube-apiserver would count the call as failed. */
  judge(result: CallResult): Pick<Judgement, "message" | "details">;
}

export async function rehearsals(
  route: ServiceRoute,
  api: KubeApi,
  { webhooks, conversions }: RehearsalSelection,
  signal: AbortSignal,
): Promise<Rehearsal[]> {
  const all = webhooks.length === 0 && conversions.length === 0;
  const planned: Rehearsal[] = [];
  const add = async <T>(names: readonly string[], kind: RehearsalKind<T>): Promise<void> => {
    if (!all && names.length === 0) return;
    try {
      planned.push(...select(await kind.list(api, signal), names, kind, (plan) => checkOf(route, api, plan)));
    } catch (reason) {
      const remedy = `Give a kubeconfig whose user may list ${kind.lists} with --kubeconfig.`;
      planned.push(settled(kind.id, kind.title, failed(messageOf(reason), remedy)));
    }
  };
  await add(webhooks, {
    ...{ id: "webhooks", title: "Admission webhooks", lists: "webhook configurations" },
    ...{ list: listWebhooks, plan: planWebhook },
    isNamed: (webhook, wanted) => wanted === webhook.name || wanted === webhook.configuration,
    unknown: (name) => ({
      ...{ id: `webhook:${name}`, title: `Webhook ${name}`, message: `no webhook or configuration is named ${name}` },
      remedy: `Compare --webhook with kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations.`,
    }),
  });
  await add(conversions, {
    ...{ id: "conversions", title: "Conversion webhooks", lists: "CustomResourceDefinitions" },
    ...{ list: listConversions, plan: planConversion },
    isNamed: ({ name }, wanted) => wanted === name,
    unknown: (name) => ({
      ...{ id: `conversion:${name}`, title: `Conversion webhook of ${name}` },
      message: `no CustomResourceDefinition named ${name} has a conversion webhook`,
      remedy: "Compare --conversion with kubectl get customresourcedefinitions.",
    }),
  });
  const apiServices = { id: "apiservices", title: "Aggregated APIs", lists: "APIServices" };
  if (all) await add([], { ...apiServices, list: listApiServices, plan: planApiService });
  return planned;
}

interface RehearsalKind<T> {
  readonly id: string;
  readonly title: string;
  /** What a user must be allowed to list. */
  readonly lists: string;
  list(api: KubeApi, signal: AbortSignal): Promise<readonly T[]>;
  plan(one: T): RehearsalPlan;
  isNamed?(one: T, wanted: string): boolean;
  unknown?(name: string): { id: string; title: string; message: string; remedy: string };
}

function select<T>(
  found: readonly T[],
  names: readonly string[],
  { id, title, plan, isNamed, unknown }: RehearsalKind<T>,
  check: (plan: RehearsalPlan) => Rehearsal,
): Rehearsal[] {
  const checks = (some: readonly T[]): Rehearsal[] => some.map((one) => check(plan(one)));
  if (names.length === 0)
    return found.length === 0 ? [settled(id, title, skipped("the cluster has none"))] : checks(found);
  return names.flatMap((name) => {
    const named = found.filter((one) => isNamed?.(one, name));
    const none = unknown?.(name);
    return named.length > 0 || none === undefined
      ? checks(named)
      : [settled(none.id, none.title, failed(none.message, none.remedy))];
  });
}

function settled(id: string, title: string, judgement: Judgement): Rehearsal {
  return { id, title, perform: async () => judgement };
}

function checkOf(route: ServiceRoute, api: KubeApi, plan: RehearsalPlan): Rehearsal {
  return { id: plan.id, title: plan.title, perform: (signal) => rehearse(route, api, plan, signal) };
}

async function rehearse(
  route: ServiceRoute,
  api: KubeApi,
  plan: RehearsalPlan,
  signal: AbortSignal,
): Promise<Judgement> {
  const { service, url, unneeded, blocks } = plan;
  if (service === undefined) return skipped(`${plainUrl(url)} is called directly, not through the tunnel`);
  if (isApiItself(service)) return skipped("the kube-apiserver calls itself here, not through the tunnel");
  if (unneeded !== undefined) return skipped(unneeded);
  const details = (blocking: boolean) => ({ ...plan.details, ...(blocks !== undefined && { blocks: blocking }) });
  try {
    const call = await plan.prepare(service, api, signal);
    const result = await callService(route, api, { ...call, service }, signal);
    const { message, details: more } = call.judge(result);
    const { address: dialled, dialMs, tlsMs } = result;
    return { ...ok(message), details: { ...details(false), dialled, dialMs, tlsMs, ...more } };
  } catch (reason) {
    signal.throwIfAborted();
    const remedy =
      reason instanceof CheckFailure
        ? reason.remedy
        : "Give a kubeconfig whose user may read services and endpointslices with --kubeconfig.";
    const message = [messageOf(reason), plan.consequence].filter((part) => part !== "").join("; ");
    return { ...failed(message, remedy), details: details(blocks === true) };
  }
}

/** A URL may carry a password or a token. */
function plainUrl(url = ""): string {
  if (!URL.canParse(url)) return "its URL";
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
