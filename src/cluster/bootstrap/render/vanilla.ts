/** What kubeadm and bare hosts have in common. */
import { basename } from "node:path";
import type { BridgeModel } from "../model/model.js";
import { type AgentCertificates, agentDaemonSet, agentNamespace, agentSecret } from "./agent-objects.js";
import { egressConfig } from "./egress-config.js";
import { type RenderedFile, textFile, yamlFile } from "./rendered-file.js";
import { serverPod } from "./server-pod.js";
import { serverUnitText, tmpfilesText } from "./server-unit.js";

export function clusterFiles(model: BridgeModel, certificates: AgentCertificates | undefined): RenderedFile[] {
  const cluster = { part: "cluster" } as const;
  return [
    yamlFile("namespace.yaml", cluster, [agentNamespace(model)]),
    yamlFile("agent-certs-secret.yaml", { ...cluster, mode: 0o600 }, [agentSecret(model, certificates)]),
    yamlFile("agent-daemonset.yaml", cluster, [agentDaemonSet(model)]),
  ];
}

/** A server that is a plain process needs no file. */
export function serverFiles(model: BridgeModel): RenderedFile[] {
  const { paths, server } = model;
  const files = [
    yamlFile("egress-selector-config.yaml", { part: "host", path: paths.egressConfig.host }, [egressConfig(model)]),
  ];
  if (server.form === "static-pod") {
    const place = { part: "host", path: paths.staticPod, mode: 0o600 } as const;
    files.push(yamlFile(basename(paths.staticPod), place, [serverPod(model)]));
  }
  if (server.form === "systemd") {
    files.push(textFile(basename(paths.unit), { part: "host", path: paths.unit }, serverUnitText(model)));
  }
  if (paths.tmpfiles !== undefined) {
    files.push(textFile("tmpfiles.conf", { part: "host", path: paths.tmpfiles }, tmpfilesText(model)));
  }
  return files;
}
