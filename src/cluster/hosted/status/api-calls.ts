/** Questions that only a call through the tunnel answers: webhooks and aggregated APIs. */
import { type Check, fail, type Outcome, pass, skip } from "../../../base/check.js";
import { messageOf } from "../../../base/errors/error.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { PROBE_LABEL, probeWebhook, removeForgotten, type WebhookTarget } from "./webhook-probe.js";

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig: { readonly service?: WebhookTarget["service"]; readonly caBundle?: string };
    readonly sideEffects?: string;
    readonly failurePolicy?: string;
    readonly timeoutSeconds?: number;
  }[];
}

interface ApiService extends KubeObject {
  readonly spec?: {
    readonly service?: { readonly name: string; readonly namespace: string } | null;
    readonly group?: string;
    readonly version?: string;
  };
}

const REGISTRATION = "/apis/admissionregistration.k8s.io/v1";

export async function callingChecks(hosted: KubeApi | undefined): Promise<Check<void>[]> {
  if (hosted === undefined) return [];
  await removeForgotten(hosted);
  return [...(await webhookChecks(hosted)), ...(await apiServiceChecks(hosted))];
}

async function webhookChecks(hosted: KubeApi): Promise<Check<void>[]> {
  const checks: Check<void>[] = [];
  for (const plural of ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]) {
    const { items } = await hosted.list<WebhookConfiguration>(`${REGISTRATION}/${plural}`);
    for (const { metadata, webhooks = [] } of items) {
      if (metadata?.labels?.[PROBE_LABEL] !== undefined) continue;
      for (const { name, clientConfig, ...webhook } of webhooks) {
        const { service, caBundle } = clientConfig;
        // By URL it is called directly, past the tunnel.
        if (service === undefined) continue;
        checks.push({
          id: `webhook:${metadata?.name}/${name}`,
          title: `Webhook ${name}`,
          run: async () => {
            if (webhook.sideEffects !== "None" && webhook.sideEffects !== "NoneOnDryRun")
              return skip(`it declares side effects (${webhook.sideEffects}), so it is not called`);
            const { failurePolicy = "Fail", timeoutSeconds = 10 } = webhook;
            return probeWebhook(hosted, { service, caBundle, failurePolicy, timeoutSeconds });
          },
        });
      }
    }
  }
  return checks.length > 0 ? checks : [none("webhooks", "Webhooks in the hosted cluster")];
}

async function apiServiceChecks(hosted: KubeApi): Promise<Check<void>[]> {
  const { items } = await hosted.list<ApiService>("/apis/apiregistration.k8s.io/v1/apiservices");
  const served = items.filter(({ spec }) => spec?.service != null);
  const checks = served.map(({ metadata, spec }) => ({
    id: `apiservice:${metadata?.name}`,
    title: `Aggregated API ${metadata?.name}`,
    run: async (): Promise<Outcome> => {
      const { group, version, service } = spec!;
      try {
        await hosted.get(`/apis/${group}/${version}`, { timeoutMs: 30_000 });
        return pass(`${service?.namespace}/${service?.name} answered`);
      } catch (reason) {
        return fail(
          messageOf(reason),
          "See the APIService's status and the pods behind its Service; if the control plane serves it, its address must be among aggregatedApis.",
          { effect: "its kinds cannot be read or written, and namespaces are not deleted" },
        );
      }
    },
  }));
  return checks.length > 0 ? checks : [none("apiservices", "Aggregated APIs")];
}

const none = (id: string, title: string): Check<void> => ({
  id,
  title,
  run: async () => skip("there is none to be asked"),
});
