/** Waits until a pool's workers are nodes that run pods, and says what is missing where. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isConflict, isTransient } from "../../kube/errors.js";
import { deleteIfPresent, find } from "../../kube/objects.js";
import type { KubeApi } from "../../kube/port.js";
import { type ObjectName, pathOf } from "../objects.js";
import type { Deadline } from "./deadline.js";
import { type Pod, podPath, podsPath } from "./drain.js";
import { labelNode, nodeSettingsOf, type Taint } from "./node.js";
import {
  type Clusters,
  type PoolReport,
  type PoolSnapshot,
  poolReport,
  readPool,
  type WorkerProblem,
  type WorkerStatus,
  workerStatus,
} from "./status.js";
import type { Worker } from "./worker.js";

export interface VerifyOptions {
  readonly clusters: Clusters;
  readonly pool: ObjectName;
  readonly workers: readonly Worker[];
  readonly deadline: Deadline;
  /** Undefined: nodes are enough. `one`: on the first worker that can have it. */
  readonly pod: { readonly namespace: string; readonly image: string; readonly on: "one" | "all" } | undefined;
  /** Puts the pool's labels and taints on nodes instead of missing them. */
  readonly labelsNodes: boolean;
}

export interface VerifiedWorker extends WorkerStatus {
  /** Undefined when none was tried. */
  readonly pod: "started" | "not started" | undefined;
}

export interface VerifyResult {
  readonly ok: boolean;
  readonly pool: PoolReport;
  readonly workers: readonly VerifiedWorker[];
}

/** Until everything is as it should be, or what `isEnough` asks for. */
export async function verifyWorkers(
  options: VerifyOptions,
  isEnough: (verdict: VerifyResult) => boolean = ({ ok }) => ok,
): Promise<VerifyResult> {
  const { deadline } = options;
  const pods = new Map<string, TestPod>();
  let verdict: VerifyResult | undefined;
  let trouble: unknown;
  try {
    do {
      if (verdict !== undefined || trouble !== undefined) await deadline.pause();
      try {
        verdict = await look(options, pods);
        trouble = undefined;
        deadline.progress.status(summary(verdict));
      } catch (reason) {
        if (!isTransient(reason)) throw reason;
        trouble = reason;
        deadline.progress.status(messageOf(reason));
      }
    } while ((verdict === undefined || trouble !== undefined || !isEnough(verdict)) && !deadline.hasPassed);
  } finally {
    await removeTestPods(options, pods);
  }
  if (verdict === undefined) throw trouble;
  // What was seen before the API went away is no verdict about now.
  return trouble === undefined ? verdict : withTrouble(verdict, messageOf(trouble));
}

interface TestPod {
  readonly pod: Pod;
  isMade: boolean;
  started: boolean;
  because: string;
}

async function look(options: VerifyOptions, pods: Map<string, TestPod>): Promise<VerifyResult> {
  const { clusters, deadline, pool, workers } = options;
  let scene = await readPool(clusters, pool, workers, deadline.clock.date());
  if (options.labelsNodes && (await labelNodes(options, scene))) {
    scene = await readPool(clusters, pool, workers, deadline.clock.date());
  }
  const verified: VerifiedWorker[] = [];
  for (const worker of workers) {
    const standing = workerStatus(worker, scene);
    const isTried = standing.problem === undefined && isToBeTried(worker, options, pods);
    verified.push(isTried ? await runTestPod(standing, scene, options, pods) : { ...standing, pod: undefined });
  }
  const report = poolReport(pathOf(pool), scene);
  const ok = report.problems.length === 0 && verified.every(({ problem }) => problem === undefined);
  return { ok, pool: report, workers: verified };
}

function isToBeTried({ name }: Worker, { pod }: VerifyOptions, pods: ReadonlyMap<string, TestPod>): boolean {
  return pod?.on === "all" || (pod?.on === "one" && (pods.size === 0 || pods.has(name)));
}

async function labelNodes({ clusters, deadline, workers }: VerifyOptions, scene: PoolSnapshot): Promise<boolean> {
  let isChanged = false;
  for (const { hash, leaving, name } of workers) {
    if (!scene.nodes.has(name) || leaving !== undefined) continue;
    if (!(await labelNode(clusters.nodes, name, nodeSettingsOf(scene.pool), hash))) continue;
    isChanged = true;
    deadline.progress.log(`${name}: its node has joined, and has the pool's labels and taints`);
  }
  return isChanged;
}

async function runTestPod(
  standing: WorkerStatus,
  scene: PoolSnapshot,
  { clusters: { nodes: api }, pod: wanted }: VerifyOptions,
  pods: Map<string, TestPod>,
): Promise<VerifiedWorker> {
  const { name } = standing;
  const { taints } = nodeSettingsOf(scene.pool);
  const tried = pods.get(name) ?? {
    pod: testPod(name, { ...wanted!, taints }),
    isMade: false,
    started: false,
    because: "",
  };
  pods.set(name, tried);
  if (!tried.isMade) {
    tried.isMade = (await startTestPod(api, tried.pod)) === "started";
    tried.because = tried.isMade ? "" : "a pod of an earlier run is still on it";
  } else if (!tried.started) await watchPod(api, tried);
  if (tried.started) return { ...standing, pod: "started" };
  const problem: WorkerProblem = {
    what: tried.because || "a pod was made for it and has not started yet",
    remedy: `kubectl describe pod ${tried.pod.metadata?.name} -n ${tried.pod.metadata?.namespace} while this waits, or drawbridge workers doctor`,
  };
  return { ...standing, pod: "not started", problem };
}

async function watchPod(api: Clusters["nodes"], tried: TestPod): Promise<void> {
  const pod = await find<Pod>(api, podPath(tried.pod));
  if (pod === undefined) {
    // Somebody deleted it: once more.
    tried.isMade = false;
    tried.because = "its pod was deleted before it started";
    return;
  }
  const standing = podStartOf(pod);
  tried.started = standing === "started";
  tried.because = standing === "started" ? "" : standing.because;
}

async function removeTestPods(
  { clusters, deadline }: VerifyOptions,
  pods: ReadonlyMap<string, TestPod>,
): Promise<void> {
  for (const { isMade, pod } of pods.values()) {
    if (!isMade) continue;
    try {
      await deleteIfPresent(clusters.nodes, podPath(pod));
    } catch (reason) {
      deadline.progress.log(`pod ${pod.metadata?.name} could not be removed: ${messageOf(reason)}`);
    }
  }
}

function withTrouble(verdict: VerifyResult, sentence: string): VerifyResult {
  const problem: WorkerProblem = {
    what: sentence,
    remedy: "bring the API back and verify again; below is what was seen before",
  };
  return { ...verdict, ok: false, pool: { ...verdict.pool, problems: [problem, ...verdict.pool.problems] } };
}

function summary({ pool, workers }: VerifyResult): string {
  const ready = workers.filter(({ ready }) => ready).length;
  const first = workers.find(({ problem }) => problem !== undefined);
  const what = pool.problems[0]?.what ?? (first && `${first.name}: ${first.problem?.what}`);
  return `${ready} of ${workers.length} workers are Ready${what === undefined ? "" : `; ${what}`}`;
}

/** Rejects with what the first of them lacks when they are not Ready in time; their pool's other troubles are not theirs. */
export async function awaitWorkers(options: Omit<VerifyOptions, "pod" | "labelsNodes">): Promise<void> {
  const lackOf = ({ workers }: VerifyResult) => workers.find(({ problem }) => problem !== undefined);
  const verdict = await verifyWorkers(
    { ...options, pod: undefined, labelsNodes: true },
    (seen) => lackOf(seen) === undefined,
  );
  const late = lackOf(verdict);
  if (late === undefined) return;
  const sentence = `${late.name} is not Ready after ${options.deadline.timeout}: ${late.problem?.what}; ${late.problem?.remedy}`;
  throw new DrawbridgeError("DB_WORKERS_WAIT", sentence);
}

interface TestPodOptions {
  readonly namespace: string;
  readonly image: string;
  /** The pool's own must not keep it away. */
  readonly taints: readonly Taint[];
}

const PREFIX = "drawbridge-verify-";
/** Whatever becomes of us, it does not run for ever. */
const LONGEST_SECONDS = 900;

/** A small pod that the scheduler puts on one node, like every other pod, to see that the node runs pods. */
function testPod(node: string, { image, namespace, taints }: TestPodOptions): Pod {
  const only = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  const spec = {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [only] } },
    },
    tolerations: taints.map(({ effect, key, value }) => ({
      ...{ key, effect },
      ...(value === undefined ? { operator: "Exists" } : { operator: "Equal", value }),
    })),
    containers: [
      {
        name: "verify",
        image,
        resources: { requests: { cpu: "1m", memory: "4Mi" } },
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 0,
    activeDeadlineSeconds: LONGEST_SECONDS,
  };
  const metadata = { name: `${PREFIX}${node}`, namespace, labels: { "app.kubernetes.io/name": "drawbridge-verify" } };
  return { apiVersion: "v1", kind: "Pod", metadata, spec } as Pod;
}

/** One that an earlier run left behind makes room first. */
async function startTestPod(api: KubeApi, pod: Pod): Promise<"started" | "waiting"> {
  try {
    await api.create(podsPath(pod.metadata?.namespace ?? ""), pod);
    return "started";
  } catch (reason) {
    if (!isConflict(reason)) throw reason;
    await deleteIfPresent(api, podPath(pod));
    return "waiting";
  }
}

type PodStart = "started" | { readonly because: string };

function podStartOf({ status }: Pod): PodStart {
  if (status?.phase === "Running" || status?.phase === "Succeeded") return "started";
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "True") {
    return { because: `no pod is scheduled on it: ${scheduled?.message ?? "the scheduler has said nothing yet"}` };
  }
  const waiting = status?.containerStatuses?.[0]?.state?.waiting;
  const why = [waiting?.reason, waiting?.message].filter(Boolean).join(": ") || "its kubelet has said nothing yet";
  return { because: `a pod is scheduled on it and does not start: ${why}` };
}
