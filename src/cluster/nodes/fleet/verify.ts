/** Waits until a pool's workers are nodes that run pods, and says what is missing where. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { find } from "../../kube/find.js";
import { type ObjectName, pathOf } from "../objects.js";
import type { Worker } from "../workers/worker.js";
import { furnish, furnishingOf } from "./furnish.js";
import { type Clusters, lookAtPool, type Scene } from "./look.js";
import { isPassing, type Patience } from "./patience.js";
import { type Pod, podPath } from "./pod.js";
import { type Lack, type PoolReport, poolReport, standingOf, type WorkerStanding } from "./standing.js";
import { podStanding, removeTestPod, startTestPod, testPod } from "./test-pod.js";

export interface VerifyOptions {
  readonly clusters: Clusters;
  readonly pool: ObjectName;
  readonly workers: readonly Worker[];
  readonly patience: Patience;
  /** Undefined: nodes are enough. `one`: on the first worker that can have it. */
  readonly pod: { readonly namespace: string; readonly image: string; readonly on: "one" | "all" } | undefined;
  /** Puts the pool's labels and taints on nodes instead of missing them. */
  readonly furnishes: boolean;
}

export interface Verified extends WorkerStanding {
  /** Undefined when none was tried. */
  readonly pod: "started" | "not started" | undefined;
}

export interface Verdict {
  readonly ok: boolean;
  readonly pool: PoolReport;
  readonly workers: readonly Verified[];
}

/** Until everything is as it should be, or what `isEnough` asks for. */
export async function verify(
  options: VerifyOptions,
  isEnough: (verdict: Verdict) => boolean = ({ ok }) => ok,
): Promise<Verdict> {
  const { patience } = options;
  const pods = new Map<string, TriedPod>();
  let verdict: Verdict | undefined;
  let trouble: unknown;
  try {
    do {
      if (verdict !== undefined || trouble !== undefined) await patience.rest();
      try {
        verdict = await look(options, pods);
        trouble = undefined;
        patience.progress.status(summary(verdict));
      } catch (reason) {
        if (!isPassing(reason)) throw reason;
        trouble = reason;
        patience.progress.status(messageOf(reason));
      }
    } while ((verdict === undefined || trouble !== undefined || !isEnough(verdict)) && !patience.isOver);
  } finally {
    await removeAll(options, pods);
  }
  if (verdict === undefined) throw trouble;
  // What was seen before the API went away is no verdict about now.
  return trouble === undefined ? verdict : withTrouble(verdict, messageOf(trouble));
}

interface TriedPod {
  readonly pod: Pod;
  isMade: boolean;
  started: boolean;
  because: string;
}

async function look(options: VerifyOptions, pods: Map<string, TriedPod>): Promise<Verdict> {
  const { clusters, patience, pool, workers } = options;
  let scene = await lookAtPool(clusters, pool, workers, patience.clock.now());
  if (options.furnishes && (await furnishAll(options, scene))) {
    scene = await lookAtPool(clusters, pool, workers, patience.clock.now());
  }
  const verified: Verified[] = [];
  for (const worker of workers) {
    const standing = standingOf(worker, scene);
    const isTried = standing.lack === undefined && isToBeTried(worker, options, pods);
    verified.push(isTried ? await tryOut(standing, scene, options, pods) : { ...standing, pod: undefined });
  }
  const report = poolReport(pathOf(pool), scene);
  const ok = report.lacks.length === 0 && verified.every(({ lack }) => lack === undefined);
  return { ok, pool: report, workers: verified };
}

function isToBeTried({ name }: Worker, { pod }: VerifyOptions, pods: ReadonlyMap<string, TriedPod>): boolean {
  return pod?.on === "all" || (pod?.on === "one" && (pods.size === 0 || pods.has(name)));
}

async function furnishAll({ clusters, patience, workers }: VerifyOptions, scene: Scene): Promise<boolean> {
  let isChanged = false;
  for (const { hash, leaving, name } of workers) {
    if (!scene.nodes.has(name) || leaving !== undefined) continue;
    if (!(await furnish(clusters.nodes, name, furnishingOf(scene.pool), hash))) continue;
    isChanged = true;
    patience.progress.tell(`${name}: its node has joined, and has the pool's labels and taints`);
  }
  return isChanged;
}

async function tryOut(
  standing: WorkerStanding,
  scene: Scene,
  { clusters: { nodes: api }, pod: wanted }: VerifyOptions,
  pods: Map<string, TriedPod>,
): Promise<Verified> {
  const { name } = standing;
  const { taints } = furnishingOf(scene.pool);
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
  const lack: Lack = {
    what: tried.because || "a pod was made for it and has not started yet",
    remedy: `kubectl describe pod ${tried.pod.metadata?.name} -n ${tried.pod.metadata?.namespace} while this waits, or drawbridge workers doctor`,
  };
  return { ...standing, pod: "not started", lack };
}

async function watchPod(api: Clusters["nodes"], tried: TriedPod): Promise<void> {
  const pod = await find<Pod>(api, podPath(tried.pod));
  if (pod === undefined) {
    // Somebody deleted it: once more.
    tried.isMade = false;
    tried.because = "its pod was deleted before it started";
    return;
  }
  const standing = podStanding(pod);
  tried.started = standing === "started";
  tried.because = standing === "started" ? "" : standing.because;
}

async function removeAll({ clusters, patience }: VerifyOptions, pods: ReadonlyMap<string, TriedPod>): Promise<void> {
  for (const { isMade, pod } of pods.values()) {
    if (!isMade) continue;
    try {
      await removeTestPod(clusters.nodes, pod);
    } catch (reason) {
      patience.progress.tell(`pod ${pod.metadata?.name} could not be removed: ${messageOf(reason)}`);
    }
  }
}

function withTrouble(verdict: Verdict, sentence: string): Verdict {
  const lack: Lack = { what: sentence, remedy: "bring the API back and verify again; below is what was seen before" };
  return { ...verdict, ok: false, pool: { ...verdict.pool, lacks: [lack, ...verdict.pool.lacks] } };
}

function summary({ pool, workers }: Verdict): string {
  const ready = workers.filter(({ ready }) => ready).length;
  const first = workers.find(({ lack }) => lack !== undefined);
  const what = pool.lacks[0]?.what ?? (first && `${first.name}: ${first.lack?.what}`);
  return `${ready} of ${workers.length} workers are Ready${what === undefined ? "" : `; ${what}`}`;
}

/** Rejects with what the first of them lacks when they are not Ready in time; their pool's other troubles are not theirs. */
export async function awaitWorkers(options: Omit<VerifyOptions, "pod" | "furnishes">): Promise<void> {
  const lackOf = ({ workers }: Verdict) => workers.find(({ lack }) => lack !== undefined);
  const verdict = await verify({ ...options, pod: undefined, furnishes: true }, (seen) => lackOf(seen) === undefined);
  const late = lackOf(verdict);
  if (late === undefined) return;
  const sentence = `${late.name} is not Ready after ${options.patience.timeout}: ${late.lack?.what}; ${late.lack?.remedy}`;
  throw new DrawbridgeError("DB_WORKERS_WAIT", sentence);
}
