/** Does the kubeconfig lead to a kube-apiserver that answers? */
import { type Check, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";

/** An API to ask, or why there is none. */
export type ApiAccess =
  | { readonly api: KubeApi; readonly kubeconfig: string }
  | { readonly api: undefined; readonly trouble: string | undefined };

export function apiCheck(access: ApiAccess): Check {
  return { id: "cluster-api", title: "The kube-apiserver answers", run: (signal) => answers(access, signal) };
}

const REMEDY = "Give a kubeconfig of this host's kube-apiserver that may read nodes and webhooks with --kubeconfig.";

async function answers(access: ApiAccess, signal: AbortSignal): Promise<Outcome> {
  if (access.api === undefined) {
    return access.trouble === undefined ? skip("no kubeconfig was given", REMEDY) : fail(access.trouble, REMEDY);
  }
  try {
    const version = await access.api.get<KubeObject & { gitVersion?: string }>("/version", {
      signal,
      timeoutMs: 10_000,
    });
    return pass(`${access.kubeconfig} leads to Kubernetes ${version.gitVersion ?? "of unknown version"}`);
  } catch (reason) {
    return fail(messageOf(reason), REMEDY);
  }
}
