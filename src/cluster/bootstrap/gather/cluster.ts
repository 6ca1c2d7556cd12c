/** The part of an archive that comes from a cluster: pods, logs and metrics of agents, events, nodes, webhooks. Secrets are not asked for. */
import { systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { collectionPath, type Kind, namedPath } from "../../kube/paths.js";
import type { Pod } from "../../kube/pods.js";
import type { KubeObject } from "../../kube/port.js";
import { AGENT_NAME, BOOTSTRAP_ONLY_SELECTOR, namespaces, SERVER_NAME } from "../model/names.js";
import { roleOf } from "../settings/programs.js";

export interface GatheredCluster {
  readonly kubeconfig: string;
  /** If empty, the kubeconfig's current one. */
  readonly context: string;
  /** Namespaces of agents beside the bridge's own. */
  readonly namespaces: readonly string[];
}

const SELECTORS = [`app=${AGENT_NAME}`, `app=${SERVER_NAME}`, BOOTSTRAP_ONLY_SELECTOR];
const REQUEST_MS = 10_000;
/** The logs of more agents would say the same. */
const MOST_LOGS = 200;

/** Calls `onFailure` with a sentence for everything that is missing; throws when the API cannot be reached at all. */
export async function* clusterFiles(
  { kubeconfig, context, namespaces: further }: GatheredCluster,
  timeoutMs: number,
  onFailure: (sentence: string) => void,
): AsyncGenerator<{ readonly path: string; readonly content: Buffer }, void, void> {
  const { openKubeApi } = await import("../../kube/open.js");
  const api = await openKubeApi({ kubeconfig, context, qps: -1, burst: 0 });
  const end = systemClock.now() + timeoutMs;
  const ours = new Set([...Object.values(namespaces), ...further]);

  const listed = async <T extends KubeObject>(kind: Kind, namespace?: string, labelSelector = ""): Promise<T[]> => {
    try {
      const options = { labelSelector, timeoutMs: REQUEST_MS };
      return [...(await api.list<T>(collectionPath(kind, namespace), options)).items];
    } catch (reason) {
      onFailure(sentenceOf(reason));
      return [];
    }
  };
  /** By the bridge's labels in every namespace, and everything in its own namespaces; each object once. */
  const ofBridge = async <T extends KubeObject>(kind: Kind): Promise<T[]> => {
    const found = new Map<string, T>();
    const lists = [
      ...SELECTORS.map((selector) => [undefined, selector] as const),
      ...[...ours].map((namespace) => [namespace] as const),
    ];
    for (const [namespace, selector] of lists) {
      for (const object of await listed<T>(kind, namespace, selector)) {
        found.set(`${object.metadata?.namespace}/${object.metadata?.name}`, object);
      }
    }
    return [...found.values()];
  };

  try {
    await api.get("/version", { timeoutMs: REQUEST_MS });
    const pods = await ofBridge<Pod>("Pod");
    const daemonSets = await ofBridge("DaemonSet");
    yield listFile("pods", pods);
    yield listFile("daemonsets", daemonSets);
    const events: KubeObject[] = [];
    const used = [...pods, ...daemonSets].map(({ metadata }) => metadata?.namespace ?? "");
    for (const namespace of new Set([...ours, ...used])) {
      if (namespace !== "") events.push(...(await listed("Event", namespace)));
    }
    yield listFile("events", events);
    for (const kind of ["Node", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const) {
      yield listFile(`${kind.toLowerCase()}s`, await listed(kind));
    }
    const agents = pods.filter(({ spec }) => spec?.containers?.some((one) => roleOf(one) === "agent"));
    for (const [index, pod] of agents.entries()) {
      if (index >= MOST_LOGS || systemClock.now() > end) {
        const left = agents.length - index;
        onFailure(`The logs of ${left} agents were not asked for: there are too many, or time was up.`);
        return;
      }
      for (const [path, request] of agentTexts(pod)) {
        try {
          yield { path, content: Buffer.from(await api.text(request, { timeoutMs: REQUEST_MS })) };
        } catch (reason) {
          onFailure(`${path} could not be read: ${sentenceOf(reason)}`);
        }
      }
    }
  } finally {
    api.close();
  }
}

/** A line for each field, so that evidence has lines to point to. */
function listFile(name: string, items: readonly KubeObject[]) {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 1);
  return { path: `resources/${name}.json`, content: Buffer.from(`${list}\n`) };
}

/** Logs and metrics of an agent: paths in the archive, and where the API has them. */
function agentTexts({ metadata, spec, status }: Pod): (readonly [path: string, request: string])[] {
  const { name = "", namespace = "" } = metadata ?? {};
  const container = spec?.containers?.find((one) => roleOf(one) === "agent");
  if (spec?.nodeName === undefined || container === undefined) return [];
  const pod = namedPath("Pod", { namespace, name });
  const log = `${pod}/log?container=${container.name}&tailLines=5000&limitBytes=4194304`;
  const folder = `control-plane/${spec.nodeName}`;
  const stem = `${AGENT_NAME}-${name.replace(`${AGENT_NAME}-`, "")}`;
  const isRestarted = status?.containerStatuses?.some(({ restartCount = 0 }) => restartCount > 0) ?? false;
  const port = [...(container.args ?? []), ...(container.command ?? [])]
    .map((word) => /^--health-server-port=(\d+)$/.exec(word)?.[1])
    .find(Boolean);
  return [
    ...(isRestarted ? [[`${folder}/containers/${stem}-previous.log`, `${log}&previous=true`] as const] : []),
    [`${folder}/containers/${stem}.log`, log] as const,
    ...(port === undefined ? [] : [[`${folder}/metrics/${stem}.txt`, `${pod}:${port}/proxy/metrics`] as const]),
  ];
}

function sentenceOf(reason: unknown): string {
  const text = messageOf(reason).split("\n")[0] ?? "";
  return reason instanceof DrawbridgeError ? text : `The cluster did not answer: ${text}`;
}
