/**
 * Rehearsals: every webhook and aggregated API is called through the tunnel as the kube-apiserver would call it now, as a
 * dry run.
 */
import { type Check, CheckFailure, fail, type Outcome, pass, skip } from "../../../base/check.js";
import { messageOf } from "../../../base/errors/error.js";
import type { KubeApi } from "../../kube/port.js";
import { plainUrl } from "../verify/plain-text.js";
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

export interface RehearsalPlan {
  readonly id: string;
  readonly title: string;
  readonly url?: string;
  readonly service?: ServiceReference;
  /** Why there is nothing to call. */
  readonly unneeded?: string;
  readonly details: NonNullable<Outcome["details"]>;
  /** What a failure means for users of the cluster; may be empty. */
  readonly consequence: string;
  /** Whether a failure makes the kube-apiserver refuse requests. */
  readonly blocks?: boolean;
  /** Throws a CheckFailure where a kube-apiserver would not even call. */
  prepare(service: ServiceReference, api: KubeApi, signal: AbortSignal): Promise<PlannedCall>;
}

export interface PlannedCall extends Omit<ServiceCall, "service"> {
  /** Throws a CheckFailure where a kube-apiserver would count the call as failed. */
  judge(result: CallResult): Pick<Outcome, "evidence" | "details">;
}

export async function rehearsals(
  route: ServiceRoute,
  api: KubeApi,
  { webhooks, conversions }: RehearsalSelection,
  signal: AbortSignal,
): Promise<Check[]> {
  const all = webhooks.length === 0 && conversions.length === 0;
  const planned: Check[] = [];
  const add = async <T>(names: readonly string[], kind: RehearsalKind<T>): Promise<void> => {
    if (!all && names.length === 0) return;
    try {
      planned.push(...select(await kind.list(api, signal), names, kind, (plan) => checkOf(route, api, plan)));
    } catch (reason) {
      const remedy = `Give a kubeconfig whose user may list ${kind.lists} with --kubeconfig.`;
      planned.push(settled(kind.id, kind.title, fail(messageOf(reason), remedy)));
    }
  };
  await add(webhooks, {
    ...{ id: "webhooks", title: "Admission webhooks", lists: "webhook configurations" },
    ...{ list: listWebhooks, plan: planWebhook },
    isNamed: (webhook, wanted) => wanted === webhook.name || wanted === webhook.configuration,
    unknown: (name) => ({
      ...{ id: `webhook:${name}`, title: `Webhook ${name}`, evidence: `no webhook or configuration is named ${name}` },
      remedy: `Compare --webhook with kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations.`,
    }),
  });
  await add(conversions, {
    ...{ id: "conversions", title: "Conversion webhooks", lists: "CustomResourceDefinitions" },
    ...{ list: listConversions, plan: planConversion },
    isNamed: ({ name }, wanted) => wanted === name,
    unknown: (name) => ({
      ...{ id: `conversion:${name}`, title: `Conversion webhook of ${name}` },
      evidence: `no CustomResourceDefinition named ${name} has a conversion webhook`,
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
  unknown?(name: string): { id: string; title: string; evidence: string; remedy: string };
}

function select<T>(
  found: readonly T[],
  names: readonly string[],
  { id, title, plan, isNamed, unknown }: RehearsalKind<T>,
  check: (plan: RehearsalPlan) => Check,
): Check[] {
  const checks = (some: readonly T[]): Check[] => some.map((one) => check(plan(one)));
  if (names.length === 0)
    return found.length === 0 ? [settled(id, title, skip("the cluster has none"))] : checks(found);
  return names.flatMap((name) => {
    const named = found.filter((one) => isNamed?.(one, name));
    const none = unknown?.(name);
    return named.length > 0 || none === undefined
      ? checks(named)
      : [settled(none.id, none.title, fail(none.evidence, none.remedy))];
  });
}

function settled(id: string, title: string, outcome: Outcome): Check {
  return { id, title, run: async () => outcome };
}

function checkOf(route: ServiceRoute, api: KubeApi, plan: RehearsalPlan): Check {
  return { id: plan.id, title: plan.title, run: (signal) => rehearse(route, api, plan, signal) };
}

async function rehearse(route: ServiceRoute, api: KubeApi, plan: RehearsalPlan, signal: AbortSignal): Promise<Outcome> {
  const { service, url, unneeded, blocks } = plan;
  if (service === undefined) return skip(`${plainUrl(url)} is called directly, not through the tunnel`);
  if (isApiItself(service)) return skip("the kube-apiserver calls itself here, not through the tunnel");
  if (unneeded !== undefined) return skip(unneeded);
  const details = (blocking: boolean) => ({ ...plan.details, ...(blocks !== undefined && { blocks: blocking }) });
  try {
    const call = await plan.prepare(service, api, signal);
    const result = await callService(route, api, { ...call, service }, signal);
    const { evidence, details: more } = call.judge(result);
    const { address: dialled, dialMs, tlsMs } = result;
    return pass(evidence, { ...details(false), dialled, dialMs, tlsMs, ...more });
  } catch (reason) {
    signal.throwIfAborted();
    const remedy =
      reason instanceof CheckFailure
        ? reason.remedy
        : "Give a kubeconfig whose user may read services and endpointslices with --kubeconfig.";
    const evidence = [messageOf(reason), plan.consequence].filter((part) => part !== "").join("; ");
    return fail(evidence, remedy, details(blocks === true));
  }
}
