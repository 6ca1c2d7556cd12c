/** What let agents through to the host, and who takes it away. */
import { at, listOf } from "../../../base/at.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { firewallPlan } from "../firewall/make-plan.js";
import { type ClusterNetwork, completedNetwork, type FoundNetwork, platforms } from "../firewall/plan.js";
import { machineNetworksIn } from "../install-dir.js";
import { firewallRule } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { yamlOf } from "../settings/programs.js";
import type { Receipt } from "./receipt.js";
import type { TeardownLimit } from "./scope.js";

/** From flags first, then from what the cluster says of itself. */
export async function externalCleanup(
  model: BridgeModel,
  given: ClusterNetwork,
  kube: KubeApi | undefined,
  limit: TeardownLimit,
): Promise<Receipt["others"]> {
  const network = completedNetwork(given, kube && (await networkOf(kube, model, limit)));
  const platform = network.platform ?? (model.for === "openshift" ? undefined : "host");
  const rule = firewallRule(model);
  const unknown = (why: string, name = "NAME") => ({
    firewall: undefined,
    notes: [
      `Rules that let TCP ${rule.port} through to the bootstrap host, if any were opened: ${why}, so ask drawbridge firewall plan --platform ${name} --machine-network PREFIX.`,
    ],
  });
  if (platform === undefined) return unknown("its platform is not known");
  try {
    const { where, removed, forgotten, remove } = firewallPlan({ ...network, platform, rule });
    return { firewall: { platform, rule, where, removed, forgotten, remove }, notes: [] };
  } catch {
    return unknown("the networks of the nodes are not known", platform);
  }
}

/** Each is one source of several: what cannot be read is skipped. */
async function networkOf(kube: KubeApi, model: BridgeModel, limit: TeardownLimit): Promise<FoundNetwork> {
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
    machineNetworks: machineNetworksIn(yamlOf(at(config, "data", "install-config"))),
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
