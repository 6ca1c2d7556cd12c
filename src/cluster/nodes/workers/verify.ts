/** Waits until a pool's workers are nodes that run pods, and says what is missing where. */

import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { failed, type Judgement } from "../../../base/finding.js";
import { isConflict, isTransient } from "../../kube/errors.js";
import { deleteIfPresent, find } from "../../kube/objects.js";
import type { KubeApi } from "../../kube/port.js";
import { pathOf, type Taint } from "../objects.js";
import type { WorkersContext } from "./change.js";
import { labelNode, type NodePod, nodeSettingsOf, podPath, podsPath } from "./node.js";
import { type PoolSnapshot, poolReport, readPool, workerStatus } from "./status.js";
import type { Worker } from "./worker.js";

export interface VerifyOptions extends Pick<WorkersContext, "clusters" | "pool" | "deadline"> {
  readonly workers: readonly Worker[];
  /** If undefined, no pod is started. `one`: on the first worker that can have it. */
  readonly pod: { readonly namespace: string; readonly image: string; readonly on: "one" | "all" } | undefined;
  /** Whether the pool's labels and taints are put on nodes. */
  readonly labelsNodes: boolean;
}

export type VerifiedWorker = VerifyResult["workers"][number];
export type VerifyResult = Awaited<ReturnType<typeof look>>;

/** Waits until nothing is missing, or until `isEnough` accepts the result. */
export async function verifyWorkers(
  options: VerifyOptions,
  isEnough: (verdict: VerifyResult) => boolean = ({ ok }) => ok,
): Promise<VerifyResult> {
  const { deadline } = options;
  const pods: TestPods = new Map();
  let verdict: VerifyResult | undefined;
  try {
    for (;;) {
      let failure: unknown;
      try {
        verdict = await look(options, pods);
        deadline.progress.status(summary(verdict));
        if (isEnough(verdict) || deadline.hasPassed) return verdict;
      } catch (reason) {
        if (!isTransient(reason)) throw reason;
        failure = reason;
        deadline.progress.status(messageOf(reason));
      }
      if (deadline.hasPassed) return outdated(verdict, failure);
      await deadline.pause();
    }
  } finally {
    await removeTestPods(options, pods);
  }
}

/** The last result before the API went away, with that failure as a problem. */
function outdated(verdict: VerifyResult | undefined, failure: unknown): VerifyResult {
  if (verdict === undefined) throw failure;
  const remedy = "bring the API back and verify again; below is what was seen before";
  const problem = failed(messageOf(failure), remedy);
  return { ...verdict, ok: false, pool: { ...verdict.pool, problems: [problem, ...verdict.pool.problems] } };
}

/** The test pods by their nodes' names; one whose name is taken waits to be made. */
type TestPods = Map<string, { readonly pod: NodePod; readonly state: "waiting" | "made" | "started" }>;

async function look(options: VerifyOptions, pods: TestPods) {
  const { clusters, deadline, labelsNodes, pod: wanted, pool, workers } = options;
  const read = () => readPool(clusters, pool, workers, deadline.clock.date());
  let snapshot = await read();
  if (labelsNodes && (await labelNodes(options, snapshot))) snapshot = await read();
  const { taints } = nodeSettingsOf(snapshot.pool);
  const verified = [];
  for (const worker of workers) {
    const { name } = worker;
    const status = workerStatus(worker, snapshot);
    const isNext = wanted?.on === "all" || pods.size === 0 || pods.has(name);
    if (wanted === undefined || status.problem !== undefined || !isNext) verified.push({ ...status, pod: undefined });
    else {
      const problem = await runTestPod(clusters.nodes, name, testPod(name, wanted, taints), pods);
      verified.push({
        ...status,
        pod: problem === undefined ? ("started" as const) : ("not started" as const),
        problem,
      });
    }
  }
  const report = poolReport(pathOf(pool), snapshot);
  const ok = report.problems.length === 0 && verified.every(({ problem }) => problem === undefined);
  return { ok, pool: report, workers: verified };
}

/** Whether any node lacked them. */
export async function labelNodes(
  { clusters, deadline, workers }: Pick<VerifyOptions, "clusters" | "deadline" | "workers">,
  snapshot: PoolSnapshot,
): Promise<boolean> {
  let isChanged = false;
  for (const { hash, leaving, name, served } of workers) {
    if (!snapshot.nodes.has(name) || leaving !== undefined) continue;
    // What it was sent last, which may be newer than what its user data was made for.
    const sent = servedHash(name, snapshot) ?? served ?? hash;
    if (!(await labelNode(clusters.nodes, name, nodeSettingsOf(snapshot.pool), sent))) continue;
    isChanged = true;
    deadline.progress.log(`${name}: its node has joined, and has the pool's labels and taints`);
  }
  return isChanged;
}

function servedHash(worker: string, { claims }: PoolSnapshot): string | undefined {
  return claims.find((claim) => claim.worker === worker)?.hash;
}

/** Undefined once the pod has started on the node; otherwise why it has not. */
async function runTestPod(api: KubeApi, node: string, pod: NodePod, pods: TestPods): Promise<Judgement | undefined> {
  const what = await podProblem(api, node, pod, pods);
  const { name, namespace } = pod.metadata ?? {};
  const describe = `kubectl describe pod ${name} -n ${namespace} while this waits`;
  return what === undefined ? undefined : failed(what, `${describe}, or drawbridge workers doctor`);
}

async function podProblem(api: KubeApi, node: string, pod: NodePod, pods: TestPods): Promise<string | undefined> {
  const { state = "waiting" } = pods.get(node) ?? {};
  if (state === "started") return undefined;
  if (state === "waiting") {
    pods.set(node, { pod, state: "waiting" });
    try {
      await api.create(podsPath(pod.metadata?.namespace ?? ""), pod);
    } catch (reason) {
      if (!isConflict(reason)) throw reason;
      await deleteIfPresent(api, podPath(pod));
      return "a pod of an earlier run is still on it";
    }
    pods.set(node, { pod, state: "made" });
    return "a pod was made for it and has not started yet";
  }
  const found = await find<NodePod>(api, podPath(pod));
  const why = found === undefined ? "its pod was deleted before it started" : whyNotStarted(found);
  if (found === undefined) pods.set(node, { pod, state: "waiting" });
  else if (why === undefined) pods.set(node, { pod, state: "started" });
  return why;
}

async function removeTestPods({ clusters, deadline }: VerifyOptions, pods: TestPods): Promise<void> {
  for (const { pod, state } of pods.values()) {
    if (state === "waiting") continue;
    try {
      await deleteIfPresent(clusters.nodes, podPath(pod));
    } catch (reason) {
      deadline.progress.log(`pod ${pod.metadata?.name} could not be removed: ${messageOf(reason)}`);
    }
  }
}

function summary({ pool, workers }: VerifyResult): string {
  const ready = workers.filter((worker) => worker.ready).length;
  const first = workers.find(({ problem }) => problem !== undefined);
  const what = pool.problems[0]?.message ?? (first && `${first.name}: ${first.problem?.message}`);
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
  const sentence = `${late.name} is not Ready after ${options.deadline.timeout}: ${late.problem?.message}; ${late.problem?.remedy}`;
  throw new DrawbridgeError("DB_WORKERS_WAIT", sentence);
}

const PREFIX = "drawbridge-verify-";
/** A test pod ends after this long even if it is not removed. */
const LONGEST_SECONDS = 900;

/** A small pod that the scheduler puts on one node, whose pool's taints must not keep it away, to see that the node runs pods. */
function testPod(node: string, { image, namespace }: NonNullable<VerifyOptions["pod"]>, taints: readonly Taint[]) {
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
  return { apiVersion: "v1", kind: "Pod", metadata, spec } as NodePod;
}

function whyNotStarted({ status }: NodePod): string | undefined {
  if (status?.phase === "Running" || status?.phase === "Succeeded") return undefined;
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "True") {
    return `no pod is scheduled on it: ${scheduled?.message ?? "the scheduler has reported nothing yet"}`;
  }
  const waiting = status?.containerStatuses?.[0]?.state?.waiting;
  const why = [waiting?.reason, waiting?.message].filter(Boolean).join(": ") || "its kubelet has reported nothing yet";
  return `a pod is scheduled on it and does not start: ${why}`;
}
