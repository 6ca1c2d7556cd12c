import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stringify } from "yaml";
import { FakeNetwork, own } from "../../cluster/bootstrap/address/testing/fake-host.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import { findNetworks } from "./find-networks.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-networks-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const lost = new FakeNetwork([]);
const nothing = { machine: [], pod: [], service: [] };
const api = (objects: Readonly<Record<string, unknown>>, nodes: object[] = []) =>
  ({
    get: async (path: string) => objects[path] ?? Promise.reject(new Error("not found")),
    list: async () => ({ items: nodes }),
  }) as unknown as KubeApi;

test("flags come before the install directory, which comes before the cluster", async () => {
  const networking = {
    machineNetwork: [{ cidr: "10.0.0.0/16" }],
    clusterNetwork: [{ cidr: "10.128.0.0/14", hostPrefix: 23 }],
    serviceNetwork: ["172.30.0.0/16"],
  };
  const state = { "*installconfig.InstallConfig": { config: { networking } } };
  writeFileSync(join(dir, ".openshift_install_state.json"), JSON.stringify(state));
  const found = await findNetworks({
    given: { ...nothing, pod: ["10.4.0.0/14"] },
    dir,
    api: undefined,
    role: "workstation",
    network: lost,
  });
  expect(found).toEqual({
    machine: ["10.0.0.0/16"],
    pod: ["10.4.0.0/14"],
    service: ["172.30.0.0/16"],
    from: "the install directory, flags",
  });
});

test("networks are read from an install-config that was not used yet", async () => {
  writeFileSync(
    join(dir, "install-config.yaml"),
    stringify({ networking: { clusterNetwork: [{ cidr: "fd01::/48" }] } }),
  );
  const found = await findNetworks({ given: nothing, dir, api: undefined, role: "workstation", network: lost });
  expect(found.pod).toEqual(["fd01::/48"]);
});

test("a cluster's networks are read from OpenShift's Network, kubeadm's configuration or the nodes", async () => {
  const of = (given: KubeApi) =>
    findNetworks({ given: nothing, dir: "", api: given, role: "workstation", network: lost });
  const openshift = { spec: { clusterNetwork: [{ cidr: "10.128.0.0/14" }], serviceNetwork: ["172.30.0.0/16"] } };
  expect(await of(api({ "/apis/config.openshift.io/v1/networks/cluster": openshift }))).toMatchObject({
    pod: ["10.128.0.0/14"],
    service: ["172.30.0.0/16"],
    from: "the cluster",
  });
  const kubeadm = {
    data: {
      ClusterConfiguration: stringify({
        networking: { podSubnet: "10.244.0.0/16,fd00::/48", serviceSubnet: "10.96.0.0/12" },
      }),
    },
  };
  expect(await of(api({ "/api/v1/namespaces/kube-system/configmaps/kubeadm-config": kubeadm }))).toMatchObject({
    pod: ["10.244.0.0/16", "fd00::/48"],
    service: ["10.96.0.0/12"],
  });
  expect(await of(api({}, [{ spec: { podCIDRs: ["10.128.1.0/24"] } }]))).toMatchObject({ pod: ["10.128.1.0/24"] });
});

test("the machine network is that of the host's own address, not that of its pods", async () => {
  const network = new FakeNetwork([own("cni0", "10.128.1.1/24"), own("eth0", "192.168.66.10/24")], {
    "1.1.1.1": "192.168.66.10",
  });
  const found = await findNetworks({
    given: nothing,
    dir: "",
    api: undefined,
    role: "server",
    network,
  });
  expect(found).toMatchObject({ machine: ["192.168.66.0/24"], from: "this host's own address" });
});
