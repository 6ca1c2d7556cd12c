/** Flags, context and texts of the commands that change workers or wait for them. */

import { plainText, table } from "../../base/text.js";
import type { ObjectName } from "../../cluster/nodes/objects.js";
import { PoolMissing, poolHash } from "../../cluster/nodes/token/user-data.js";
import type { WorkersContext } from "../../cluster/nodes/workers/change.js";
import { Deadline, type Progress } from "../../cluster/nodes/workers/deadline.js";
import { type Clusters, requireHostedAccess } from "../../cluster/nodes/workers/status.js";
import type { VerifiedWorker, VerifyOptions, VerifyResult } from "../../cluster/nodes/workers/verify.js";
import { policyFlags, policyOf } from "../csr/shared.js";
import { duration, filled, inGroup, number, oneOf, text, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import {
  approverNamespaceOf,
  type commandFlags,
  type windowFlag,
  withPool,
  withWorkersClusters,
  workersFlags,
} from "./shared.js";

/** How machines are approved, for --help. */
export const APPROVAL_HELP = `New machines are admitted by an approver of certificate requests. --approve runs one for as long as the command does, with the
flags of drawbridge csr approver; otherwise one must be running, or requests are approved elsewhere
(--approved-elsewhere).`;

export const timeoutFlag = (value: string) => ({ timeout: duration(value, "How long to wait in all.", { least: 1 }) });

export const changeFlags = {
  ...workersFlags,
  ...policyFlags,
  ...timeoutFlag("30m"),
  approve: yesNo("Decide certificate requests of the workers while this command runs."),
  "approved-elsewhere": yesNo("Do not ask for a running approver."),
};

type ChangeFlags = Values<typeof changeFlags>;

export const drainingFlags = {
  force: yesNo("Also evict pods that nothing would start elsewhere."),
  "delete-emptydir-data": yesNo("Also evict pods with emptyDir volumes, whose data is lost."),
  "drain-timeout": duration("10m", "How long draining one node may take.", { least: 1 }),
  "max-unavailable": number(1, "How many workers may be missing at a time.", { least: 1 }),
};

/** Pods by which verify and up find out whether nodes run any. */
export const podFlags = inGroup("advanced", {
  pods: oneOf(["all", "one", "none"], "Workers on which a test pod is started: all, one of them, or none.", "all"),
  "pod-image": filled(text("Image of the test pod; it must run without root.", "registry.k8s.io/pause:3.10")),
  "pod-namespace": filled(text("Namespace in which the test pod is made, and removed again.", "default")),
});

type PodFlags = Values<typeof podFlags>;

export function podOf({ podImage: image, podNamespace: namespace, pods: on }: PodFlags): VerifyOptions["pod"] {
  return on === "none" ? undefined : { namespace, image, on };
}

/** Without the flags of draining, no worker leaves. */
type WithFlags = ChangeFlags &
  Values<typeof windowFlag> &
  Partial<Values<typeof drainingFlags>> &
  Partial<Values<typeof commandFlags>>;

/** Opens the clusters and the store for as long as `run` takes, with no other command at work on the pool. */
export async function withWorkers<T>(flags: WithFlags, pool: ObjectName, run: (context: WorkersContext) => Promise<T>) {
  const { approve, approvedElsewhere, deleteEmptydirData = false, drainTimeout = 0, force = false } = flags;
  if (approve && approvedElsewhere) throw refused("--approve and --approved-elsewhere exclude each other");
  const by = approve ? "this command" : approvedElsewhere ? "anybody" : "a running approver";
  return withDeadline(flags.timeout, (deadline) =>
    withWorkersClusters(flags, async (clusters) => {
      await requireNodes(clusters, pool);
      return withPool(flags, clusters, pool, (store) =>
        run({
          ...{ clusters, store, deadline, pool, drainMs: drainTimeout },
          rules: { force, deleteEmptyDirData: deleteEmptydirData },
          maxUnavailable: flags.maxUnavailable ?? 1,
          joinWithinMs: flags.window,
          approval: { by, namespace: approverNamespaceOf(flags), policy: policyOf(flags) },
        }),
      );
    }),
  );
}

/** A pool that is not there yet is no reason to stop. */
async function requireNodes(clusters: Clusters, pool: ObjectName): Promise<void> {
  try {
    requireHostedAccess(clusters, (await poolHash(clusters.pools, pool)).object);
  } catch (reason) {
    if (!(reason instanceof PoolMissing)) throw reason;
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first signal ends the waiting, so that what was made for a moment is removed; the second ends the process. */
export async function withDeadline<T>(timeoutMs: number, use: (deadline: Deadline) => Promise<T>): Promise<T> {
  const progress = showProgress();
  const stop = new AbortController();
  const stopListening = () => {
    for (const name of SIGNALS) process.off(name, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    stopListening();
    progress.log(`${signal}: ending; once more to end at once`);
    stop.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    return await use(new Deadline({ timeoutMs, progress, signal: stop.signal }));
  } finally {
    stopListening();
    progress.end();
  }
}

interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

interface ShownProgress extends Progress {
  /** Takes the changing line away, so that a report can follow. */
  end(): void;
}

/** Progress on standard error: a line that changes on a terminal; elsewhere, in logs, a line for each state. */
export function showProgress(screen: Screen = process.stderr): ShownProgress {
  const isTerminal = screen.isTTY === true;
  const clear = isTerminal ? "\r\u001b[K" : "";
  let shown = "";
  const draw = () => isTerminal && screen.write(clear + shown.slice(0, (screen.columns ?? 80) - 1));
  return {
    log(line) {
      screen.write(`${clear}${plainText(line)}\n`);
      draw();
    },
    status(line) {
      const text = plainText(line);
      if (!isTerminal && text !== shown) screen.write(`${text}\n`);
      shown = text;
      draw();
    },
    end: () => void screen.write(clear),
  };
}

export function verdictText(verdict: VerifyResult): string {
  const { ok, pool, workers } = verdict;
  const rows = workers.map((worker) => [worker.name, ...cells(worker)]);
  const problems = [
    ...pool.problems.map((problem) => ({ who: `pool ${pool.name}`, ...problem })),
    ...workers.flatMap(({ problem, name }) => (problem === undefined ? [] : [{ who: name, ...problem }])),
  ];
  return [
    table([["WORKER", "FETCHED", "NODE", "LABELS", "POD", "CONFIGURATION"], ...rows]),
    ...problems.map(({ message, remedy, who }) => `${who}: ${message}\n  -> ${remedy}\n`),
    ok ? `All ${workers.length} workers of ${pool.name} are at work.\n` : `${counted(problems.length)} missing.\n`,
  ].join("");
}

function counted(things: number): string {
  return things === 1 ? "1 thing is" : `${things} things are`;
}

function cells({ configuration, fetched, labelled, made, pod, ready, registered }: VerifiedWorker): string[] {
  const node = registered ? (ready ? "Ready" : "NotReady") : made ? "missing" : "no machine";
  return [fetched, node, registered ? (labelled ? "yes" : "no") : "-", pod ?? "-", configuration];
}
