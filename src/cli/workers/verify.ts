/** `drawbridge workers verify`: are the workers at work, and if not, what is missing? */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import { addOutput, json, runPlainCommand } from "../framework/plain-command.js";
import { checkAccess, declareAccess } from "../nodepool/flags.js";
import { declareHosted, declareState, openState, poolOf, withClusters } from "./flags.js";
import { checkPositive, declareTimeout, withPatience } from "./patience.js";
import { showProgress } from "./progress.js";
import { checkPods, declarePods, podOf } from "./verify-flags.js";
import { verdictText } from "./verify-report.js";

const purpose = `Waits until the pool has nothing to complain about and all its workers, or those named, have fetched their configuration,
are nodes, are Ready with the pool's labels and taints, and start a pod; then, or when --timeout is over, says for each
what is there, what exactly is missing, and what to do. Pods that it makes it removes again; nothing else is changed.

Ends with 0 when nothing is missing, with 1 otherwise.`;

export function workersVerify(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, words: " [NAME...]", declare, check, run });
}

function declare(set: FlagSet) {
  return {
    ...declareAccess(set),
    ...declareState(set),
    ...declarePods(set),
    hostedKubeconfig: declareHosted(set),
    pool: set.add("pool", string, "", "Name of the pool. Required."),
    timeout: declareTimeout(set, "10m"),
    output: addOutput(set),
  };
}

type VerifyFlags = ReturnType<typeof declare>;

function check(flags: VerifyFlags): void {
  checkAccess(flags);
  poolOf(flags.pool, flags.namespace);
  checkPositive(flags.timeout);
  checkPods(flags);
}

async function run(flags: VerifyFlags, names: readonly string[]): Promise<number> {
  const { verify } = await import("../../cluster/nodes/workers/verify.js");
  const pool = poolOf(flags.pool, flags.namespace);
  const workers = await chosen(flags, `${pool.namespace}/${pool.name}`, names);
  const progress = showProgress();
  const verdict = await withPatience(flags.timeout, progress, (patience) =>
    withClusters(flags, (clusters) =>
      verify({ clusters, pool, workers, patience, pod: podOf(flags), furnishes: false }),
    ),
  ).finally(progress.end);
  process.stdout.write(flags.output.value === "json" ? json(verdict) : verdictText(verdict));
  return verdict.ok ? 0 : 1;
}

async function chosen(flags: VerifyFlags, pool: string, names: readonly string[]) {
  const { knownWorkers } = await import("../../cluster/nodes/workers/machines.js");
  const store = await openState(flags);
  const all = names.length === 0 ? await store.read() : await knownWorkers(store, names);
  const own = all.filter((worker) => worker.pool === pool);
  const stranger = names.find((name) => !own.some((worker) => worker.name === name));
  if (stranger !== undefined) throw new DrawbridgeError("DB_WORKERS", `${stranger} is not a worker of ${pool}`);
  if (own.length > 0) return own;
  const sentence = `${pool} has no workers in ${flags.state.value}: drawbridge workers up or create makes some`;
  throw new DrawbridgeError("DB_WORKERS", sentence);
}
