/** An approver that lacks one right, from a clean start. */
import { LeaderElection } from "../../src/cluster/kube/leader.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { Approver } from "../../src/cluster/nodes/csr/approver.js";
import { openDecisionLog } from "../../src/cluster/nodes/csr/decide.js";
import { configMapInventory, withEntriesOf } from "../../src/cluster/nodes/csr/inventory.js";
import { WorkerObjects } from "../../src/cluster/nodes/csr/inventory-workers.js";
import { MemoryStore } from "../../src/cluster/nodes/csr/memory-store.js";
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import { CLIENT_SIGNER, outcomeOf, requestPath, SERVING_SIGNER } from "../../src/cluster/nodes/csr/signing-request.js";
import { APPROVER_NAME } from "../../src/cluster/nodes/permissions.js";
import { until } from "../support/lab/wait.js";
import { file, type Lab } from "./csr-lab.js";
import { APPROVER, clusterPermissions, NAMESPACE, namespacePermissions, role } from "./csr-roles.js";
import { CLIENT, minutesFromNow, POOL, SERVING, subjectOf } from "./csr-rows.js";
import { isAllowed, isAbout as isForbidden, type Right } from "./rights.js";

export { APPROVER, clusterPermissions, namespacePermissions } from "./csr-roles.js";

const SOON = 60_000;
const MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const WORKERS = `/apis/drawbridge.dev/v1alpha1/namespaces/${NAMESPACE}/workers`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${APPROVER_NAME}`;

type Kind = "client" | "serving";

/** What happened so far. */
export interface Course {
  readonly errors: readonly string[];
  readonly approved: readonly Kind[];
}

/** Runs approvers with a Worker and a ConfigMap for one request each that is in order. */
export class Trial {
  readonly #lab: Lab;
  readonly #approver: KubeApi;
  readonly #bootstrapper: KubeApi;
  #round = 0;

  constructor(lab: Lab, approver: KubeApi, bootstrapper: KubeApi) {
    this.#lab = lab;
    this.#approver = approver;
    this.#bootstrapper = bootstrapper;
  }

  /** With `remembers` there is something in the memory already, so that it is changed and not made. */
  async runUntil(what: string, holds: (course: Course) => boolean, remembers = false): Promise<Course> {
    const names = await this.#file();
    if (remembers) await this.#lab.admin.create(MAPS, configMap(APPROVER_NAME, {}));
    const api = this.#approver;
    const errors: string[] = [];
    const onError = (sentence: string) => errors.push(sentence);
    const election = new LeaderElection({ api, namespace: NAMESPACE, name: APPROVER_NAME, identity: "trial", onError });
    const workers = new WorkerObjects(api, NAMESPACE);
    const approver = new Approver({
      ...{ api, policy: defaultPolicy, log: openDecisionLog(), dryRun: false, intervalMs: 200, onError },
      ...{ workers, inventory: withEntriesOf(workers.expected, configMapInventory(api, NAMESPACE)) },
      store: new MemoryStore(api, { namespace: NAMESPACE, name: APPROVER_NAME }, workers),
      leading: () => election.leading,
    });
    election.start();
    approver.start();
    try {
      await until(what, SOON, async () => holds({ errors, approved: await this.#approved(names) }), 50);
    } catch (reason) {
      throw new Error(`${(reason as Error).message}; complaints: ${errors.join("; ")}`, { cause: reason });
    } finally {
      await approver.stop();
      await election.stop();
    }
    const approved = await this.#approved(names);
    await Promise.all(Object.values(names).map((name) => this.#lab.remove(requestPath(name))));
    return { errors, approved };
  }

  async #file(): Promise<Record<Kind, string>> {
    const lab = this.#lab;
    const worker = `r-${++this.#round}`;
    const names = { client: `csr-${worker}-client`, serving: `csr-${worker}-serving` };
    await Promise.all([LEASE, `${MAPS}/${APPROVER_NAME}`, `${MAPS}/rack`].map((path) => lab.remove(path)));
    const spec = { pool: POOL, notBefore: minutesFromNow(-1), deadline: minutesFromNow(60) };
    const object = { apiVersion: "drawbridge.dev/v1alpha1", kind: "Worker", metadata: { name: worker }, spec };
    await lab.admin.create<KubeObject>(WORKERS, object);
    const workers = [{ name: "r-node", notBefore: minutesFromNow(-1), joined: true, ips: ["192.0.2.40"] }];
    const rack = { rack: JSON.stringify({ pool: POOL, workers }) };
    await lab.admin.create(MAPS, configMap("rack", rack, { "drawbridge/inventory": "true" }));
    const first = lab.request(subjectOf(worker));
    await file(this.#bootstrapper, { name: names.client, pem: first, signerName: CLIENT_SIGNER, usages: CLIENT });
    const pem = lab.request(subjectOf("r-node"), "DNS:r-node,IP:192.0.2.40");
    await file(lab.asNode("r-node"), { name: names.serving, pem, signerName: SERVING_SIGNER, usages: SERVING });
    return names;
  }

  async #approved(names: Record<Kind, string>): Promise<Kind[]> {
    const kinds = Object.keys(names) as Kind[];
    const outcomes = await Promise.all(kinds.map(async (kind) => outcomeOf(await this.#lab.find(names[kind]))));
    return kinds.filter((_, index) => outcomes[index] === "approved");
  }
}

function configMap(name: string, data: object, labels = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: NAMESPACE, labels }, data } as KubeObject;
}

/** Which approvals cannot happen. Without the others it works for a while: until a watch ends or the lease must be renewed. */
export function stoppedWithout({ name, resource, verb }: Right): readonly Kind[] {
  if (resource === "signers") return name === CLIENT_SIGNER ? ["client"] : ["serving"];
  const onlyLater = verb === "watch" || (verb === "update" && resource === "leases");
  return onlyLater ? [] : ["client", "serving"];
}

export function isAbout(error: string, right: Right): boolean {
  const { name = "", resource } = right;
  if (resource === "signers") return error.includes("not permitted to approve") && error.includes(name);
  return isForbidden(error, right);
}

/** Returns when the API server acts on it: its own view of its rules lags a moment behind what was written. */
export async function withdraw(lab: Lab, approver: KubeApi, permission: Right): Promise<void> {
  await setRole(lab, (one) => one !== permission);
  const namespace = clusterPermissions.includes(permission) ? undefined : NAMESPACE;
  await until("the right to be gone", SOON, async () => !(await isAllowed(approver, permission, namespace)));
}

export async function giveBack(lab: Lab): Promise<void> {
  await setRole(lab, () => true);
}

async function setRole(lab: Lab, keep: (one: Right) => boolean): Promise<void> {
  const path = "/apis/rbac.authorization.k8s.io/v1";
  await Promise.all([
    lab.admin.update(`${path}/clusterroles/${APPROVER}`, role("ClusterRole", clusterPermissions.filter(keep))),
    lab.admin.update(
      `${path}/namespaces/${NAMESPACE}/roles/${APPROVER}`,
      role("Role", namespacePermissions.filter(keep)),
    ),
  ]);
}
