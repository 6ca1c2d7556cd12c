import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../control-plane.js";
import { LabProcess } from "../process.js";
import type { Scope } from "../scope.js";
import { removeCgroups } from "./cgroups.js";
import { writeCniConfig, writeContainerdConfig, writeKubeletConfig } from "./configuration.js";
import { writeImages } from "./image.js";
import { writeInit } from "./init.js";

export const KUBELET_PORT = 10250;

export interface NodeOptions {
  readonly name: string;
  readonly netns: string;
  readonly address: string;
  readonly podSubnet: string;
  readonly podGateway: string;
  readonly executables: {
    readonly kubelet: string;
    readonly containerd: string;
    readonly ctr: string;
    readonly busybox: string;
  };
}

/** A real node: containerd, runc and kubelet in the namespace of a host; returns once the kube-apiserver calls it Ready. */
export async function startNode(scope: Scope, plane: ControlPlane, options: NodeOptions): Promise<void> {
  const { name, netns, address, executables } = options;
  const folder = scope.file(`node-${name}`);
  mkdirSync(folder);
  scope.defer(() => removeCgroups(folder));
  writeCniConfig(folder, options.podSubnet, options.podGateway);
  const serving = plane.ca.issue({ file: `kubelet-${name}`, name: `kubelet-${name}`, use: "server", ips: [address] });
  const config = writeKubeletConfig(folder, { address, serving, clientCaFile: plane.ca.cert });
  const init = writeInit(folder, {
    containerd: executables.containerd,
    ctr: executables.ctr,
    containerdConfig: writeContainerdConfig(folder),
    images: writeImages(join(folder, "images.tar"), executables.busybox),
    kubelet: [
      executables.kubelet,
      `--config=${config}`,
      `--kubeconfig=${plane.kubeconfig(`system:node:${name}`, "system:nodes")}`,
      `--root-dir=${join(folder, "kubelet")}`,
      `--cert-dir=${join(folder, "kubelet-certs")}`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
    ],
  });
  const box = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;
  const node = LabProcess.start(scope, { name: `node-${name}`, netns, command: [...box, "bash", init] });
  await node.ready("Ready", 90_000, async () => {
    const jsonpath = '-ojsonpath={.status.conditions[?(@.type=="Ready")].status}';
    return (await plane.admin.try(["get", "node", name, jsonpath])).stdout === "True";
  });
}
