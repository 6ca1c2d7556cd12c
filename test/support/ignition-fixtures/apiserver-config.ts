/**
 * How the kube-apiserver's configuration is rendered on a bootstrap host: default, then overrides in order; maps are
 * merged, lists and scalars replace, nothing is pruned, and an override of another kind is refused.
 */
import { parse } from "yaml";

export type ApiServerConfig = Record<string, unknown> & { readonly apiServerArguments?: Record<string, string[]> };

export const defaultConfig: ApiServerConfig = {
  apiVersion: "kubecontrolplane.config.openshift.io/v1",
  kind: "KubeAPIServerConfig",
  apiServerArguments: { "enable-aggregator-routing": ["true"], "audit-log-format": ["json"] },
  servingInfo: { bindAddress: "0.0.0.0:6443" },
};

export const bootstrapOverrides: ApiServerConfig = {
  apiServerArguments: { "advertise-address": ["10.0.0.1"], "audit-log-format": ["legacy"] },
};

export function renderedConfig(...overrideFiles: readonly string[]): ApiServerConfig {
  const overrides = overrideFiles.map((text) => {
    // Every override file is a Go template first.
    if (text.includes("{{")) throw new Error("the override is not a plain Go template");
    return parse(text) as ApiServerConfig;
  });
  return [bootstrapOverrides, ...overrides].reduce(merged, defaultConfig);
}

function merged(base: ApiServerConfig, override: ApiServerConfig): ApiServerConfig {
  for (const name of ["apiVersion", "kind"]) {
    if (override[name] !== undefined && override[name] !== base[name]) throw new Error(`another ${name}`);
  }
  return mergedMaps(base, override) as ApiServerConfig;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function mergedMaps(base: Record<string, unknown>, override: Record<string, unknown>): Record<string, unknown> {
  const result = { ...base };
  for (const [name, value] of Object.entries(override)) {
    const below = result[name];
    result[name] = isMap(value) && isMap(below) ? mergedMaps(below, value) : value;
  }
  return result;
}

/** As the kube-apiserver gets them. */
export function flagsOf({ apiServerArguments = {} }: ApiServerConfig): string[] {
  return Object.entries(apiServerArguments).flatMap(([name, values]) => values.map((value) => `--${name}=${value}`));
}
