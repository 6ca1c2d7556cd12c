/** The conditions of a pool's machines, by HyperShift's names and reasons. The NodePool controller sets none of these types. */
import { isReady } from "../../kube/pods.js";
import { secondTime } from "../objects.js";
import { AS_EXPECTED, Conditions, type ConditionValue, isFalse, isTrue } from "../pool/conditions.js";
import type { Condition, NodePool, NodePoolStatus } from "../pool/node-pool.js";
import { isHosted, type PoolSnapshot, workerStatus } from "../workers/status.js";
import type { Worker } from "../workers/worker.js";
import type { MachinePlan } from "./plan.js";
import { ACKNOWLEDGED_ANNOTATION } from "./rules.js";

const REMOVAL_ALLOWED = "MachineRemovalAllowed";

/** Why machines are not removed, or not made. */
export interface Stop {
  readonly reason: "RemovalFailed" | "CreationFailed" | "ListTooSmall";
  readonly message: string;
  /** Whether only somebody's word ends it. */
  readonly isHeld: boolean;
}

export interface MachineState {
  readonly snapshot: PoolSnapshot;
  readonly workers: readonly Worker[];
  readonly plan: MachinePlan;
  readonly stop: Stop | undefined;
  readonly health: { readonly notReady: number; readonly maxUnhealthy: number; readonly isTooMany: boolean };
  /** What the last pass could not do, and what is tried again. */
  readonly problem: string;
}

/** These are HyperShift's own on its pools. */
const OF_HYPERSHIFT = ["AllMachinesReady", "AllNodesHealthy", "UpdatingConfig"];

const TYPES = ["Ready", "AllMachinesReady", "AllNodesHealthy", "AutorepairEnabled", "UpdatingConfig", REMOVAL_ALLOWED];

/** The whole status with these conditions, and with the number of Ready nodes. */
export function machineStatus(pool: NodePool, state: MachineState, now: number): NodePoolStatus {
  const conditions = new Conditions(pool.status?.conditions ?? [], now, pool.metadata?.generation);
  const values: Readonly<Record<string, ConditionValue>> = {
    Ready: readyValue(pool, state),
    AllMachinesReady: machinesValue(pool, state),
    AllNodesHealthy: nodesValue(pool, state),
    AutorepairEnabled: repairValue(pool),
    UpdatingConfig: updatingValue(pool, state),
    [REMOVAL_ALLOWED]: removalValue(pool, state, now),
  };
  // A stop of its own has a time of its own: a word about the one before does not end it.
  if (state.stop?.isHeld && !isSameStop(pool, state.stop)) conditions.remove(REMOVAL_ALLOWED);
  for (const type of TYPES) {
    if (!isHosted(pool) || !OF_HYPERSHIFT.includes(type)) conditions.set(type, values[type]!);
  }
  // A list that may be wrong is not written down: it is what the next one is compared with.
  const replicas = state.stop?.reason === "ListTooSmall" ? (pool.status?.replicas ?? 0) : readyCount(state);
  return { ...pool.status, replicas, conditions: conditions.list };
}

/** The status of a pool that was given up; undefined when there is nothing to take back. */
export function withoutMachineStatus(pool: NodePool): NodePoolStatus | undefined {
  const { conditions = [], replicas: _, ...rest } = pool.status ?? {};
  if (!conditions.some(({ type }) => type === REMOVAL_ALLOWED)) return undefined;
  const isKept = (type: string) => !TYPES.includes(type) || (isHosted(pool) && OF_HYPERSHIFT.includes(type));
  return { ...rest, conditions: conditions.filter(({ type }) => isKept(type)) };
}

const readyCount = ({ snapshot, workers }: MachineState) =>
  workers.filter(({ name }) => isReady(snapshot.nodes.get(name))).length;

function readyValue({ spec }: NodePool, state: MachineState): ConditionValue {
  const { health, plan, problem, stop, workers } = state;
  const [ready, desired] = [readyCount(state), spec?.replicas ?? 0];
  const counts = `${ready} of ${desired} workers are Ready`;
  if (stop !== undefined) return isFalse(stop.reason, stop.message);
  if (spec?.management?.autoRepair && health.isTooMany) {
    const limit = `${health.notReady} are not, and with more than ${health.maxUnhealthy} nothing is repaired`;
    return isFalse("TooManyUnhealthy", `${counts}; ${limit}`);
  }
  const begun = plan.remove[0];
  const next = [
    problem,
    plan.make + plan.unmade.length > 0 ? `${plan.make + plan.unmade.length} to be made` : "",
    begun === undefined ? "" : `${begun.name} is to be removed: ${begun.why}`,
  ].filter(Boolean);
  const isDone = ready === desired && workers.length === desired && next.length === 0;
  return isDone ? isTrue() : isFalse("WaitingForAvailableMachines", [counts, ...next].join("; "));
}

function none({ spec }: NodePool): ConditionValue {
  return spec?.replicas === 0
    ? isFalse(AS_EXPECTED, "NodePool set to no replicas")
    : isFalse("NotFound", "No Machines are created");
}

function machinesValue(pool: NodePool, { stop, workers }: MachineState): ConditionValue {
  if (workers.length === 0) return stop === undefined ? none(pool) : isFalse(stop.reason, stop.message);
  const unmade = workers.filter(({ made }) => !made);
  const reason = stop?.reason === "CreationFailed" ? stop.reason : "WaitingForInfrastructure";
  return aggregated(
    "ready",
    workers.length,
    unmade.map(({ name }) => ({ name, reason, message: stop?.reason === "CreationFailed" ? stop.message : "" })),
  );
}

function nodesValue(pool: NodePool, { snapshot, workers }: MachineState): ConditionValue {
  if (workers.length === 0) return none(pool);
  const wrong = workers.filter(({ name }) => !isReady(snapshot.nodes.get(name)));
  return aggregated(
    "healthy",
    workers.length,
    wrong.map((worker) => {
      const node = snapshot.nodes.get(worker.name);
      const reported = node?.status?.conditions?.find(({ type }) => type === "Ready")?.reason;
      const reason = node === undefined ? "WaitingForNodeRef" : reported || "NodeNotReady";
      return { name: worker.name, reason, message: workerStatus(worker, snapshot).problem?.message ?? "" };
    }),
  );
}

const MOST_NAMED = 5;

function aggregated(
  what: string,
  count: number,
  wrong: readonly { readonly name: string; readonly reason: string; readonly message: string }[],
): ConditionValue {
  if (wrong.length === 0) return isTrue("All is well");
  const lines = wrong.slice(0, MOST_NAMED).map(({ message, name, reason }) => {
    return `Machine ${name}: ${reason}${message === "" ? "" : `: ${message}`}`;
  });
  const more = wrong.length > MOST_NAMED ? [`... and ${wrong.length - MOST_NAMED} more`] : [];
  const reasons = [...new Set(wrong.map(({ reason }) => reason))].sort().join(",");
  return isFalse(reasons, [`${wrong.length} of ${count} machines are not ${what}`, ...lines, ...more].join("\n"));
}

/** HyperShift, too, repairs nothing before a machine has fetched its configuration. */
export function repairs({ spec, status }: NodePool): boolean {
  const isReached = status?.conditions?.some((one) => one.type === "ReachedIgnitionEndpoint" && one.status === "True");
  return spec?.management?.autoRepair === true && isReached === true;
}

function repairValue(pool: NodePool): ConditionValue {
  if (pool.spec?.management?.autoRepair !== true) return isFalse(AS_EXPECTED, "");
  return repairs(pool) ? isTrue() : isFalse("ignitionNotReached", "No machine has fetched its configuration yet");
}

function updatingValue({ spec }: NodePool, { plan, snapshot }: MachineState): ConditionValue {
  const { length } = plan.behind;
  if (length === 0) return isFalse(AS_EXPECTED, "");
  const { replace, upgradeType } = spec?.management ?? {};
  const rule = upgradeType === "Replace" ? (replace?.strategy ?? "RollingUpdate") : upgradeType;
  if (rule === "RollingUpdate") {
    return isTrue(`Updating config in progress. Target config: ${snapshot.hash}. ${length} workers are behind`);
  }
  const how = "drawbridge workers replace --behind does it by hand";
  return isFalse(rule ?? "", `${length} workers are behind, and ${rule} replaces no machine: ${how}`);
}

const HELD = "; nothing is removed until the cause is gone or somebody says so: ";

/** The time of the condition is the word that ends a stop. */
function removalValue(pool: NodePool, { stop }: MachineState, now: number): ConditionValue {
  if (stop === undefined) return isTrue();
  if (!stop.isHeld) return isFalse(stop.reason, stop.message);
  const since = isSameStop(pool, stop) ? removalCondition(pool)?.lastTransitionTime : secondTime(now);
  const { name, namespace } = pool.metadata ?? {};
  const how = `kubectl annotate nodepool ${name} -n ${namespace} --overwrite ${ACKNOWLEDGED_ANNOTATION}=${since}`;
  return isFalse(stop.reason, `${stop.message}${HELD}${how}`);
}

function isSameStop(pool: NodePool, { reason }: Pick<Stop, "reason">): boolean {
  const before = removalCondition(pool);
  return before?.status === "False" && before.reason === reason;
}

export function removalCondition({ status }: NodePool): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === REMOVAL_ALLOWED);
}

/** What an earlier leader wrote down of a removal that failed; undefined when none did. */
export function failedRemoval(pool: NodePool): string | undefined {
  return isSameStop(pool, { reason: "RemovalFailed" }) ? removalCondition(pool)?.message.split(HELD)[0] : undefined;
}

export function isAcknowledged(pool: NodePool): boolean {
  const isHeld = (["RemovalFailed", "ListTooSmall"] as const).some((reason) => isSameStop(pool, { reason }));
  const word = pool.metadata?.annotations?.[ACKNOWLEDGED_ANNOTATION];
  return isHeld && word === removalCondition(pool)?.lastTransitionTime;
}
