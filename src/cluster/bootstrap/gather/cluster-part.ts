/** What the cluster itself knows: agents, their logs, events about them. Secrets are not asked for. */
import { text as readAll } from "node:stream/consumers";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { AGENT_NAME, BOOTSTRAP_ONLY_SELECTOR, namespaces, SERVER_NAME } from "../model/names.js";
import { roleOf } from "../settings/command-line.js";
import { type ClusterText, openCluster } from "./cluster-text.js";

export interface ClusterFile {
  readonly path: string;
  readonly content: string;
}

export interface ClusterRun {
  readonly kubeconfig: string;
  /** Beside the bridge's own, where agents may stand. */
  readonly namespaces: readonly string[];
  readonly timeoutMs: number;
  /** Told one sentence about everything that could not be had. */
  readonly onFailure: (sentence: string) => void;
}

interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly {
      readonly name?: string;
      readonly command?: readonly string[];
      readonly args?: readonly string[];
    }[];
  };
  readonly status?: { readonly containerStatuses?: readonly { readonly restartCount?: number }[] };
}

const selectors = [`app=${AGENT_NAME}`, `app=${SERVER_NAME}`, BOOTSTRAP_ONLY_SELECTOR];
const REQUEST_MS = 10_000;
/** A crowd says the same as its first two hundred. */
const MOST_LOGS = 200;

/** Throws when the API cannot be reached at all. */
export async function* clusterFiles(run: ClusterRun): AsyncGenerator<ClusterFile, void, void> {
  const { api, text, close } = await openCluster(run.kubeconfig);
  const end = Date.now() + run.timeoutMs;
  try {
    await api.get("/version", { timeoutMs: REQUEST_MS });
    const pods = await labelled<Pod>(api, "/api/v1", "pods", run);
    const sets = await labelled(api, "/apis/apps/v1", "daemonsets", run);
    yield list("pods", pods);
    yield list("daemonsets", sets);
    const places = new Set([
      ...allNamespaces(run),
      ...[...pods, ...sets].map((object) => object.metadata?.namespace ?? ""),
    ]);
    yield list("events", await perNamespace(api, [...places].filter(Boolean), "/api/v1", "events", run));
    for (const [name, path] of clusterWide) yield list(name, await listed(api, path, run));
    yield* agentLogs(pods, text, run, end);
  } finally {
    close();
  }
}

const clusterWide = [
  ["nodes", "/api/v1/nodes"],
  ["validatingwebhookconfigurations", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"],
  ["mutatingwebhookconfigurations", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"],
] as const;

function allNamespaces(run: ClusterRun): string[] {
  return [...new Set([...Object.values(namespaces), ...run.namespaces])];
}

/** By the bridge's labels anywhere, and everything in its namespaces; each object once. */
async function labelled<T extends KubeObject>(
  api: KubeApi,
  group: string,
  kind: string,
  run: ClusterRun,
): Promise<T[]> {
  const found: T[] = [];
  for (const labelSelector of selectors) found.push(...(await listed<T>(api, `${group}/${kind}`, run, labelSelector)));
  found.push(...(await perNamespace<T>(api, allNamespaces(run), group, kind, run)));
  return [
    ...new Map(found.map((object) => [`${object.metadata?.namespace}/${object.metadata?.name}`, object])).values(),
  ];
}

async function perNamespace<T extends KubeObject>(
  api: KubeApi,
  places: readonly string[],
  group: string,
  kind: string,
  run: ClusterRun,
): Promise<T[]> {
  const found: T[] = [];
  for (const place of places) found.push(...(await listed<T>(api, `${group}/namespaces/${place}/${kind}`, run)));
  return found;
}

async function listed<T extends KubeObject>(
  api: KubeApi,
  path: string,
  run: ClusterRun,
  labelSelector = "",
): Promise<readonly T[]> {
  try {
    return (await api.list<T>(path, { labelSelector, timeoutMs: REQUEST_MS })).items;
  } catch (reason) {
    run.onFailure(sentenceOf(reason));
    return [];
  }
}

/** One object a line break, so that evidence has lines to point to. */
function list(name: string, items: readonly KubeObject[]): ClusterFile {
  return {
    path: `resources/${name}.json`,
    content: `${JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 1)}\n`,
  };
}

async function* agentLogs(
  pods: readonly Pod[],
  text: ClusterText,
  run: ClusterRun,
  end: number,
): AsyncGenerator<ClusterFile, void, void> {
  const agents = pods.filter((pod) => pod.spec?.containers?.some((one) => roleOf(one) === "agent"));
  let left = 0;
  for (const [index, pod] of agents.entries()) {
    if (index >= MOST_LOGS || Date.now() > end) {
      left++;
      continue;
    }
    yield* logsOf(pod, text, run);
  }
  if (left > 0) run.onFailure(`The logs of ${left} agents were not asked for: there are too many, or time was up.`);
}

async function* logsOf(pod: Pod, text: ClusterText, run: ClusterRun): AsyncGenerator<ClusterFile, void, void> {
  const { name = "", namespace = "" } = pod.metadata ?? {};
  const node = pod.spec?.nodeName;
  const container = pod.spec?.containers?.find((one) => roleOf(one) === "agent");
  if (node === undefined || container === undefined) return;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const folder = `control-plane/${node}`;
  const stem = `${AGENT_NAME}-${name.replace(`${AGENT_NAME}-`, "")}`;
  const log = `${path}/log?container=${container.name}&tailLines=5000&limitBytes=4194304`;
  const restarted = pod.status?.containerStatuses?.some(({ restartCount = 0 }) => restartCount > 0) ?? false;
  const port = [...(container.args ?? []), ...(container.command ?? [])]
    .map((word) => /^--health-server-port=(\d+)$/.exec(word)?.[1])
    .find(Boolean);
  const wanted: [string, string][] = [
    ...(restarted ? [[`${folder}/containers/${stem}-previous.log`, `${log}&previous=true`] as [string, string]] : []),
    [`${folder}/containers/${stem}.log`, log],
    ...(port === undefined
      ? []
      : [[`${folder}/metrics/${stem}.txt`, `${path}:${port}/proxy/metrics`] as [string, string]]),
  ];
  for (const [target, request] of wanted) {
    try {
      yield { path: target, content: await readAll(await text(request, REQUEST_MS)) };
    } catch (reason) {
      run.onFailure(`${target} could not be had: ${sentenceOf(reason)}`);
    }
  }
}

function sentenceOf(reason: unknown): string {
  const text = messageOf(reason).split("\n")[0] ?? "";
  return reason instanceof DrawbridgeError ? text : `The cluster did not answer: ${text}`;
}
