/** Which calls are rehearsed. */
import { messageOf } from "../../../errors/error.js";
import type { KubeApi } from "../../../kube/port.js";
import type { Bridge } from "../bridge.js";
import { type Check, fail, skip } from "../check.js";
import { apiServiceCheck, listApiServices } from "./api-service.js";
import { webhookCheck } from "./webhook.js";
import { isNamed, listWebhooks } from "./webhook-list.js";

/** `names`: only these webhooks; empty: all, and all aggregated APIs. */
export async function rehearsalChecks(
  bridge: Bridge,
  api: KubeApi,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Check[]> {
  const webhooks = await webhookChecks(bridge, api, names, signal);
  return names.length > 0 ? webhooks : [...webhooks, ...(await apiServiceChecks(bridge, api, signal))];
}

async function webhookChecks(
  bridge: Bridge,
  api: KubeApi,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Check[]> {
  const title = "Admission webhooks";
  try {
    const all = await listWebhooks(api, signal);
    if (names.length === 0) {
      if (all.length === 0) return [settled("webhooks", title, skip("the cluster has none"))];
      return all.map((webhook) => webhookCheck(bridge, api, webhook));
    }
    return names.flatMap((name) => {
      const found = all.filter((webhook) => isNamed(webhook, name));
      if (found.length > 0) return found.map((webhook) => webhookCheck(bridge, api, webhook));
      const remedy = `Compare --webhook with kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations.`;
      return [
        settled(`webhook:${name}`, `Webhook ${name}`, fail(`no webhook or configuration is named ${name}`, remedy)),
      ];
    });
  } catch (reason) {
    return [settled("webhooks", title, fail(messageOf(reason), mayRead("webhook configurations")))];
  }
}

async function apiServiceChecks(bridge: Bridge, api: KubeApi, signal: AbortSignal): Promise<Check[]> {
  const title = "Aggregated APIs";
  try {
    const all = await listApiServices(api, signal);
    if (all.length === 0) return [settled("apiservices", title, skip("the cluster has none"))];
    return all.map((apiService) => apiServiceCheck(bridge, api, apiService));
  } catch (reason) {
    return [settled("apiservices", title, fail(messageOf(reason), mayRead("APIServices")))];
  }
}

const mayRead = (what: string): string => `Give a kubeconfig whose user may list ${what} with --kubeconfig.`;

function settled(id: string, title: string, outcome: Awaited<ReturnType<Check["run"]>>): Check {
  return { id, title, run: async () => outcome };
}
