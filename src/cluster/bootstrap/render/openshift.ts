/** The YAML that a bootstrap.ign carries; placeholders stay open for the host's scripts. The shell files are not here. */
import { basename } from "node:path";
import { apiServerFlag } from "../model/arguments.js";
import type { BridgeModel } from "../model/model.js";
import { openshiftHost } from "../model/paths.js";
import {
  type AgentCertificates,
  agentDaemonSet,
  agentNamespace,
  agentRoleBinding,
  agentSecret,
  agentServiceAccount,
} from "./agent-objects.js";
import { egressConfig } from "./egress-config.js";
import { type Part, type RenderedFile, yamlFile } from "./rendered-file.js";
import { serverPod } from "./server-pod.js";

export function openshiftFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  // cluster-bootstrap creates one object a file.
  const file = (path: string, part: Part, document: object): RenderedFile =>
    yamlFile(basename(path), { part, path, mode: 0o600 }, [document]);
  const host = openshiftHost;
  return [
    file(host.egressConfig, "host", egressConfig(model)),
    file(host.configOverride, "kube-apiserver", configOverride(model)),
    file(host.serverPod, "host", serverPod(model)),
    file(host.namespace, "cluster", agentNamespace(model)),
    file(host.agentCertsSecret, "cluster", agentSecret(model, certificates)),
    ...(model.agentNetwork === "host"
      ? [
          file(host.agentServiceAccount, "cluster", agentServiceAccount(model)),
          file(host.agentRoleBinding, "cluster", agentRoleBinding(model)),
        ]
      : []),
    file(host.agentDaemonSet, "cluster", agentDaemonSet(model)),
  ];
}

/** Merged into the bootstrap kube-apiserver's configuration; executed as a Go template before, so it holds no braces. */
function configOverride(model: BridgeModel) {
  const { name, value } = apiServerFlag(model);
  return {
    apiVersion: "kubecontrolplane.config.openshift.io/v1",
    kind: "KubeAPIServerConfig",
    apiServerArguments: { [name]: [value] },
  };
}
