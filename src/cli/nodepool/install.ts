/** `drawbridge nodepool install`: what pools need in a cluster that has no HyperShift. */

import { outcomesText } from "../../cluster/kube/apply.js";
import { BOOTSTRAPPER } from "../../cluster/nodes/csr/request-context.js";
import {
  applyInstall,
  INSTALL_COMPONENTS,
  type InstallComponent,
  renderInstall,
  installStream as streamOf,
} from "../../cluster/nodes/install/render.js";
import { pathOf } from "../../cluster/nodes/objects.js";
import { BOOTSTRAP_TOKEN_ROLE_NAME } from "../../cluster/nodes/permissions.js";
import { list, number, oneOf, port, required, restricted, text, type Values, yesNo } from "../flags/flag.js";
import { clusterFlags, openCluster } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { namespaceFlag } from "../framework/objects.js";

const installFlags = {
  ...clusterFlags(),
  ...namespaceFlag("Namespace of pools, controller and approver."),
  image: required(
    text("drawbridge's image, as npm run image makes it."),
    "where can the cluster pull drawbridge from?",
  ),
  components: restricted(
    list(`What runs in the cluster beside the resource, of ${INSTALL_COMPONENTS.join(", ")}.`, [
      "controller",
      "approver",
    ]),
    (words) => {
      const wrong = words.find((word) => !INSTALL_COMPONENTS.some((known) => known === word));
      return wrong === undefined ? undefined : `has "${wrong}"; there are ${INSTALL_COMPONENTS.join(", ")}`;
    },
  ),
  replicas: number(2, "Replicas of each component; one works, the others stand by.", { least: 1 }),
  "api-port": restricted(list("Port at which pods may reach the API server; repeatable.", ["443", "6443"]), (ports) =>
    ports.every((given) => Number(given) > 0 && Number(given) < 65_536 && Number.isInteger(Number(given)))
      ? undefined
      : "must be 1 to 65535",
  ),
  "approver-flag": restricted(list("Flag of the approver, such as --node-cidr=10.0.0.0/16; repeatable."), (flags) =>
    flags.every((flag) => flag.startsWith("--")) ? undefined : "must itself begin with --",
  ),
  "hosted-kubeconfig-secret": text(
    "Secret of the namespace with the kubeconfig (key kubeconfig) of the cluster that machines join, for the controller. If empty, machines join this one.",
  ),
  "ignition-service": oneOf(
    ["ClusterIP", "NodePort", "LoadBalancer"],
    "Type of the Service by which machines reach the Ignition server.",
    "ClusterIP",
  ),
  "ignition-node-port": port(
    0,
    "Port of that Service on every node, such as 30080. If not given, the cluster chooses one.",
    1,
  ),
  "force-conflicts": yesNo("Take over fields that another manager set."),
};

function check({ components, ignitionNodePort, ignitionService }: Values<typeof installFlags>): void {
  if (ignitionNodePort === 0) return;
  if (!components.includes("ignition")) throw refused("--ignition-node-port needs ignition among --components");
  if (ignitionService === "ClusterIP")
    throw refused(
      "--ignition-node-port needs --ignition-service NodePort or LoadBalancer: a ClusterIP has no such port",
    );
}

export default defineCommand({
  purpose: `Brings the NodePool resource, the pools' controller and the CSR approver into a cluster by server-side apply, with the rights
each needs and no others. It refuses where HyperShift is, whose operator manages pools itself. With --output yaml it
prints the objects and asks no cluster. The approver belongs into the cluster that machines join; where that is another
one, install --components controller --hosted-kubeconfig-secret NAME here and --components approver there.

The controller makes the kubeconfig that machines join with (nodepool controller --issue-bootstrap-kubeconfig). Its identity,
the ServiceAccount ${pathOf(BOOTSTRAPPER)}, is installed where the approver is, and so is
the Role ${BOOTSTRAP_TOKEN_ROLE_NAME}, which allows to create tokens of it; a controller of the same cluster is bound to it.

With --components controller,approver,ignition the Ignition server runs there, too. It waits for the ConfigMap
drawbridge-ignition-payload (payload.yaml, see drawbridge ignition serve --help, and the files it names) and for the
Secret drawbridge-ignition-serving-cert, which the controller issues for the clusters' published addresses, unless they
name an ignitionCA: then tls.crt and tls.key are yours to put there.`,
  examples: ["drawbridge nodepool install --image registry.example/drawbridge:1 --output yaml"],
  flags: installFlags,
  async run(flags, { output }) {
    check(flags);
    const manifests = renderInstall({
      ...flags,
      components: flags.components as readonly InstallComponent[],
      apiPorts: flags.apiPort.map(Number),
      approverArgs: flags.approverFlag,
      ignitionNodePort: flags.ignitionNodePort || undefined,
    });
    if (output === "yaml") return { yaml: streamOf(manifests), objects: [] };
    const api = await openCluster(flags);
    const applied = applyInstall(api, manifests, { force: flags.forceConflicts });
    return { yaml: "", objects: await applied.finally(() => api.close()) };
  },
  show: {
    text: ({ objects }) => outcomesText(objects),
    yaml: ({ yaml }) => yaml,
    json: ({ objects }) => ({ objects }),
  },
});
