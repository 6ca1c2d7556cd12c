/** What a rehearsal is about: a small object of a kind that the webhook asked to see. */
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import type { Rule } from "./webhook-list.js";

export interface Subject {
  readonly operation: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subResource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

interface Discovery extends KubeObject {
  readonly preferredVersion?: { readonly version: string };
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

/** For webhooks that ask for everything, and for kinds that the cluster does not know. */
const anything: Subject = {
  operation: "CREATE",
  group: "",
  version: "v1",
  resource: "configmaps",
  subResource: "",
  kind: "ConfigMap",
  namespaced: true,
};

const isOpen = (word: string | undefined): boolean => word === undefined || word.startsWith("*");

/** Of the first rule; one that creates is the least surprising. */
export async function chooseSubject(api: KubeApi, rules: readonly Rule[], signal: AbortSignal): Promise<Subject> {
  const creates = ({ operations = [] }: Rule): boolean => operations.some((word) => word === "CREATE" || word === "*");
  const rule = rules.find(creates) ?? rules[0];
  if (rule === undefined) return anything;
  const operation = creates(rule) ? "CREATE" : (rule.operations?.[0] ?? "CREATE");
  const [group, full] = [rule.apiGroups?.[0], rule.resources?.[0]];
  if (isOpen(group) || isOpen(full)) return { ...anything, operation };
  const [resource = "", subResource = ""] = full!.split("/");
  try {
    const version = await versionOf(api, group!, rule.apiVersions?.[0], signal);
    const { resources = [] } = await api.get<Discovery>(root(group!, version), { signal });
    const known = resources.find(({ name }) => name === resource);
    if (known === undefined) return { ...anything, operation };
    const { kind, namespaced } = known;
    const part = subResource === "*" ? "" : subResource;
    return { operation, group: group!, version, resource, subResource: part, kind, namespaced };
  } catch {
    signal.throwIfAborted();
    // A group that is not served is not asked for either; the webhook can still be called about something else.
    return { ...anything, operation };
  }
}

async function versionOf(
  api: KubeApi,
  group: string,
  version: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (!isOpen(version)) return version!;
  if (group === "") return "v1";
  return (await api.get<Discovery>(`/apis/${group}`, { signal })).preferredVersion?.version ?? "v1";
}

function root(group: string, version: string): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}
