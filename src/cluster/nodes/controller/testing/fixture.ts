/** A namespace in a directory, with a healthy cluster and pool that controllers can be let loose on. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../../base/clock.js";
import { KubeApiError } from "../../../kube/errors.js";
import { collectionPath, namedPath } from "../../../kube/paths.js";
import type { KubeApi } from "../../../kube/port.js";
import { type ConfigMap, encoded, type Secret } from "../../objects.js";
import { CLUSTER_LABEL } from "../../pool/input.js";
import { NODE_POOL_VERSION, type NodePool, type NodePoolSpec } from "../../pool/node-pool.js";
import { PoolController, type PoolControllerOptions } from "../controller.js";
import { createDirectoryApi } from "../directory.js";

export const namespace = "clusters";
/** Where HyperShift would keep the Secrets of the cluster. */
export const controllerNamespace = "clusters-demo";

export const clusterMap: ConfigMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "demo", namespace, labels: { [CLUSTER_LABEL]: "true" } },
  data: {
    apiServer: "https://api.example:6443",
    apiServerCA: "PEM\n",
    ignitionEndpoint: "ignition.example",
    ignitionCA: "PEM\n",
    version: "4.18.0",
    pullSecret: "pull-secret",
  },
};

export const pullSecret: Secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "pull-secret", namespace },
  data: { ".dockerconfigjson": encoded("{}") },
};

export const poolSpec: NodePoolSpec = {
  clusterName: "demo",
  release: { image: "registry.example/release:4.18.0" },
  platform: { type: "None" },
  management: { upgradeType: "InPlace" },
};

export function makePool(name = "workers", change: Partial<NodePoolSpec> = {}): NodePool {
  return {
    apiVersion: NODE_POOL_VERSION,
    kind: "NodePool",
    metadata: { name, namespace },
    spec: { ...poolSpec, ...change },
  };
}

/** In memory where that can be had: every write waits for its disk. */
const scratch = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export class PoolFixture {
  readonly directory = mkdtempSync(join(scratch, "drawbridge-fixture-"));
  readonly api: KubeApi;
  readonly errors: string[] = [];
  readonly passes: string[] = [];
  /** Added to the real time. */
  aheadMs = 0;
  /** How much faster delays pass than they should. */
  pace = 1;
  /** When it returns true the call fails as if the API server were away. */
  isAway: (verb: string, path: string) => boolean = () => false;
  /** Creations wait for it. */
  hold: Promise<void> = Promise.resolve();
  readonly #controllers: PoolController[] = [];

  /** On its directory, unless it has objects elsewhere. */
  constructor(api?: KubeApi) {
    this.api = api ?? createDirectoryApi({ directory: this.directory, pollMs: 5 });
  }

  readonly clock: Clock = {
    now: () => performance.now() + this.aheadMs,
    date: () => Date.now() + this.aheadMs,
    after: (ms, run) => {
      const timer = setTimeout(run, ms / this.pace);
      return () => clearTimeout(timer);
    },
  };

  async addObjects(...pools: readonly NodePool[]): Promise<void> {
    await this.api.create(collectionPath("ConfigMap", namespace), clusterMap);
    await this.api.create(collectionPath("Secret", namespace), pullSecret);
    for (const pool of pools) await this.api.create(collectionPath("NodePool", namespace), pool);
  }

  start(change: Partial<PoolControllerOptions> = {}): PoolController {
    const controller = new PoolController({
      api: this.#breakable(),
      namespace,
      clock: this.clock,
      leading: () => true,
      onError: (sentence) => this.errors.push(sentence),
      onPass: (key) => this.passes.push(key),
      ...change,
    });
    this.#controllers.push(controller);
    controller.start();
    return controller;
  }

  pool(name = "workers"): Promise<NodePool> {
    return this.api.get(namedPath("NodePool", { namespace, name }));
  }

  async change(name: string, change: (pool: NodePool) => NodePool): Promise<void> {
    for (;;) {
      try {
        await this.api.update(namedPath("NodePool", { namespace, name }), change(await this.pool(name)));
        return;
      } catch (reason) {
        if (!(reason instanceof KubeApiError) || reason.status !== 409) throw reason;
      }
    }
  }

  async secrets(prefix: string): Promise<Secret[]> {
    const { items } = await this.api.list<Secret>(collectionPath("Secret", namespace));
    return items.filter(({ metadata }) => metadata?.name?.startsWith(prefix));
  }

  /** The directory goes too, unless something is still to be looked at. */
  async close(removes = true): Promise<void> {
    for (const controller of this.#controllers.splice(0)) await controller.stop();
    if (removes) rmSync(this.directory, { recursive: true, force: true });
  }

  #breakable(): KubeApi {
    const check = (verb: string, path: string) => {
      if (this.isAway(verb, path)) throw new KubeApiError(`${verb} ${path} got no answer`, { status: 0 });
    };
    const { api } = this;
    return {
      ...api,
      get: async (path, options) => {
        check("get", path);
        return api.get(path, options);
      },
      create: async (path, object, options) => {
        check("create", path);
        await this.hold;
        return api.create(path, object, options);
      },
      update: async (path, object, options) => {
        check("update", path);
        return api.update(path, object, options);
      },
      delete: async (path, options) => {
        check("delete", path);
        return api.delete(path, options);
      },
    };
  }
}
