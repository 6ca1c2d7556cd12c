/**
 * Rehearsals: every webhook and aggregated API is called through the tunnel as the kube-apiserver would call it now, as a
 * dry run.
 */
import { messageOf } from "../../../base/errors/error.js";
import { CheckFailure, failed, type Judgement, ok, skipped } from "../../../base/finding.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import { type Check, defineCheck } from "../check.js";
import { apiServiceRehearsal, listApiServices, listConversions, listWebhooks, webhookRehearsal } from "./calls.js";
import {
  type CallResult,
  callService,
  type ServiceCall,
  type ServiceReference,
  type ServiceRoute,
} from "./service-call.js";

/** Names of the only calls to rehearse; without any name: all of them, and all aggregated APIs. */
export interface RehearsalSelection {
  /** By their own or their configuration's name. */
  readonly webhooks: readonly string[];
  /** By their CustomResourceDefinition. */
  readonly conversions: readonly string[];
}

/** A call that the kube-apiserver makes, and how it is rehearsed. */
export interface Rehearsal {
  /** Stable, for scripts. */
  readonly id: string;
  readonly about: string;
  /** Names by which a user may select it. */
  readonly names: readonly string[];
  readonly target: { readonly url?: string; readonly service?: ServiceReference | null };
  /** Why there is nothing to call. */
  readonly unneeded?: string;
  readonly details: NonNullable<Judgement["details"]>;
  /** What a failure means for users of the cluster. */
  readonly consequence?: string | undefined;
  /** Whether a failure makes the kube-apiserver refuse requests. */
  readonly blocks?: boolean;
  /** Throws a CheckFailure where a kube-apiserver would not call, or would count the call as failed. */
  perform(service: ServiceReference, caller: RehearsalCaller): Promise<Pick<Judgement, "message" | "details">>;
}

export interface RehearsalCaller {
  readonly api: KubeApi;
  readonly signal: AbortSignal;
  call(call: ServiceCall): Promise<CallResult>;
}

/** `lists`: the objects that a user must be allowed to list. `unknown`: the check of a name that is not in the cluster. */
const KINDS = [
  {
    id: "webhooks",
    ...{ about: "Admission webhooks", lists: "webhook configurations" },
    list: async (api: KubeApi, signal: AbortSignal) => (await listWebhooks(api, signal)).map(webhookRehearsal),
    unknown(name: string) {
      const remedy =
        "Compare --webhook with kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations.";
      const judgement = failed(`no webhook or configuration is named ${name}`, remedy);
      return [action(`webhook:${name}`, `Webhook ${name}`, judgement)];
    },
  },
  {
    id: "conversions",
    ...{ about: "Conversion webhooks", lists: "CustomResourceDefinitions", list: listConversions },
    unknown(name: string) {
      const remedy = "Compare --conversion with kubectl get customresourcedefinitions.";
      const judgement = failed(`no CustomResourceDefinition named ${name} has a conversion webhook`, remedy);
      return [action(`conversion:${name}`, `Conversion webhook of ${name}`, judgement)];
    },
  },
  {
    id: "apiservices",
    ...{ about: "Aggregated APIs", lists: "APIServices", unknown: () => [] },
    list: async (api: KubeApi, signal: AbortSignal) => (await listApiServices(api, signal)).map(apiServiceRehearsal),
  },
] as const;

/** A check for each call. */
export async function rehearsals(
  route: ServiceRoute,
  api: KubeApi,
  { webhooks, conversions }: RehearsalSelection,
  signal: AbortSignal,
): Promise<Check[]> {
  const isAll = webhooks.length + conversions.length === 0;
  const wanted = { webhooks, conversions, apiservices: [] };
  const checks = KINDS.map(async ({ id, about, lists, list, unknown }): Promise<Check[]> => {
    if (!isAll && wanted[id].length === 0) return [];
    try {
      const found = await list(api, signal);
      const checksOf = (some: readonly Rehearsal[]) => some.map((one) => checkOf(one, route, api));
      if (isAll) return found.length > 0 ? checksOf(found) : [action(id, about, skipped("the cluster has none"))];
      return wanted[id].flatMap((name) => {
        const named = found.filter(({ names }) => names.includes(name));
        return named.length > 0 ? checksOf(named) : unknown(name);
      });
    } catch (reason) {
      const remedy = `Give a kubeconfig whose user may list ${lists} with --kubeconfig.`;
      return [action(id, about, failed(messageOf(reason), remedy))];
    }
  });
  return (await Promise.all(checks)).flat();
}

/** A check whose question is an action, or one that is judged already. */
export function action(
  id: string,
  about: string,
  perform: Judgement | ((signal: AbortSignal) => Promise<Judgement>),
): Check {
  return defineCheck({
    ...{ id, about, needs: [] },
    judge: (_, signal) => (typeof perform === "function" ? perform(signal) : perform),
  });
}

function checkOf(rehearsal: Rehearsal, route: ServiceRoute, api: KubeApi): Check {
  const { id, about, target, unneeded, blocks, consequence, perform } = rehearsal;
  const { service, url } = target;
  const details = (isBlocking: boolean) => ({
    ...rehearsal.details,
    ...(blocks !== undefined && { blocks: isBlocking }),
  });
  return action(id, about, async (signal) => {
    if (service == null) return skipped(`${plainUrl(url)} is called directly, not through the tunnel`);
    if (isApiItself(service)) return skipped("the kube-apiserver calls itself here, not through the tunnel");
    if (unneeded !== undefined) return skipped(unneeded);
    try {
      const call = (one: ServiceCall) => callService(route, api, service, one, signal);
      const { message, details: more } = await perform(service, { api, signal, call });
      return { ...ok(message), details: { ...details(false), ...more } };
    } catch (reason) {
      signal.throwIfAborted();
      const remedy =
        reason instanceof CheckFailure
          ? reason.remedy
          : "Give a kubeconfig whose user may read services and endpointslices with --kubeconfig.";
      const message = consequence === undefined ? messageOf(reason) : `${messageOf(reason)}; ${consequence}`;
      return { ...failed(message, remedy), details: details(blocks === true) };
    }
  });
}

/** The kube-apiserver's own service, which it never dials through a tunnel. */
const isApiItself = ({ namespace, name, port = 443 }: ServiceReference): boolean =>
  namespace === "default" && name === "kubernetes" && port === 443;

/** The URL without its login and its query, which may hold a password or a token. */
function plainUrl(url = ""): string {
  if (!URL.canParse(url)) return "its URL";
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
