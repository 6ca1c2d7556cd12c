/** `drawbridge nodepool apply`: check a file of pools, and apply it to a cluster or a directory. */
import { outcomesText } from "../../cluster/kube/apply.js";
import { applyObjects, readObjects } from "../../cluster/nodes/controller/apply-objects.js";
import { filePath, required, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { inputName, readInput } from "../framework/files.js";
import { accessFlags, withObjects } from "../framework/objects.js";

/** The ConfigMap of a cluster, for --help. */
export const CLUSTER_HELP = `Pools belong to a cluster. Without HyperShift that is a ConfigMap beside them:

  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: demo                         # spec.clusterName of its pools
    namespace: drawbridge
    labels: {drawbridge/cluster: "true"}
  data:
    apiServer: https://api.example:6443
    apiServerCA: |                     # PEM
    ignitionEndpoint: ignition.example:22624
    ignitionCA: |                      # PEM; left out, that of the controller
    version: 4.18.0                    # of the release that machines run
    pullSecret: pull-secret            # Secret with .dockerconfigjson, or none
    # releases, arch, trustBundle, configuration, networks:
    # see docs/nodes-reference.md`;

export default defineCommand({
  purpose: `Applies NodePools, and the ConfigMaps and Secrets they refer to, from a YAML file to a cluster by server-side apply, or writes
them into a directory of objects. Everything is checked before anything is written; what must not change is refused.

${CLUSTER_HELP}`,
  examples: ["drawbridge nodepool apply -f pool.yaml --dry-run"],
  flags: {
    ...accessFlags,
    filename: { ...required(filePath("File with the objects; - is standard input."), "which file?"), shorthand: "f" },
    "dry-run": yesNo("Let the cluster check the objects, and write nothing."),
    "force-conflicts": yesNo("Take over fields that another manager set."),
  },
  async run({ filename, dryRun, forceConflicts: force, ...access }) {
    if (dryRun && access.directory !== "") throw refused("--dry-run needs a cluster to judge");
    const objects = await withObjects(access, async (api) => {
      const content = await readInput(filename, "DB_NODEPOOL");
      const read = readObjects(inputName(filename), content.toString(), access.namespace);
      return applyObjects(api, read, { dryRun, force });
    });
    return { objects };
  },
  show: ({ objects }, { dryRun }) => {
    const note = dryRun ? "Nothing was written (--dry-run); these objects would be:\n" : "";
    return note + outcomesText(objects);
  },
});
