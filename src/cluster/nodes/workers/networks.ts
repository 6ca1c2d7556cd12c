/** Networks in which the machines of a pool have their addresses. */
import { isRecord } from "../../../base/at.js";
import { wrapErrors } from "../../../base/errors/error.js";
import { isForbidden } from "../../kube/errors.js";
import { find } from "../../kube/objects.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { Networks } from "../csr/names.js";
import type { ConfigMap, ObjectName } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { readYaml, textsOf } from "../yaml.js";

interface HostedCluster extends KubeObject {
  readonly spec?: { readonly networking?: { readonly machineNetwork?: readonly { readonly cidr?: string }[] } };
}

/**
 * `given`, or else networks.machine of the ConfigMap that describes the pool's cluster, or the machineNetwork of its
 * HostedCluster. Empty: not known.
 */
export async function machineNetworks(api: KubeApi, { metadata, spec }: NodePool, given: readonly string[]) {
  if (given.length > 0) return given;
  const name = { namespace: metadata?.namespace ?? "", name: spec?.clusterName ?? "" };
  if (name.name === "") return [];
  const map = await find<ConfigMap>(api, namedPath("ConfigMap", name));
  const hosted = map === undefined ? await hostedNetworks(api, name) : [];
  return wrapErrors("DB_WORKERS", `the networks of cluster ${name.namespace}/${name.name} cannot be used`, () => {
    const read = readYaml(map?.data?.networks ?? "{}");
    const machine = map === undefined ? hosted : isRecord(read) ? textsOf(read.machine, "machine") : [];
    new Networks(machine);
    return machine;
  });
}

/** Empty as well for somebody who may not read it. */
async function hostedNetworks(api: KubeApi, name: ObjectName): Promise<readonly string[]> {
  try {
    const { spec } = (await find<HostedCluster>(api, namedPath("HostedCluster", name))) ?? {};
    return (spec?.networking?.machineNetwork ?? []).flatMap(({ cidr }) => cidr ?? []);
  } catch (reason) {
    if (isForbidden(reason)) return [];
    throw reason;
  }
}
