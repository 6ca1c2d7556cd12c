/** Networks in which the machines of a pool have their addresses. */
import { isRecord } from "../../../base/at.js";
import { wrapErrors } from "../../../base/errors/error.js";
import { find } from "../../kube/objects.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { Networks } from "../csr/names.js";
import type { ConfigMap } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { readYaml, textsOf } from "../yaml.js";

/** `given`, or else networks.machine of the ConfigMap that describes the pool's cluster. Empty: not known. */
export async function machineNetworks(api: KubeApi, { metadata, spec }: NodePool, given: readonly string[]) {
  if (given.length > 0) return given;
  const name = { namespace: metadata?.namespace ?? "", name: spec?.clusterName ?? "" };
  const map = name.name === "" ? undefined : await find<ConfigMap>(api, namedPath("ConfigMap", name));
  return wrapErrors("DB_WORKERS", `the networks of cluster ${name.namespace}/${name.name} cannot be used`, () => {
    const read = readYaml(map?.data?.networks ?? "{}");
    const machine = isRecord(read) ? textsOf(read.machine, "machine") : [];
    new Networks(machine);
    return machine;
  });
}
