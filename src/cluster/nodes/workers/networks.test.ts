import { beforeEach, describe, expect, test } from "vitest";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath, namedPath, typed } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { createMemoryApi } from "../testing/memory-api.js";
import { machineNetworks } from "./networks.js";

const metadata = { namespace: "clusters", name: "demo" };
const pool = { metadata: { namespace: "clusters", name: "workers" }, spec: { clusterName: "demo" } };
let api: KubeApi;
let hosted: KubeObject | KubeApiError;
beforeEach(() => {
  const objects = createMemoryApi();
  hosted = new KubeApiError("there is none", { status: 404 });
  const isHosted = (path: string) => path === namedPath("HostedCluster", metadata);
  api = {
    ...objects,
    get: async <T extends KubeObject>(path: string) => {
      if (!isHosted(path)) return objects.get<T>(path);
      if (hosted instanceof KubeApiError) throw hosted;
      return hosted as T;
    },
  };
});

const putMap = (networks: string) =>
  api.create<KubeObject>(collectionPath("ConfigMap", "clusters"), typed("ConfigMap", { metadata, data: { networks } }));
const putHosted = (...cidrs: readonly string[]) => {
  const spec = { networking: { machineNetwork: cidrs.map((cidr) => ({ cidr })) } };
  hosted = typed("HostedCluster", { metadata, spec });
};

describe("the networks of a pool's machines", () => {
  test("are those that are given, whatever the cluster says", async () => {
    putHosted("10.0.0.0/16");
    expect(await machineNetworks(api, pool, ["192.0.2.0/24"])).toEqual(["192.0.2.0/24"]);
  });

  test("are those of the cluster's ConfigMap", async () => {
    await putMap("machine: [10.1.0.0/16]");
    putHosted("10.0.0.0/16");
    expect(await machineNetworks(api, pool, [])).toEqual(["10.1.0.0/16"]);
  });

  test("are a HostedCluster's machineNetwork, where HyperShift has the pool", async () => {
    putHosted("10.0.0.0/16", "fd00::/48");
    expect(await machineNetworks(api, pool, [])).toEqual(["10.0.0.0/16", "fd00::/48"]);
  });

  test("are not known without either, and for somebody who may not read HostedClusters", async () => {
    expect(await machineNetworks(api, pool, [])).toEqual([]);
    hosted = new KubeApiError("forbidden", { status: 403 });
    expect(await machineNetworks(api, pool, [])).toEqual([]);
    hosted = new KubeApiError("it does not answer", { status: 0 });
    await expect(machineNetworks(api, pool, [])).rejects.toThrow("it does not answer");
  });

  test("are refused with a sentence when they are none", async () => {
    putHosted("everywhere");
    await expect(machineNetworks(api, pool, [])).rejects.toThrow(
      'the networks of cluster clusters/demo cannot be used: "everywhere" is not a network',
    );
  });
});
