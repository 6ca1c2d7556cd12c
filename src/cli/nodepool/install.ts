/** `drawbridge nodepool install`: what pools need in a cluster that has no HyperShift. */

import { outcomesText } from "../../cluster/kube/apply.js";
import {
  applyInstall,
  type InstallComponent,
  type InstallConfig,
  renderInstall,
  installStream as streamOf,
} from "../../cluster/nodes/install/render.js";
import { list, number, oneOf, required, text, type Values, yesNo } from "../flags/flag.js";
import { clusterFlags, openCluster } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { namespaceFlag } from "../framework/objects.js";

const COMPONENTS: readonly string[] = ["controller", "approver", "ignition"] satisfies readonly InstallComponent[];
const isComponent = (word: string): word is InstallComponent => COMPONENTS.includes(word);

const installFlags = {
  ...clusterFlags(),
  ...namespaceFlag("Namespace of pools, controller and approver."),
  image: required(
    text("drawbridge's image, as npm run image makes it."),
    "where can the cluster pull drawbridge from?",
  ),
  components: list(`What runs in the cluster beside the resource, of ${COMPONENTS.join(", ")}.`, [
    "controller",
    "approver",
  ]),
  replicas: number(2, "Replicas of each component; one works, the others stand by.", { least: 1 }),
  "api-port": list("Port at which pods may reach the API server; repeatable.", ["443", "6443"]),
  "approver-flag": list("Flag of the approver, such as --node-cidr=10.0.0.0/16; repeatable."),
  "ignition-service": oneOf(
    ["ClusterIP", "NodePort", "LoadBalancer"],
    "Type of the Service by which machines reach the Ignition server.",
    "ClusterIP",
  ),
  "force-conflicts": yesNo("Take over fields that another manager set."),
};

export default defineCommand({
  purpose: `Brings the NodePool resource, the pools' controller and the CSR approver into a cluster by server-side apply, with the rights
each needs and no others. It refuses where HyperShift is, whose operator manages pools itself. With --output yaml it
prints the objects and asks no cluster. The approver belongs into the cluster that machines join; where that is another
one, install --components controller here and --components approver there.

With --components controller,approver,ignition the Ignition server runs there, too. It waits for the ConfigMap
drawbridge-ignition-payload (payload.yaml, see drawbridge ignition serve --help, and the files it names) and for the
Secret drawbridge-ignition-serving-cert, which the controller issues for the clusters' published addresses, unless they
name an ignitionCA: then tls.crt and tls.key are yours to put there.`,
  examples: ["drawbridge nodepool install --image registry.example/drawbridge:1 --output yaml"],
  flags: installFlags,
  async run(flags, { output }) {
    const config = configOf(flags);
    const manifests = renderInstall(config);
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

function configOf(flags: Values<typeof installFlags>): InstallConfig {
  const { apiPort, approverFlag, components, ignitionService, image, namespace, replicas } = flags;
  const wrong = components.find((word) => !isComponent(word));
  if (wrong !== undefined) throw refused(`--components has "${wrong}"; there are ${COMPONENTS.join(", ")}`);
  const stray = approverFlag.find((flag) => !flag.startsWith("--"));
  if (stray !== undefined) throw refused(`--approver-flag "${stray}" must itself begin with --`);
  return {
    ...{ namespace, image, replicas, ignitionService },
    components: components.filter(isComponent),
    apiPorts: apiPort.map(portOf),
    approverArgs: approverFlag,
  };
}

function portOf(given: string): number {
  const port = Number(given);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw refused(`--api-port "${given}" must be 1 to 65535`);
}
