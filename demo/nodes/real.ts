import { createKubeApi } from "../../src/cluster/kube/client.js";
import { kubeconfigEndpoint } from "../../src/cluster/kube/kubeconfig/endpoint.js";
import type { KubeApi } from "../../src/cluster/kube/port.js";
import { PoolCluster } from "../../test/e2e/pool-cluster.js";
import { dropGuard } from "../../test/support/lab/interruption.js";
import { Scope } from "../../test/support/lab/scope.js";
import type { Cluster } from "./cluster.js";

/** etcd, kube-apiserver and the signer of kube-controller-manager, on loopback. */
export class RealCluster implements Cluster {
  readonly description: string;
  readonly version: string;
  readonly signer = "kube-controller-manager";
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  readonly api: KubeApi;
  readonly #pools: PoolCluster;
  readonly #scope: Scope;

  private constructor(scope: Scope, pools: PoolCluster, api: KubeApi, version: string) {
    this.#scope = scope;
    this.#pools = pools;
    this.api = api;
    this.version = version;
    this.description = `etcd, kube-apiserver ${version} and kube-controller-manager's signer are up, drawbridge's roles installed`;
    this.url = pools.plane.api.url;
    this.ca = pools.ca;
    this.token = pools.token;
  }

  static async start(): Promise<RealCluster> {
    const scope = new Scope("nodes-demo");
    // Interrupted, it would end in a hurry; here there is time to take it down in good order.
    dropGuard();
    try {
      const pools = await PoolCluster.start(scope);
      const api = createKubeApi(await kubeconfigEndpoint(pools.plane.adminConfig), { qps: 0, burst: 0 });
      scope.defer(() => api.close());
      const { gitVersion } = JSON.parse(await pools.plane.admin.raw("/version")) as { gitVersion: string };
      return new RealCluster(scope, pools, api, gitVersion);
    } catch (reason) {
      await scope.close();
      throw reason;
    }
  }

  flags(account?: string): string[] {
    return this.#pools.flags(account);
  }

  close(): Promise<void> {
    return this.#scope.close();
  }
}
