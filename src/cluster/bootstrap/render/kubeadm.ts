/** For a control plane that kubeadm builds: two ways to tell it about the socket, of which one is used. */
import { apiServerFlag } from "../model/arguments.js";
import { egressVolumes } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import type { AgentCertificates } from "./agent-objects.js";
import { type RenderedFile, yamlFile } from "./rendered-file.js";
import { clusterFiles, serverFiles } from "./vanilla.js";

export function kubeadmFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  return [...clusterFiles(model, certificates), ...serverFiles(model), ...configurations(model), ...patches(model)];
}

const ONE_OF_TWO = "Use either a ClusterConfiguration fragment or the patches, not both.";

function configurations(model: BridgeModel): RenderedFile[] {
  const { name, value } = apiServerFlag(model);
  const extraVolumes = volumes(model).map(({ name: volume, path, type }) => ({
    name: volume,
    hostPath: path,
    mountPath: path,
    readOnly: true,
    pathType: type,
  }));
  const fragment = (version: string, extraArgs: object): RenderedFile =>
    yamlFile(
      `cluster-configuration-${version}.yaml`,
      { part: "kube-apiserver" },
      [
        {
          apiVersion: `kubeadm.k8s.io/${version}`,
          kind: "ClusterConfiguration",
          apiServer: { extraArgs, extraVolumes },
        },
      ],
      `Merge into the file of kubeadm init --config. ${ONE_OF_TWO}`,
    );
  return [fragment("v1beta4", [{ name, value }]), fragment("v1beta3", { [name]: value })];
}

/**
 * For kubeadm --patches DIR. A strategic patch can add volumes but would replace the whole command, so the flag comes as
 * a JSON patch; kubeadm applies both.
 */
function patches(model: BridgeModel): RenderedFile[] {
  const { name, value } = apiServerFlag(model);
  const added = volumes(model);
  const strategic = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "kube-apiserver", namespace: "kube-system" },
    spec: {
      containers: [
        {
          name: "kube-apiserver",
          volumeMounts: added.map(({ name: volume, path }) => ({ name: volume, mountPath: path, readOnly: true })),
        },
      ],
      volumes: added.map(({ name: volume, path, type }) => ({ name: volume, hostPath: { path, type } })),
    },
  };
  const flag = [{ op: "add", path: "/spec/containers/0/command/-", value: `--${name}=${value}` }];
  const comment = `Put both kube-apiserver+*.yaml into the directory of kubeadm --patches or of patches.directory in its configuration. ${ONE_OF_TWO}`;
  return [
    yamlFile("patches/kube-apiserver+strategic.yaml", { part: "kube-apiserver" }, [strategic], comment),
    yamlFile("patches/kube-apiserver+json.yaml", { part: "kube-apiserver" }, [flag], comment),
  ];
}

/** Only the file, not its directory, which also holds the server's key. Connecting to a socket needs no write access. */
export function volumes({ paths }: BridgeModel) {
  return [
    { name: egressVolumes.config, path: paths.egressConfig.host, type: "File" },
    { name: egressVolumes.socket, path: paths.socketDirectory.host, type: "DirectoryOrCreate" },
  ];
}
