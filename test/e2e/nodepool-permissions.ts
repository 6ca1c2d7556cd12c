/** A pools' controller that lacks one right, through the life of a pool. */
import { isNotFound } from "../../src/cluster/kube/errors.js";
import { LeaderElection } from "../../src/cluster/kube/leader.js";
import { collectionPath, namedPath } from "../../src/cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { credentialIssuer } from "../../src/cluster/nodes/controller/bootstrap.js";
import { PoolController } from "../../src/cluster/nodes/controller/controller.js";
import { requireInstalled } from "../../src/cluster/nodes/controller/hypershift.js";
import { failureEvents } from "../../src/cluster/nodes/controller/run.js";
import { BOOTSTRAPPER } from "../../src/cluster/nodes/csr/request-context.js";
import { annotation, BOOTSTRAP_SECRET, type ConfigMap, label, type Secret } from "../../src/cluster/nodes/objects.js";
import {
  BOOTSTRAP_TOKEN_ROLE_NAME,
  bootstrapTokenRules,
  CONTROLLER_NAME,
  controllerClusterRules,
  controllerNamespaceRules,
  type PolicyRule,
} from "../../src/cluster/nodes/permissions.js";
import type { NodePool } from "../../src/cluster/nodes/pool/node-pool.js";
import { until } from "../support/lab/wait.js";
import { isAbout, isAllowed, oneByOne, type Right, ruleOf, titleOf } from "./rights.js";

const SOON = 60_000;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const leases = "/apis/coordination.k8s.io/v1/namespaces";

type Role = KubeObject & { readonly rules: readonly PolicyRule[] };

const clusterRights = controllerClusterRules.flatMap(oneByOne);
const namespaceRights = controllerNamespaceRules.flatMap(oneByOne);
const tokenRights = bootstrapTokenRules.flatMap(oneByOne);

export const rights: readonly Right[] = [...clusterRights, ...namespaceRights, ...tokenRights];

/** Where a right is given, and together with which others. */
function placeOf(right: Right, namespace: string) {
  if (clusterRights.includes(right)) {
    return { path: `${rbac}/clusterroles/${CONTROLLER_NAME}.${namespace}`, place: undefined, all: clusterRights };
  }
  const [place, role, all] = tokenRights.includes(right)
    ? [BOOTSTRAPPER.namespace, BOOTSTRAP_TOKEN_ROLE_NAME, tokenRights]
    : [namespace, CONTROLLER_NAME, namespaceRights];
  return { path: `${rbac}/namespaces/${place}/roles/${role}`, place, all };
}

/** What the controller says without it. Owners may be set only by those who could also delete, where that is enforced. */
export function isMissed(complaint: string, right: Right): boolean {
  return isAbout(complaint, right) || (isForOwners(right) && complaint.includes("cannot set an ownerRef"));
}

const isForOwners = (right: Right): boolean => titleOf(right) === "delete nodepools";

export interface PermissionFixture {
  readonly admin: KubeApi;
  /** With the controller's own identity. */
  readonly api: KubeApi;
  readonly namespace: string;
  pool(name: string): NodePool;
  config(pool: string, content: string): ConfigMap;
}

/** Takes the right away, runs, gives it back. Resolves to what the controller complained of. */
export async function complaintWithout(fixture: PermissionFixture, right: Right, round: number): Promise<string> {
  const { admin, api, namespace } = fixture;
  const { all, path, place } = placeOf(right, namespace);
  const role = await admin.get<Role>(path);
  const left = all.filter((one) => one !== right);
  await admin.update(path, { ...role, rules: left.map(ruleOf) });
  try {
    await until(`${titleOf(right)} is withdrawn`, SOON, async () => !(await isAllowed(api, right, place)), 20);
    return await complaint(fixture, right, `t${round}`);
  } finally {
    const now = await admin.get<Role>(path);
    await admin.update(path, { ...now, rules: role.rules });
    await until(`${titleOf(right)} is given back`, SOON, () => isAllowed(api, right, place), 20);
  }
}

async function complaint(fixture: PermissionFixture, right: Right, name: string): Promise<string> {
  const { admin, api, namespace } = fixture;
  const errors: string[] = [];
  const onError = (sentence: string) => errors.push(sentence);
  const found = () => errors.find((sentence) => isMissed(sentence, right));
  try {
    await requireInstalled(api);
  } catch (reason) {
    onError((reason as Error).message);
    return found() ?? errors.join("; ");
  }
  await remove(admin, `${leases}/${namespace}/leases/${CONTROLLER_NAME}`);
  const election = new LeaderElection({
    ...{ api, namespace, name: CONTROLLER_NAME, identity: name, onError },
    onChange: (leads) => leads && controller.lookAtAll(),
  });
  const onFailure = failureEvents(api, namespace, onError);
  const controller = new PoolController({
    ...{ api, namespace, leading: () => election.leading, onError, onFailure },
    credentialIssuer: credentialIssuer(api),
  });
  await remove(admin, namedPath("Secret", { namespace, name: BOOTSTRAP_SECRET }));
  election.start();
  controller.start();
  try {
    await live(fixture, name, found);
    // Leases are renewed after a while only.
    await until(`it misses ${titleOf(right)}`, SOON, () => found() !== undefined, 20);
    return found() ?? "";
  } catch (reason) {
    throw new Error(`${(reason as Error).message}; it complained: ${errors.join("; ")}`, { cause: reason });
  } finally {
    await controller.stop();
    await election.stop();
    await sweep(fixture, name);
  }
}

/** Everything that happens to pools; ends early when the complaint is there. */
async function live(
  { admin, config, namespace, pool }: PermissionFixture,
  name: string,
  found: () => string | undefined,
) {
  const step = (what: string, holds: () => Promise<boolean>) =>
    until(what, SOON, async () => found() !== undefined || (await holds()), 20);
  const path = namedPath("NodePool", { namespace, name });
  const hash = async () => (await admin.get<NodePool>(path)).metadata?.annotations?.[annotation.currentConfigVersion];
  const tuning = config(`${name}-tuning`, "tuned");
  const labels = { [label.tuningConfig]: "true", [label.nodePool]: name };
  await admin.create(collectionPath("ConfigMap", namespace), config(name, "one"));
  await admin.create(collectionPath("ConfigMap", namespace), { ...tuning, metadata: { ...tuning.metadata, labels } });
  await admin.create(collectionPath("Secret", namespace), orphan(namespace, name));
  await admin.create(collectionPath("NodePool", namespace), lost(pool(`${name}-lost`)));
  await admin.create(collectionPath("NodePool", namespace), pool(name));
  await step("the pool is made", async () => (await hash()) !== undefined);
  if (found() !== undefined) return;
  const before = await hash();
  await admin.apply(namedPath("ConfigMap", { namespace, name: `${name}-config` }), config(name, "two"), {
    fieldManager: "test",
    force: true,
  });
  await step("the pool is changed", async () => (await hash()) !== before);
  if (found() !== undefined) return;
  await admin.delete(path);
  await step("the pool is gone", async () => {
    const { items } = await admin.list<NodePool>(collectionPath("NodePool", namespace));
    return !items.some(({ metadata }) => metadata?.name === name);
  });
}

const lost = (pool: NodePool): NodePool => ({ ...pool, spec: { ...pool.spec, clusterName: "nobody" } });

/** Of a pool that never was. */
const orphan = (namespace: string, name: string): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: `token-${name}-orphan`,
    namespace,
    annotations: { [annotation.nodePool]: `${namespace}/${name}-ghost` },
  },
});

async function sweep({ admin, namespace }: PermissionFixture, prefix: string): Promise<void> {
  for (const kind of ["NodePool", "Secret", "ConfigMap"] as const) {
    const { items } = await admin.list<NodePool>(collectionPath(kind, namespace));
    for (const { metadata } of items.filter((item) => item.metadata?.name?.includes(prefix))) {
      const path = namedPath(kind, { namespace, name: metadata?.name ?? "" });
      if (metadata?.finalizers?.length) {
        const object = await admin.get<NodePool>(path);
        await admin.update(path, { ...object, metadata: { ...object.metadata, finalizers: [] } } as NodePool);
      }
      await remove(admin, path);
    }
  }
}

async function remove(admin: KubeApi, path: string): Promise<void> {
  try {
    await admin.delete(path);
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
}
