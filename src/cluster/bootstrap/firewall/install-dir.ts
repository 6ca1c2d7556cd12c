/** What an install directory of openshift-install tells about its cluster, whichever of its files are still there. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { type Platform, platforms } from "./plan.js";

export interface InstallDirectoryFacts {
  readonly infraId: string | undefined;
  readonly platform: Platform | undefined;
  readonly machineNetworks: readonly string[];
}

interface InstallConfig {
  readonly platform?: Readonly<Record<string, { readonly cloudName?: string } | undefined>>;
  readonly networking?: { readonly machineNetwork?: readonly { readonly cidr?: string }[] };
}

/** Files that are missing or not readable as what they should be are passed over: each is one source of several. */
export async function readInstallDir(dir: string): Promise<InstallDirectoryFacts> {
  const metadata = await json(join(dir, "metadata.json"));
  const state = await json(join(dir, ".openshift_install_state.json"));
  const config = installConfig(state) ?? (await renderedConfig(dir)) ?? {};
  const clusterId = state["*installconfig.ClusterID"] as { InfraID?: unknown } | undefined;
  const cidrs = (config.networking?.machineNetwork ?? []).map(({ cidr }) => cidr);
  return {
    infraId: text(metadata.infraID) ?? text(clusterId?.InfraID),
    platform: platformOf(metadata as InstallConfig["platform"]) ?? platformOf(config.platform),
    machineNetworks: cidrs.filter((cidr) => cidr !== undefined),
  };
}

function installConfig(state: Readonly<Record<string, unknown>>): InstallConfig | undefined {
  return (state["*installconfig.InstallConfig"] as { config?: InstallConfig } | undefined)?.config;
}

/** Between create manifests and create ignition-configs it also lies in a ConfigMap. */
async function renderedConfig(dir: string): Promise<InstallConfig | undefined> {
  try {
    const map = parse(await readFile(join(dir, "manifests", "cluster-config.yaml"), "utf8"));
    return parse(map.data["install-config"]) as InstallConfig;
  } catch {
    return undefined;
  }
}

function platformOf(sections: InstallConfig["platform"] = {}): Platform | undefined {
  // PowerVC's clusters carry OpenStack's section as well.
  const named = (platform: Platform): boolean => platform !== "host" && Object.hasOwn(sections, platform);
  const name = named("powervc") ? "powervc" : platforms.find(named);
  return name === "azure" && sections.azure?.cloudName === "AzureStackCloud" ? "azurestack" : name;
}

async function json(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (JSON.parse(await readFile(path, "utf8")) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
