/** The processes that look after pools and requests: does one of them hold the Lease, and is anything left undone? */

import { plainText } from "../../../base/text.js";
import { find } from "../../../cluster/kube/find.js";
import { isLeaseValid, type Lease, leasePath } from "../../../cluster/kube/lease.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import { nameOf, pathOf } from "../../../cluster/nodes/objects.js";
import { APPROVER_NAME, CONTROLLER_NAME } from "../../../cluster/nodes/permissions.js";
import type { NodePool } from "../../../cluster/nodes/pool/node-pool.js";
import { poolReport } from "../../../cluster/nodes/workers/status.js";
import type { DoctorContext } from "../context.js";
import { type Check, ok, skipped, warning, wrong } from "../diagnosis.js";
import { titles } from "../program.js";

const noObjects = skipped("the objects of the cluster are not known", "Give --kubeconfig and --namespace.");
const UNUSABLE = "Check it with kubectl --kubeconfig FILE version.";

export const lease: Check<DoctorContext> = {
  id: "lease",
  roles: ["nodepool", "approver"],
  async run({ role, host, objects, now }) {
    if (objects === undefined) return [noObjects];
    if (typeof objects === "string") return [wrong(objects, UNUSABLE)];
    const program = role === "nodepool" ? "nodepool" : "approver";
    const running = await host.running(program);
    if (program === "approver" && running?.flags.get("dry-run") === "true") {
      return [skipped("the CSR approver runs with --dry-run and decides nothing, so it holds no Lease")];
    }
    const name = program === "nodepool" ? CONTROLLER_NAME : APPROVER_NAME;
    const path = `Lease ${objects.namespace}/${name}`;
    const title = titles[program];
    const found = await find<Lease>(objects.api, leasePath(objects.namespace, name), { timeoutMs: 10_000 });
    if (found === undefined) {
      const remedy = `Give the ${title}'s user create, get and update of leases in ${objects.namespace}, and read its log.`;
      return [wrong(`no ${title} has ever held its Lease, so nothing is decided`, remedy, `${path} does not exist`)];
    }
    const { holderIdentity = "", renewTime = "never" } = found.spec ?? {};
    const evidence = `${path}: held by ${plainText(holderIdentity || "nobody")}, renewed ${renewTime}`;
    if (holderIdentity !== "" && isLeaseValid(found, now().getTime())) {
      return [ok(`a ${title} holds the Lease`, evidence)];
    }
    const remedy = `Start a ${title}; one that runs and does not take it over says why in its log (or clocks differ).`;
    return [wrong(`no ${title} holds the Lease now, so nothing is decided`, remedy, evidence)];
  },
};

/** Machines and their troubles are the business of `workers doctor`. */
export const pools: Check<DoctorContext> = {
  id: "pools",
  roles: ["nodepool"],
  async run({ objects }) {
    if (objects === undefined) return [noObjects];
    if (typeof objects === "string") return [wrong(objects, UNUSABLE)];
    const { namespace, api } = objects;
    const { items } = await api.list<NodePool>(collectionPath("NodePool", namespace), { timeoutMs: 10_000 });
    if (items.length === 0) return [ok(`there is no pool in ${namespace}`)];
    const found = items.flatMap((pool) => {
      const name = nameOf(pool);
      const conditions = pool.status?.conditions ?? [];
      const lookCloser = `Ask drawbridge workers doctor --namespace ${namespace} --pool ${name.name} for the cause.`;
      if (conditions.length === 0) {
        const finding = `no controller has got anywhere with pool ${pathOf(name)}`;
        const remedy =
          "See the checks lease and health; a controller that leads says in its log why it passes a pool over, a cluster that is missing say.";
        return [wrong(finding, remedy, "it has no conditions")];
      }
      // Whether it has a configuration its conditions say, too.
      const { lacks } = poolReport(pathOf(name), { hash: "any", pool });
      return lacks.map(({ what }) => warning(`pool ${pathOf(name)}: ${plainText(what)}`, lookCloser));
    });
    return found.length > 0 ? found : [ok(`the conditions of ${items.length} pools are in order`)];
  },
};
