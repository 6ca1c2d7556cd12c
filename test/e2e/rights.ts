/** What a Role grants, one right at a time: each can be taken away alone. */
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import type { PolicyRule } from "../../src/cluster/nodes/permissions.js";

export interface Right {
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly verb: string;
  /** Of the one object it is limited to. */
  readonly name?: string;
}

export function oneByOne({ apiGroups, resourceNames, resources, verbs }: PolicyRule): Right[] {
  const names = resourceNames?.map((name) => ({ name })) ?? [{}];
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) => names.map((named) => ({ group, resource, verb, ...named }))),
    ),
  );
}

export function ruleOf({ group, name, resource, verb }: Right): PolicyRule {
  const named = name === undefined ? {} : { resourceNames: [name] };
  return { apiGroups: [group], resources: [resource], verbs: [verb], ...named };
}

export function titleOf({ name = "", resource, verb }: Right): string {
  return `${verb} ${resource} ${name}`.trim();
}

/** Whether a complaint is about just this right, by the words of the API server's own authorizer. */
export function isAbout(complaint: string, { name = "", resource, verb }: Right): boolean {
  return complaint.includes(`cannot ${verb} resource "${resource}"`) && complaint.includes(name);
}

/** What the API server thinks now; its own view of its rules lags a moment behind what was written. */
export async function isAllowed(api: KubeApi, { group, name, resource: path, verb }: Right, namespace?: string) {
  const [resource, subresource] = path.split("/");
  const resourceAttributes = { group, resource, subresource, verb, name, namespace };
  const answer = await api.create<KubeObject & { status?: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    } as KubeObject,
  );
  return answer.status?.allowed === true;
}
