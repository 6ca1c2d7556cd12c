/** What a pool says about its machines: whether this controller may touch them, how many may be missing, when one is repaired. */
import { annotation, type Node } from "../objects.js";
import { readPause } from "../pool/conditions.js";
import { MACHINES_ANNOTATION, type NodePool } from "../pool/node-pool.js";
import { PROVIDERS } from "../providers/index.js";

/** Its value is the time since when MachineRemovalAllowed is False: somebody has seen why, and lets the controller go on. */
export const ACKNOWLEDGED_ANNOTATION = "drawbridge.dev/machines-acknowledged";

/** Why a pool is left alone. `isQuiet`: nobody has to be told. */
export interface LeftAlone {
  readonly why: string;
  readonly isQuiet?: true;
}

/** Undefined: its machines are this controller's to make and to remove. */
export function leftAlone(pool: NodePool, provider: string, now: number): LeftAlone | undefined {
  const { metadata, spec } = pool;
  const named = metadata?.annotations?.[MACHINES_ANNOTATION];
  if (named === undefined) return { why: `it has no annotation ${MACHINES_ANNOTATION}`, isQuiet: true };
  if (named !== provider) {
    const isKnown = (PROVIDERS as readonly string[]).includes(named);
    const who = isKnown ? "is another controller's" : "is not known";
    return { why: `its annotation ${MACHINES_ANNOTATION}: ${named} ${who}; this one makes machines by ${provider}` };
  }
  if (metadata?.deletionTimestamp !== undefined) return { why: "it is being deleted" };
  const platform = spec?.platform?.type ?? "";
  if (platform !== "None") return { why: `its platform is ${platform || "missing"}: HyperShift makes its machines` };
  if (spec?.autoScaling !== undefined) return { why: "it has spec.autoScaling, and spec.replicas is not for it" };
  if (spec?.replicas === undefined) return { why: "spec.replicas is not set" };
  // The API server's schema says so, too; with any other number all machines would be too many.
  if (!Number.isInteger(spec.replicas) || spec.replicas < 0)
    return { why: "spec.replicas is not a number of machines" };
  const pause = readPause(spec.pausedUntil, now);
  return pause.state === "paused" ? { why: `spec.pausedUntil is ${spec.pausedUntil}` } : undefined;
}

/** Set on Nodes by Cluster API and by OpenShift's machine API. */
const MACHINE_ANNOTATIONS = ["cluster.x-k8s.io/machine", "machine.openshift.io/machine"];

/** Undefined unless the Node belongs to a machine object of somebody else. */
export function foreignMachine({ metadata }: Node): string | undefined {
  return MACHINE_ANNOTATIONS.map((key) => metadata?.annotations?.[key]).find((machine) => machine !== undefined);
}

export interface RollingRule {
  /** How many more machines than wanted there may be. */
  readonly surge: number;
  /** How many fewer Ready nodes than wanted. */
  readonly unavailable: number;
  /** Whether workers that are behind are replaced. */
  readonly replaces: boolean;
}

/** By HyperShift's defaults and Kubernetes' rounding: surge up, unavailable down, and never 0 of both. */
export function rollingRuleOf({ spec }: NodePool): RollingRule {
  const { replace, upgradeType } = spec?.management ?? {};
  const { maxSurge = 1, maxUnavailable = 0 } = replace?.rollingUpdate ?? {};
  const desired = spec?.replicas ?? 0;
  const surge = scaled(maxSurge, desired, Math.ceil) ?? 1;
  const unavailable = scaled(maxUnavailable, desired, Math.floor) ?? 0;
  return {
    surge,
    unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable,
    replaces: upgradeType === "Replace" && (replace?.strategy ?? "RollingUpdate") === "RollingUpdate",
  };
}

/** Undefined for what is neither a number nor a percentage. */
function scaled(value: number | string, of: number, round: (value: number) => number): number | undefined {
  const [, digits, percent] = /^(\d+)(%?)$/.exec(String(value)) ?? [];
  if (digits === undefined) return undefined;
  return percent === "" ? Number(digits) : round((Number(digits) * of) / 100);
}

export interface HealthRule {
  /** For how long a node may be Ready False or Unknown, or gone. */
  readonly timeoutMs: number;
  /** How long a new machine may take to become a node. */
  readonly startupMs: number;
  /** With more workers than this that are not Ready nothing is repaired. */
  readonly maxUnhealthy: number;
}

const MINUTE_MS = 60_000;

/** HyperShift's MachineHealthCheck for platform None, with HyperShift's annotations for it. */
export function healthRuleOf({ metadata }: NodePool, workers: number): HealthRule {
  const { annotations = {} } = metadata ?? {};
  return {
    timeoutMs: durationOf(annotations[annotation.healthTimeout]) ?? 16 * MINUTE_MS,
    startupMs: durationOf(annotations[annotation.startupTimeout]) ?? 20 * MINUTE_MS,
    maxUnhealthy: scaled(annotations[annotation.maxUnhealthy] ?? "", workers, Math.floor) ?? 2,
  };
}

/** `8m`, `1h30m`; undefined for anything else. */
function durationOf(text = ""): number | undefined {
  const [all, hours = 0, minutes = 0, seconds = 0] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  return all ? (Number(hours) * 60 + Number(minutes)) * MINUTE_MS + Number(seconds) * 1000 : undefined;
}
