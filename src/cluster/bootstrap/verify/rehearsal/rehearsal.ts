/** Which calls are rehearsed. */
import { type Check, fail, skip } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import type { KubeApi } from "../../../kube/port.js";
import type { Bridge } from "../bridge.js";
import { apiServiceCheck, listApiServices } from "./api-service.js";
import { conversionCheck } from "./conversion.js";
import { listConversions } from "./conversion-list.js";
import { webhookCheck } from "./webhook.js";
import { isNamed, listWebhooks } from "./webhook-list.js";

/** Only what is named; nothing named: all of them, and all aggregated APIs. */
export interface Only {
  /** By their own or their configuration's name. */
  readonly webhooks: readonly string[];
  /** By their CustomResourceDefinition. */
  readonly conversions: readonly string[];
}

export async function rehearsalChecks(bridge: Bridge, api: KubeApi, only: Only, signal: AbortSignal): Promise<Check[]> {
  const { webhooks, conversions } = only;
  const all = webhooks.length === 0 && conversions.length === 0;
  const checks = [];
  if (all || webhooks.length > 0) checks.push(...(await webhookChecks(bridge, api, webhooks, signal)));
  if (all || conversions.length > 0) checks.push(...(await conversionChecks(bridge, api, conversions, signal)));
  if (all) checks.push(...(await apiServiceChecks(bridge, api, signal)));
  return checks;
}

function webhookChecks(bridge: Bridge, api: KubeApi, names: readonly string[], signal: AbortSignal): Promise<Check[]> {
  return checksOf(names, {
    ...{ id: "webhooks", title: "Admission webhooks", lists: "webhook configurations" },
    find: () => listWebhooks(api, signal),
    check: (webhook) => webhookCheck(bridge, api, webhook),
    named: { is: isNamed, none: unknownWebhook },
  });
}

function conversionChecks(
  bridge: Bridge,
  api: KubeApi,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Check[]> {
  return checksOf(names, {
    ...{ id: "conversions", title: "Conversion webhooks", lists: "CustomResourceDefinitions" },
    find: () => listConversions(api, signal),
    check: (conversion) => conversionCheck(bridge, api, conversion),
    named: { is: ({ name }, wanted) => name === wanted, none: unknownConversion },
  });
}

interface Kind<T> {
  readonly id: string;
  readonly title: string;
  /** What a user must be allowed to list. */
  readonly lists: string;
  find(): Promise<readonly T[]>;
  check(one: T): Check;
  /** Where single ones can be asked for. */
  readonly named?: { is(one: T, wanted: string): boolean; none(name: string): Check };
}

async function checksOf<T>(names: readonly string[], kind: Kind<T>): Promise<Check[]> {
  const { id, title } = kind;
  try {
    const all = await kind.find();
    if (names.length === 0) {
      if (all.length === 0) return [settled(id, title, skip("the cluster has none"))];
      return all.map((one) => kind.check(one));
    }
    return names.flatMap((name) => {
      const found = all.filter((one) => kind.named?.is(one, name));
      if (found.length > 0) return found.map((one) => kind.check(one));
      return kind.named?.none(name) ?? [];
    });
  } catch (reason) {
    return [settled(id, title, fail(messageOf(reason), mayRead(kind.lists)))];
  }
}

function apiServiceChecks(bridge: Bridge, api: KubeApi, signal: AbortSignal): Promise<Check[]> {
  return checksOf([], {
    ...{ id: "apiservices", title: "Aggregated APIs", lists: "APIServices" },
    find: () => listApiServices(api, signal),
    check: (apiService) => apiServiceCheck(bridge, api, apiService),
  });
}

function unknownWebhook(name: string): Check {
  const remedy = `Compare --webhook with kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations.`;
  const evidence = `no webhook or configuration is named ${name}`;
  return settled(`webhook:${name}`, `Webhook ${name}`, fail(evidence, remedy));
}

function unknownConversion(name: string): Check {
  const remedy = "Compare --conversion with kubectl get customresourcedefinitions.";
  const evidence = `no CustomResourceDefinition named ${name} has a conversion webhook`;
  return settled(`conversion:${name}`, `Conversion webhook of ${name}`, fail(evidence, remedy));
}

const mayRead = (what: string): string => `Give a kubeconfig whose user may list ${what} with --kubeconfig.`;

function settled(id: string, title: string, outcome: Awaited<ReturnType<Check["run"]>>): Check {
  return { id, title, run: async () => outcome };
}
