import type { ControlPlane } from "../control-plane.js";
import type { ApiAccess, Kubectl } from "../kubectl.js";
import type { Scope } from "../scope.js";
import { until } from "../wait.js";
import { writeCniConfig, writeKubeletConfig } from "./configuration.js";
import { type Launched, launch, Machine, type MachineOptions } from "./machine.js";

export const KUBELET_PORT = 10250;

export interface NodeOptions {
  readonly name: string;
  readonly netns: string;
  readonly address: string;
  readonly podSubnet: string;
  readonly podGateway: string;
  /** Without a CNI configuration a node stays NotReady and runs only pods in the host's network. */
  readonly cni?: boolean;
  /** Where its pods ask for names; without it they cannot. */
  readonly clusterDns?: string | undefined;
  /** The kube-apiserver its kubelet talks to, if not the control plane's first. */
  readonly api?: ApiAccess;
  readonly executables: MachineOptions["executables"] & { readonly kubelet: string };
}

/** What a node needs of its control plane, wherever that runs. */
export type NodesPlane = Pick<ControlPlane, "ca" | "kubeconfig" | "admin">;

/** A machine that is a node of the cluster. */
export class LabNode extends Machine {
  readonly address: string;
  readonly #options: NodeOptions;
  readonly #admin: Kubectl;

  constructor(launched: Launched, options: NodeOptions, admin: Kubectl) {
    super(...launched);
    this.address = options.address;
    this.#options = options;
    this.#admin = admin;
  }

  async isReady(): Promise<boolean> {
    return (await this.#readiness()) === "True";
  }

  /** Known to the kube-apiserver, Ready or not. */
  async isRegistered(): Promise<boolean> {
    return (await this.#readiness()) !== "";
  }

  /** Gives a node that was started without one its pod network, as a cluster's network operator does in the end. */
  async installCni(): Promise<void> {
    writeCniConfig(this.folder, this.#options.podSubnet, this.#options.podGateway);
    await until(`${this.name} to be Ready`, 120_000, () => this.isReady());
  }

  async #readiness(): Promise<string> {
    const jsonpath = '-ojsonpath={.status.conditions[?(@.type=="Ready")].status}';
    return (await this.#admin.try(["get", "node", this.name, jsonpath])).stdout;
  }
}

/** A real node: containerd, runc and kubelet in the namespace of a host; returns once the kube-apiserver knows its state. */
export async function startNode(scope: Scope, plane: NodesPlane, options: NodeOptions): Promise<LabNode> {
  const { name, netns, address, executables, clusterDns, cni = true } = options;
  const serving = plane.ca.issue({ file: `kubelet-${name}`, name: `kubelet-${name}`, use: "server", ips: [address] });
  const kubeconfig = plane.kubeconfig(`system:node:${name}`, "system:nodes", options.api);
  const launched = await launch(scope, {
    ...{ name, netns, executables },
    kubelet: (folder) => [
      executables.kubelet,
      `--config=${writeKubeletConfig(folder, { address, serving, clusterDns, clientCaFile: plane.ca.cert })}`,
      `--kubeconfig=${kubeconfig}`,
      `--node-ip=${address}`,
    ],
  });
  const node = new LabNode(launched, options, plane.admin);
  if (cni) writeCniConfig(node.folder, options.podSubnet, options.podGateway);
  await node.process.ready(cni ? "Ready" : "registered", 150_000, () => (cni ? node.isReady() : node.isRegistered()));
  return node;
}
