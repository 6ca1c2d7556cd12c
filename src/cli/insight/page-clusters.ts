/** The clusters that the page asks: the one of the pools and, where that is another one, the one that machines join. */
import type { KubeApi } from "../../cluster/kube/port.js";
import type { Provider } from "../../insight/watch/overview/source.js";
import { type CsrAccess, type CsrFlags, openAccess } from "../csr/shared.js";
import { hostedCluster } from "../flags/kubernetes.js";
import { openObjects } from "../framework/objects.js";
import { approverNamespaceOf } from "../workers/shared.js";

export interface ClusterFlags extends CsrFlags {
  readonly hostedKubeconfig: string;
  readonly hostedContext: string;
  readonly approverNamespace: string;
  readonly decisionLog: string;
}

export interface PageClusters {
  readonly pools: KubeApi;
  /** Whose nodes, requests and inventory. */
  readonly nodes: CsrAccess;
  close(): void;
}

export async function openClusters(flags: ClusterFlags): Promise<PageClusters> {
  const hosted = hostedCluster(flags);
  const namespace = approverNamespaceOf(flags);
  if (hosted === undefined) {
    const nodes = await openAccess(flags, namespace);
    return { pools: nodes.api, nodes, close: () => nodes.api.close() };
  }
  const [{ configMapInventory, withClaimsOf }, joined, pools] = await Promise.all([
    import("../../cluster/nodes/csr/inventory.js"),
    openAccess({ ...flags, ...hosted }, namespace),
    openObjects(flags),
  ]);
  const inventory = withClaimsOf(joined.inventory, configMapInventory(pools, flags.namespace));
  return {
    pools,
    nodes: { ...joined, inventory },
    close: () => {
      pools.close();
      joined.api.close();
    },
  };
}

export async function clusterProviders({ pools, nodes }: PageClusters, flags: ClusterFlags): Promise<Provider[]> {
  const [{ claimsProvider, poolsProvider }, { decisionsProvider }] = await Promise.all([
    import("./page-pools.js"),
    import("./page-decisions.js"),
  ]);
  const ofPools = flags.directory || flags.kubeconfig || flags.context;
  const ofNodes = flags.hostedKubeconfig || flags.hostedContext || ofPools;
  return [
    poolsProvider({ ...nodes, api: pools }, flags.namespace, ofPools),
    claimsProvider(nodes, flags.inventory || ofNodes),
    decisionsProvider(nodes, flags, flags.decisionLog, ofNodes),
  ];
}
