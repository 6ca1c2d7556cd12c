/** For a kube-apiserver that somebody starts by hand or by a unit of their own. */
import { apiServerFlag } from "../model/arguments.js";
import type { BridgeModel } from "../model/model.js";
import type { AgentCertificates } from "./agent-objects.js";
import { type RenderedFile, textFile } from "./rendered-file.js";
import { clusterFiles, serverFiles } from "./vanilla.js";

export function bareFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  return [...clusterFiles(model, certificates), ...serverFiles(model), flags(model)];
}

function flags(model: BridgeModel): RenderedFile {
  const { name, value } = apiServerFlag(model);
  const { socketDirectory, egressConfig } = model.paths;
  return textFile(
    "kube-apiserver.flags",
    { part: "kube-apiserver" },
    `# Add to the kube-apiserver's command and restart it; take away again before the bridge goes.
# A kube-apiserver in a container needs ${egressConfig.host} and
# ${socketDirectory.host} mounted under the same paths (read-only is enough).
--${name}=${value}
`,
  );
}
