/** The way into the cluster, and what the user may do there. */

import { messageOf } from "../../../base/errors/error.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import type { Cluster, DoctorContext } from "../context.js";
import { type Check, ok, skipped, wrong } from "../diagnosis.js";

const noKubeconfig = skipped("no kubeconfig to look at the cluster with", "Give it with --kubeconfig, or --dir.");

export const access: Check<DoctorContext> = {
  id: "kubeconfig",
  roles: ["server", "bootstrap", "workstation"],
  async run({ cluster }) {
    if (cluster === undefined) return [noKubeconfig];
    if (typeof cluster === "string") return [wrong(cluster, "Check it with kubectl --kubeconfig FILE version.")];
    try {
      const { gitVersion } = await cluster.api.get<KubeObject & { gitVersion?: string }>("/version", {
        timeoutMs: 10_000,
      });
      return [ok(`the API at ${cluster.server} answers (${gitVersion})`)];
    } catch (reason) {
      return [
        wrong(
          messageOf(reason).replace(/\.$/, ""),
          "Check server and credentials with kubectl --kubeconfig FILE version.",
        ),
      ];
    }
  },
};

interface Review extends KubeObject {
  readonly spec: { readonly resourceAttributes: Readonly<Record<string, string>> };
  readonly status?: { readonly allowed?: boolean };
}

/** What up, gather and teardown do. */
function needs(namespace: string): Readonly<Record<string, string>>[] {
  const inBridge = { namespace };
  return [
    { verb: "create", resource: "namespaces" },
    { verb: "delete", resource: "namespaces", name: namespace },
    { verb: "create", resource: "secrets", ...inBridge },
    { verb: "create", group: "apps", resource: "daemonsets", ...inBridge },
    { verb: "delete", group: "apps", resource: "daemonsets", ...inBridge },
    { verb: "list", resource: "pods", ...inBridge },
    { verb: "get", resource: "pods", subresource: "log", ...inBridge },
    { verb: "list", resource: "events", ...inBridge },
  ];
}

export const permissions: Check<DoctorContext> = {
  id: "permissions",
  roles: ["server", "bootstrap", "workstation"],
  async run({ cluster, model }) {
    if (cluster === undefined || typeof cluster === "string") return [noKubeconfig];
    const wanted = needs(model.namespace);
    const denied: string[] = [];
    try {
      for (const attributes of wanted) if (!(await isAllowed(cluster, attributes))) denied.push(described(attributes));
    } catch (reason) {
      return [skipped(`the API cannot be asked about permissions: ${messageOf(reason)}`)];
    }
    if (denied.length === 0) return [ok(`the user may do all that a bridge needs in ${model.namespace}`)];
    return [
      wrong(
        `the user may not ${denied.join(", ")}`,
        "Use an administrator's kubeconfig, or give the user these verbs: kubectl create clusterrolebinding drawbridge --clusterrole=cluster-admin --user=USER.",
        ...denied.map((what) => `kubectl auth can-i ${what}: no`),
      ),
    ];
  },
};

async function isAllowed({ api }: Cluster, resourceAttributes: Readonly<Record<string, string>>): Promise<boolean> {
  const kind = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const { status } = await api.create<Review>(path, { ...kind, spec: { resourceAttributes } }, { timeoutMs: 10_000 });
  return status?.allowed ?? false;
}

function described({ verb, resource, subresource, namespace }: Readonly<Record<string, string>>): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  return namespace === undefined ? `${verb} ${what}` : `${verb} ${what} -n ${namespace}`;
}
