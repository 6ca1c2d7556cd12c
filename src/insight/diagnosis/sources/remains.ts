/** What of a bridge is in a cluster, and what shows whether it is still in use. */
import { X509Certificate } from "node:crypto";
import { messageOf } from "../../../base/errors/error.js";
import {
  AGENT_CERTS_SECRET,
  AGENT_NAME,
  BOOTSTRAP_ONLY_SELECTOR,
  secretKeys,
} from "../../../cluster/bootstrap/model/names.js";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath, namedPath } from "../../../cluster/kube/paths.js";
import { isReady, type Pod } from "../../../cluster/kube/pods.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import type { ConfigMap, Secret } from "../../../cluster/nodes/objects.js";
import { type Gatherer, unavailable } from "../check.js";

export interface BridgeRemains {
  readonly namespace: string;
  /** The installer noted that the bootstrap is over: its host is destroyed next. */
  readonly isBootstrapOver: boolean;
  /** The end of the agents' certificate; undefined when it cannot be read. */
  readonly until: Date | undefined;
  /** Pods of agents, and how many of them have their server. */
  readonly agents: number;
  readonly ready: number;
}

const INSTALLER_MARK = { namespace: "kube-system", name: "bootstrap" };

/** Silently unavailable where the cluster cannot be asked: the check kubeconfig reports that. */
export async function readRemains(facts: Gatherer): Promise<readonly BridgeRemains[]> {
  await facts.get("apiVersion").catch(() => unavailable(""));
  const { api } = await facts.get("cluster");
  const options = { signal: facts.signal, timeoutMs: 10_000 };
  const labelled = { ...options, labelSelector: BOOTSTRAP_ONLY_SELECTOR };
  const list = await api
    .list<KubeObject>(collectionPath("Namespace"), labelled)
    .catch((reason) =>
      unavailable(`whether a bridge left something in the cluster is not known: ${messageOf(reason)}`),
    );
  // What is terminating needs nobody any more.
  const names = list.items.flatMap(({ metadata = {} }) => (metadata.deletionTimestamp ? [] : (metadata.name ?? [])));
  if (names.length === 0) return [];
  const mark = await find<ConfigMap>(api, namedPath("ConfigMap", INSTALLER_MARK), options).catch(() => undefined);
  return Promise.all(
    names.map(async (namespace) => {
      const name = { namespace, name: AGENT_CERTS_SECRET };
      const secret = await find<Secret>(api, namedPath("Secret", name), options).catch(() => undefined);
      const ofAgents = { ...options, labelSelector: `app=${AGENT_NAME}` };
      const pods = await api.list<Pod>(collectionPath("Pod", namespace), ofAgents).catch(() => ({ items: [] }));
      return {
        ...{ namespace, isBootstrapOver: mark?.data?.status === "complete", until: endOf(secret) },
        ...{ agents: pods.items.length, ready: pods.items.filter(isReady).length },
      };
    }),
  );
}

function endOf(secret: Secret | undefined): Date | undefined {
  try {
    return new Date(new X509Certificate(Buffer.from(secret?.data?.[secretKeys.cert] ?? "", "base64")).validTo);
  } catch {
    return undefined;
  }
}
