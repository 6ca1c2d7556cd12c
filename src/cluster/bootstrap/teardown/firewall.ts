/** What let agents through to the host, and who takes it away. */
import { at, listOf } from "../../../base/at.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
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
  given: FirewallOptions,
  kube: KubeApi | undefined,
  limit: TeardownLimit,
): Promise<ExternalCleanup> {
  const found = kube === undefined ? {} : await clusterFacts(kube, model, limit);
  const platform = given.platform ?? found.platform ?? (model.for === "openshift" ? undefined : "host");
  const { port } = firewallRule(model);
  if (platform === undefined) return unknown(port, "its platform is not known");
  const networks = given.machineNetworks.length > 0 ? given.machineNetworks : (found.machineNetworks ?? []);
  const infraId = given.infraId ?? found.infraId;
  try {
    const { upi, byoNetwork } = given;
    const plan = firewallPlan({
      rule: firewallRule(model),
      platform,
      upi,
      byoNetwork,
      infraId,
      machineNetworks: networks,
    });
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

/** Each is one source of several: what cannot be read is skipped. */
async function clusterFacts(
  kube: KubeApi,
  model: BridgeModel,
  limit: TeardownLimit,
): Promise<Partial<FirewallOptions>> {
  const options = { timeoutMs: limit.requestMs(5_000) };
  if (model.for !== "openshift") {
    const nodes = await kube.list(collectionPath("Node"), options).catch(() => undefined);
    return { machineNetworks: nodePrefixes(nodes?.items ?? []) };
  }
  const get = (path: string): Promise<unknown> => kube.get(path, options).catch(() => undefined);
  const status = at(await get("/apis/config.openshift.io/v1/infrastructures/cluster"), "status");
  const config = await get(namedPath("ConfigMap", { namespace: "kube-system", name: "cluster-config-v1" }));
  const type = String(at(status, "platformStatus", "type")).toLowerCase();
  const isStack = at(status, "platformStatus", "azure", "cloudName") === "AzureStackCloud";
  return {
    platform: isStack ? "azurestack" : platforms.find((name) => name === type && name !== "host"),
    infraId: at(status, "infrastructureName") as string | undefined,
    machineNetworks: machineNetworksIn(yamlValue(at(config, "data", "install-config"))),
  };
}

/** Every node's own address: wider than needed is worse than long. */
function nodePrefixes(nodes: readonly unknown[]): string[] {
  return nodes
    .flatMap((node) => listOf(at(node, "status", "addresses")))
    .filter((entry) => at(entry, "type") === "InternalIP")
    .map((entry) => String(at(entry, "address")))
    .map((address) => `${address}/${address.includes(":") ? 128 : 32}`);
}
