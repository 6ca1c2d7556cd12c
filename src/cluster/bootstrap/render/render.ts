import type { BridgeModel } from "../model/model.js";
import type { Topology } from "../model/names.js";
import type { AgentCertificates } from "./agent-objects.js";
import { bareFiles } from "./bare.js";
import { kubeadmFiles } from "./kubeadm.js";
import { openshiftFiles } from "./openshift.js";
import type { RenderedFile } from "./rendered-file.js";

const renderings = {
  openshift: openshiftFiles,
  kubeadm: kubeadmFiles,
  bare: bareFiles,
} as const satisfies Record<Topology, (model: BridgeModel, certificates?: AgentCertificates) => RenderedFile[]>;

/** Every file of the bridge; without certificates their places in the Secret stay open. */
export function renderedFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  return renderings[model.for](model, certificates);
}
