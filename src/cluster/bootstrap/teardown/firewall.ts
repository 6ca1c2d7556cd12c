/** What let agents through to the host, and who takes it away. */

import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { firewallPlan } from "../firewall/make-plan.js";
import { type Platform, platforms } from "../firewall/plan.js";
import { machineNetworksIn, yamlValue } from "../install-dir.js";
import { firewallRule } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import type { ExternalCleanup } from "./receipt.js";
import type { TeardownLimit } from "./release.js";

export interface FirewallOptions {
  readonly platform: Platform | undefined;
  readonly upi: boolean;
  readonly byoNetwork: boolean;
  readonly infraId: string | undefined;
  readonly machineNetworks: readonly string[];
}

/** From flags first, then from what the cluster says of itself. */
export async function externalCleanup(
  model: BridgeModel,
  wishes: FirewallOptions,
  kube: KubeApi | undefined,
  limit: TeardownLimit,
): Promise<ExternalCleanup> {
  const found = kube === undefined ? {} : await clusterFacts(kube, model, limit);
  const platform = wishes.platform ?? found.platform ?? (model.for === "openshift" ? undefined : "host");
  const { port } = firewallRule(model);
  if (platform === undefined) return unknown(port, "its platform is not known");
  const told = wishes.machineNetworks.length > 0 ? wishes.machineNetworks : (found.machineNetworks ?? []);
  const infraId = wishes.infraId ?? found.infraId;
  try {
    const { upi, byoNetwork } = wishes;
    const plan = firewallPlan({ rule: firewallRule(model), platform, upi, byoNetwork, infraId, machineNetworks: told });
    const { rule, where, removed, forgotten, remove } = plan;
    return { firewall: { platform, rule, where, removed, forgotten, remove }, notes: [] };
  } catch {
    return unknown(port, "the networks of the nodes are not known", platform);
  }
}

function unknown(port: number, why: string, platform?: Platform): ExternalCleanup {
  const name = platform === undefined ? "--platform NAME" : `--platform ${platform}`;
  const note = `Rules that let TCP ${port} through to the bootstrap host, if any were opened: ${why}, so ask drawbridge firewall plan ${name} --machine-network PREFIX.`;
  return { firewall: undefined, notes: [note] };
}

interface FirewallFacts {
  readonly platform?: Platform;
  readonly infraId?: string;
  readonly machineNetworks?: readonly string[];
}

interface Infrastructure extends KubeObject {
  readonly status?: {
    readonly infrastructureName?: string;
    readonly platformStatus?: { readonly type?: string; readonly azure?: { readonly cloudName?: string } };
  };
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface Node extends KubeObject {
  readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/** Each is one source of several: what cannot be read is passed over. */
async function clusterFacts(kube: KubeApi, model: BridgeModel, limit: TeardownLimit): Promise<FirewallFacts> {
  const get = <T extends KubeObject>(path: string): Promise<T | undefined> =>
    kube.get<T>(path, { timeoutMs: limit.requestMs(5_000) }).catch(() => undefined);
  if (model.for !== "openshift") return { machineNetworks: await nodePrefixes(kube, limit) };
  const infrastructure = await get<Infrastructure>("/apis/config.openshift.io/v1/infrastructures/cluster");
  const config = await get<ConfigMap>(namedPath("ConfigMap", { namespace: "kube-system", name: "cluster-config-v1" }));
  const { infrastructureName, platformStatus } = infrastructure?.status ?? {};
  const type = platformStatus?.type?.toLowerCase();
  const stack = platformStatus?.azure?.cloudName === "AzureStackCloud";
  const platform = stack ? "azurestack" : platforms.find((name) => name === type && name !== "host");
  return {
    ...(platform !== undefined && { platform }),
    ...(infrastructureName !== undefined && { infraId: infrastructureName }),
    machineNetworks: machineNetworksIn(yamlValue(config?.data?.["install-config"])),
  };
}

/** Every node's own address: wider than needed is worse than long. */
async function nodePrefixes(kube: KubeApi, limit: TeardownLimit): Promise<string[]> {
  const nodes = await kube
    .list<Node>(collectionPath("Node"), { timeoutMs: limit.requestMs(5_000) })
    .catch(() => ({ items: [] as readonly Node[] }));
  return nodes.items
    .flatMap(({ status }) => status?.addresses ?? [])
    .filter(({ type }) => type === "InternalIP")
    .map(({ address }) => `${address}/${address.includes(":") ? 128 : 32}`);
}
