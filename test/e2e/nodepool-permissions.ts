/** A pools' controller that lacks one right, through the life of a pool. */
import { isNotFound } from "../../src/kube/errors.js";
import { LeaderElection } from "../../src/kube/leader.js";
import type { KubeApi, KubeObject } from "../../src/kube/port.js";
import { PoolController } from "../../src/nodepool/controller/controller.js";
import { requireInstalled } from "../../src/nodepool/controller/hypershift.js";
import { controllerName } from "../../src/nodepool/controller/name.js";
import { collectionPath, namedPath } from "../../src/nodepool/controller/paths.js";
import { controllerClusterRules, controllerNamespaceRules } from "../../src/nodepool/install/permissions.js";
import { annotation, label } from "../../src/nodepool/names.js";
import type { ConfigMap, Secret } from "../../src/nodepool/objects.js";
import type { NodePool } from "../../src/nodepool/pool/node-pool.js";
import { until } from "../support/lab/wait.js";

const SOON = 15_000;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const leases = "/apis/coordination.k8s.io/v1/namespaces";

type Rule = (typeof controllerNamespaceRules)[number];
type Role = KubeObject & { readonly rules: readonly Rule[] };

export interface Right {
  readonly isClusterWide: boolean;
  readonly rule: Rule;
  readonly verb: string;
  /** `update nodepools/status`. */
  readonly title: string;
}

const rightsOf = (rules: readonly Rule[], isClusterWide: boolean): Right[] =>
  rules.flatMap((rule) =>
    rule.verbs.map((verb) => ({ isClusterWide, rule, verb, title: `${verb} ${rule.resources[0]}` })),
  );

/** But for the one that only OpenShift's admission asks for. */
export const rights = [...rightsOf(controllerClusterRules, true), ...rightsOf(controllerNamespaceRules, false)].filter(
  ({ title }) => title !== "delete nodepools",
);

export interface Stage {
  readonly admin: KubeApi;
  /** With the controller's own identity. */
  readonly api: KubeApi;
  readonly namespace: string;
  pool(name: string): NodePool;
  config(pool: string, content: string): ConfigMap;
}

/** Takes the right away, runs, gives it back. Resolves to what the controller complained of. */
export async function complaintWithout(stage: Stage, right: Right, round: number): Promise<string> {
  const { admin, namespace } = stage;
  const path = right.isClusterWide
    ? `${rbac}/clusterroles/${controllerName}.${namespace}`
    : `${rbac}/namespaces/${namespace}/roles/${controllerName}`;
  const role = await admin.get<Role>(path);
  const rules = role.rules.flatMap((rule) => (isSame(rule, right.rule) ? without(rule, right.verb) : [rule]));
  await admin.update(path, { ...role, rules });
  try {
    await until(`${right.title} is withdrawn`, SOON, async () => !(await isAllowed(stage, right)), 20);
    return await complaint(stage, right, `t${round}`);
  } finally {
    const now = await admin.get<Role>(path);
    await admin.update(path, { ...now, rules: role.rules });
    await until(`${right.title} is given back`, SOON, () => isAllowed(stage, right), 20);
  }
}

async function complaint(stage: Stage, { rule, verb }: Right, name: string): Promise<string> {
  const { admin, api, namespace } = stage;
  const errors: string[] = [];
  const onError = (sentence: string) => errors.push(sentence);
  const wanted = `cannot ${verb} resource "${rule.resources[0]}"`;
  const found = () => errors.find((sentence) => sentence.includes(wanted));
  try {
    await requireInstalled(api);
  } catch (reason) {
    onError((reason as Error).message);
    return found() ?? errors.join("; ");
  }
  await remove(admin, `${leases}/${namespace}/leases/${controllerName}`);
  const election = new LeaderElection({
    ...{ api, namespace, name: controllerName, identity: name, onError },
    onChange: (leads) => leads && controller.lookAtAll(),
  });
  const controller = new PoolController({ api, namespace, leading: () => election.leading, onError });
  election.start();
  controller.start();
  try {
    await live(stage, name, found);
    // Leases are renewed after a while only.
    await until(`it misses ${verb} ${rule.resources[0]}`, SOON, () => found() !== undefined, 20);
    return found() ?? "";
  } catch (reason) {
    throw new Error(`${(reason as Error).message}; it complained: ${errors.join("; ")}`, { cause: reason });
  } finally {
    await controller.stop();
    await election.stop();
    await sweep(stage, name);
  }
}

/** Everything that happens to pools; ends early when the complaint is there. */
async function live({ admin, config, namespace, pool }: Stage, name: string, found: () => string | undefined) {
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

async function sweep({ admin, namespace }: Stage, prefix: string): Promise<void> {
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

async function isAllowed({ api, namespace }: Stage, { isClusterWide, rule, verb }: Right): Promise<boolean> {
  const [resource, subresource] = rule.resources[0]!.split("/");
  const review = await api.create<KubeObject & { status?: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: {
        resourceAttributes: {
          ...{ group: rule.apiGroups[0], resource, verb },
          ...(subresource === undefined ? {} : { subresource }),
          ...(isClusterWide ? {} : { namespace }),
          ...(rule.resourceNames === undefined ? {} : { name: rule.resourceNames[0] }),
        },
      },
    } as KubeObject,
  );
  return review.status?.allowed === true;
}

function isSame(a: Rule, b: Rule): boolean {
  const key = ({ resourceNames, resources, verbs }: Rule) => JSON.stringify([resources, verbs, resourceNames]);
  return key(a) === key(b);
}

function without(rule: Rule, verb: string): Rule[] {
  const verbs = rule.verbs.filter((one) => one !== verb);
  return verbs.length === 0 ? [] : [{ ...rule, verbs }];
}
