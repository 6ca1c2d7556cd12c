/** The cluster's networks: as given, as the install directory has them, as the cluster has them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { at, listOf } from "../../base/at.js";
import type { HostNetwork } from "../../cluster/bootstrap/address/host-network.js";
import { parseNetwork } from "../../cluster/bootstrap/address/ip.js";
import { textAt, yamlOf } from "../../cluster/bootstrap/settings/programs.js";
import { collectionPath, namedPath } from "../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../cluster/kube/port.js";
import type { DoctorRole } from "./programs.js";

type Found = Readonly<Record<"machine" | "pod" | "service", readonly string[]>>;

export interface NetworkSources {
  readonly given: Found;
  /** The install directory of openshift-install, if there is one. */
  readonly dir: string;
  readonly api: KubeApi | undefined;
  readonly role: DoctorRole;
  readonly network: HostNetwork;
}

const TIMEOUT = { timeoutMs: 10_000 };
const none: Found = { machine: [], pod: [], service: [] };

/** Each kind from the first source that has it. `from` names the sources: "flags", "the install directory", ... */
export async function findNetworks({ given, dir, api, role, network }: NetworkSources) {
  const isServers = role === "server" || role === "bootstrap";
  const found: readonly (readonly [string, Found])[] = [
    ["flags", given],
    ["the install directory", dir === "" ? none : await fromInstallDirectory(dir)],
    ["this host's manifests", await fromBootstrapHost()],
    ["the cluster", api === undefined ? none : await fromCluster(api)],
    ["this host's own address", isServers ? await fromAddress(network) : none],
  ];
  const used = new Set<string>();
  const pick = (kind: keyof Found): readonly string[] => {
    const [from, networks] = found.find(([, each]) => each[kind].length > 0) ?? [];
    if (from !== undefined) used.add(from);
    return networks?.[kind] ?? [];
  };
  const [machine, pod, service] = [pick("machine"), pick("pod"), pick("service")];
  return { machine, pod, service, from: [...used].join(", ") || "nowhere" };
}

const cidrs = (list: unknown): string[] => listOf(list).map((entry) => String(at(entry, "cidr") ?? entry));

/** As install-config.yaml spells it, and as the state file keeps it. */
function fromInstallConfig(config: unknown): Found {
  const networking = at(config, "networking");
  return {
    machine: cidrs(at(networking, "machineNetwork")),
    pod: cidrs(at(networking, "clusterNetwork")),
    service: cidrs(at(networking, "serviceNetwork")),
  };
}

async function fromInstallDirectory(dir: string): Promise<Found> {
  try {
    const state: unknown = JSON.parse(await readFile(join(dir, ".openshift_install_state.json"), "utf8"));
    return fromInstallConfig(at(state, "*installconfig.InstallConfig", "config"));
  } catch {
    const text = await textAt(join(dir, "install-config.yaml"));
    return text === undefined ? none : fromInstallConfig(yamlOf(text));
  }
}

/** bootstrap.ign leaves the redacted install-config on the host. */
async function fromBootstrapHost(): Promise<Found> {
  const text = await textAt("/opt/openshift/manifests/cluster-config.yaml");
  const config = text === undefined ? undefined : at(yamlOf(text), "data", "install-config");
  return typeof config === "string" ? fromInstallConfig(yamlOf(config)) : none;
}

/** As OpenShift, then as kubeadm keeps them. */
async function fromCluster(api: KubeApi): Promise<Found> {
  const get = (path: string): Promise<unknown> => api.get(path, TIMEOUT).catch(() => undefined);
  const openshift = await get(namedPath("Network", { name: "cluster" }));
  if (openshift !== undefined) {
    const spec = at(openshift, "spec");
    return { machine: [], pod: cidrs(at(spec, "clusterNetwork")), service: cidrs(at(spec, "serviceNetwork")) };
  }
  const kubeadm = await get(namedPath("ConfigMap", { namespace: "kube-system", name: "kubeadm-config" }));
  const configuration = at(kubeadm, "data", "ClusterConfiguration");
  const networking = typeof configuration === "string" ? at(yamlOf(configuration), "networking") : undefined;
  const split = (value: unknown): string[] => (typeof value === "string" ? value.split(",").filter(Boolean) : []);
  const pod = split(at(networking, "podSubnet"));
  return {
    machine: [],
    pod: pod.length > 0 ? pod : await ofNodes(api),
    service: split(at(networking, "serviceSubnet")),
  };
}

/** The nodes' own parts of the pod network, when the whole of it is not known. */
async function ofNodes(api: KubeApi): Promise<string[]> {
  const { items } = await api.list<KubeObject>(collectionPath("Node"), TIMEOUT).catch(() => ({ items: [] }));
  return items.flatMap((node) => listOf(at(node, "spec", "podCIDRs")).map(String));
}

/** The network that holds the address this host would use towards others; other interfaces may be the pods' own. */
async function fromAddress(network: HostNetwork): Promise<Found> {
  try {
    const source = (await network.sourceTowards("1.1.1.1")) ?? (await network.sourceTowards("2001:4860:4860::8888"));
    const own = (await network.globalAddresses()).find(({ address }) => address === source);
    const prefix = own && parseNetwork(`${own.address}/${own.prefixLength}`);
    return prefix === undefined ? none : { ...none, machine: [prefix.text] };
  } catch {
    return none;
  }
}
