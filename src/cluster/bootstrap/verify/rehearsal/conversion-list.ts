/** The conversion webhooks of a cluster, as its CustomResourceDefinitions tell. */
import { isNotFound } from "../../../kube/errors.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import type { ServiceReference } from "./resolve.js";

export interface Conversion {
  /** Of the definition: `<plural>.<group>`. */
  readonly name: string;
  readonly group: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** As objects are stored, and as somebody may ask for them; the same when there is only one version. */
  readonly from: string;
  readonly to: string;
  readonly clientConfig: { readonly url?: string; readonly service?: ServiceReference; readonly caBundle?: string };
  readonly reviewVersions: readonly string[];
}

interface Version {
  readonly name: string;
  readonly served?: boolean;
  readonly storage?: boolean;
}

interface Definition extends KubeObject {
  readonly spec?: {
    readonly group?: string;
    readonly scope?: string;
    readonly names?: { readonly kind?: string };
    readonly versions?: readonly Version[];
    readonly conversion?: {
      readonly strategy?: string;
      readonly webhook?: {
        readonly clientConfig?: Conversion["clientConfig"];
        readonly conversionReviewVersions?: readonly string[];
      };
    };
  };
}

export async function listConversions(api: KubeApi, signal: AbortSignal): Promise<Conversion[]> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  try {
    return (await api.list<Definition>(path, { signal })).items.flatMap(conversionOf);
  } catch (reason) {
    // A kube-apiserver may be without this API, and then nothing is converted.
    if (isNotFound(reason)) return [];
    throw reason;
  }
}

function conversionOf({ metadata, spec }: Definition): Conversion[] {
  if (spec?.conversion?.strategy !== "Webhook") return [];
  const { clientConfig = {}, conversionReviewVersions = [] } = spec.conversion.webhook ?? {};
  const versions = spec.versions ?? [];
  const stored = versions.find(({ storage }) => storage === true) ?? versions[0];
  const other = versions.find((version) => version !== stored && version.served === true) ?? stored;
  return [
    {
      name: metadata?.name ?? "",
      group: spec.group ?? "",
      kind: spec.names?.kind ?? "",
      namespaced: spec.scope === "Namespaced",
      from: stored?.name ?? "",
      to: other?.name ?? "",
      clientConfig,
      reviewVersions: conversionReviewVersions,
    },
  ];
}
