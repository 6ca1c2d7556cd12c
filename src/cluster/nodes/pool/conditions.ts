/** A pool's conditions, and the checks of a pass that set them. */

import { messageOf } from "../../../base/errors/error.js";
import { annotation, parseTime, type Secret, secondTime, tokenSecretName } from "../objects.js";
import { readTokenSecret, type TokenSecretView } from "../token/token-secret.js";
import { type PassInput, type PoolCluster, type PoolTarget, poolTargetOf } from "./input.js";
import { type Condition, DEFAULT_ARCHITECTURE, MACHINES_ANNOTATION } from "./node-pool.js";
import { type FieldProblem, problemText } from "./schema.js";

export type ConditionValue = Pick<Condition, "status" | "reason" | "message">;

export const AS_EXPECTED = "AsExpected";
export const VALIDATION_FAILED = "ValidationFailed";

export function isTrue(message = "", reason = AS_EXPECTED): ConditionValue {
  return { status: "True", reason, message };
}

export function isFalse(reason: string, message: string): ConditionValue {
  return { status: "False", reason, message };
}

export class Conditions {
  readonly list: Condition[];
  readonly #now: number;
  readonly #generation: number | undefined;

  constructor(before: readonly Condition[], now: number, generation: number | undefined) {
    this.list = [...before];
    this.#now = now;
    this.#generation = generation;
  }

  get(type: string): Condition | undefined {
    return this.list.find((condition) => condition.type === type);
  }

  /** The time of transition is that of the status; other words for the same status do not move it. */
  set(type: string, value: ConditionValue): void {
    const before = this.get(type);
    const lastTransitionTime = before?.status === value.status ? before.lastTransitionTime : secondTime(this.#now);
    const condition: Condition = {
      type,
      ...value,
      lastTransitionTime,
      ...(this.#generation === undefined ? {} : { observedGeneration: this.#generation }),
    };
    if (before === undefined) this.list.push(condition);
    else this.list[this.list.indexOf(before)] = condition;
  }

  /** Sets the condition to False and ends the pass. */
  fail(type: string, reason: string, message: string, { because = message, retry = false } = {}): never {
    this.set(type, isFalse(reason, message));
    throw new PassEnd(because, { retry });
  }

  remove(type: string): void {
    const before = this.get(type);
    if (before !== undefined) this.list.splice(this.list.indexOf(before), 1);
  }
}

/** The meaning of `spec.pausedUntil`, which is a date, true or false. */
export type Pause =
  | { readonly state: "active" }
  | { readonly state: "paused" /** Infinity: until somebody changes it. */; readonly until: number }
  | { readonly state: "invalid" };

export function readPause(pausedUntil: string | undefined, now: number): Pause {
  if (["", "false", "False"].includes(pausedUntil ?? "")) return { state: "active" };
  if (pausedUntil === "true" || pausedUntil === "True") return { state: "paused", until: Number.POSITIVE_INFINITY };
  const until = parseTime(pausedUntil);
  if (until === undefined) return { state: "invalid" };
  return until > now ? { state: "paused", until } : { state: "active" };
}

/** Ends a pass over a pool early; the conditions that were set until then are still reported. */
export class PassEnd extends Error {
  /** Whether the pass is repeated; otherwise it waits for the next change. */
  readonly retry: boolean;

  constructor(because: string, { retry = false } = {}) {
    super(because);
    this.retry = retry;
  }
}

export interface PassContext {
  readonly input: PassInput;
  readonly cluster: PoolCluster;
  readonly conditions: Conditions;
  readonly problems: readonly FieldProblem[];
  readonly pause: Pause;
}

/**
 * Sets all conditions in HyperShift's order and returns what the pool's machines should be. Any of them may end the pass.
 * HyperShift's SupportedVersionSkew needs a HyperShift and is never set; Ready, AllMachinesReady, AllNodesHealthy and
 * AutorepairEnabled are the machine controller's.
 */
export function setConditions(context: PassContext): PoolTarget {
  checkSpec(context);
  const version = checkRelease(context);
  checkIgnitionEndpoint(context);
  checkArchitecture(context);
  checkPause(context);
  const target = checkMachineConfig(context, version);
  reportUpdates(context, target);
  reportPayload(context, target);
  context.conditions.set("ValidPlatformConfig", isTrue("All is well"));
  return target;
}

function checkSpec({ conditions, problems, input }: PassContext): void {
  const wrong = problemOf(problems, "spec.autoScaling", "spec.replicas");
  const { autoScaling: range } = input.pool.spec ?? {};
  const nobody = range && `Minimum nodes: ${range.min}, maximum nodes: ${range.max}; nobody scales platform None`;
  const scaling = wrong === undefined ? isFalse(AS_EXPECTED, "") : isFalse(VALIDATION_FAILED, wrong);
  conditions.set("AutoscalingEnabled", wrong === undefined && nobody ? isTrue(nobody) : scaling);
  const management = problemOf(problems, "spec.management");
  if (management !== undefined) conditions.fail("UpdateManagementEnabled", VALIDATION_FAILED, management);
  conditions.set("UpdateManagementEnabled", isTrue());
}

/** Returns the release's version. The condition is absent when all is well: there is no release to look up. */
function checkRelease({ conditions, problems, input: { release } }: PassContext): string {
  const type = "ValidReleaseImage";
  const wrong = problemOf(problems, "spec.release") ?? ("problem" in release ? release.problem : undefined);
  if (wrong !== undefined || "problem" in release) {
    const because = `the release image cannot be used: ${wrong}`;
    return conditions.fail(type, VALIDATION_FAILED, wrong ?? "", { retry: true, because });
  }
  conditions.remove(type);
  return release.version;
}

/** Absent when all is well, as upstream has it. */
function checkIgnitionEndpoint({ cluster, conditions }: PassContext): void {
  const type = "IgnitionEndpointAvailable";
  if (cluster.ignitionEndpoint === "") {
    conditions.fail(type, "IgnitionEndpointMissing", "The address of the Ignition server is not known yet");
  }
  if (cluster.ignitionCaPem === "") {
    const remedy = "name it as ignitionCA in the cluster's ConfigMap, or run the controller with --issue-certificate";
    const message = `The certificate authority of the Ignition server is not there yet: ${remedy}`;
    conditions.fail(type, "IgnitionCACertMissing", message);
  }
  conditions.remove(type);
}

function checkArchitecture({ conditions, problems, input }: PassContext): void {
  const type = "ValidArchPlatform";
  const reason = "InvalidArchPlatform";
  const { arch = DEFAULT_ARCHITECTURE } = input.pool.spec ?? {};
  const wrong = problemOf(problems, "spec.arch", "spec.platform");
  if (wrong !== undefined) conditions.fail(type, reason, wrong);
  const payload = "problem" in input.release ? "" : input.release.arch;
  if (payload !== "" && payload.toLowerCase() !== "multi" && payload !== arch) {
    conditions.fail(type, reason, `The release is for ${payload} and the pool for ${arch}`, { retry: true });
  }
  conditions.set(type, isTrue());
}

function checkPause({ conditions, pause, input }: PassContext): void {
  const type = "ReconciliationActive";
  const { pausedUntil } = input.pool.spec ?? {};
  if (pause.state === "paused") {
    const end = pause.until === Number.POSITIVE_INFINITY ? "the field is removed" : pausedUntil;
    conditions.set(type, isFalse("ReconciliationPaused", `Paused until ${end}`));
  } else if (pause.state === "invalid") {
    const message = `spec.pausedUntil ${JSON.stringify(pausedUntil)} is neither a date nor true or false, so it is ignored`;
    conditions.set(type, isTrue(message, "InvalidPausedUntilValue"));
  } else conditions.set(type, isTrue("Reconciliation active on resource", type));
}

function checkMachineConfig({ cluster, conditions, problems, input }: PassContext, releaseVersion: string): PoolTarget {
  if (!cluster.kubeconfigReady) throw new PassEnd("the cluster has no kubeconfig yet");
  const type = "ValidMachineConfig";
  try {
    const wrong = problemOf(problems, "spec.config", "spec.osImageStream");
    if (wrong !== undefined) throw new Error(wrong);
    const target = poolTargetOf(input, cluster, releaseVersion);
    conditions.set(type, isTrue());
    return target;
  } catch (reason) {
    return conditions.fail(type, VALIDATION_FAILED, messageOf(reason), { retry: true });
  }
}

function problemOf(problems: readonly FieldProblem[], ...fields: readonly string[]): string | undefined {
  const found = problems.filter(({ field }) => fields.some((prefix) => `${field}.`.startsWith(`${prefix}.`)));
  return found.length === 0 ? undefined : found.map(problemText).join("; ");
}

function reportUpdates({ conditions, input }: PassContext, { hashes, releaseVersion }: PoolTarget): void {
  const { metadata, status } = input.pool;
  const config = hashes.withoutVersion;
  const updating = (type: string, what: string, before: string | undefined, target: string) => {
    const message = `Updating ${what} in progress. Target ${what}: ${target}`;
    conditions.set(type, before === target ? isFalse(AS_EXPECTED, "") : isTrue(message));
  };
  // Where a controller replaces machines, it alone knows when that is done.
  if (metadata?.annotations?.[MACHINES_ANNOTATION] === undefined) {
    updating("UpdatingConfig", "config", metadata?.annotations?.[annotation.currentConfig], config);
  }
  updating("UpdatingVersion", "version", status?.version, releaseVersion);
}

function reportPayload({ conditions, input }: PassContext, { hashes }: PoolTarget): void {
  const secret = tokenSecretOf(input.secrets, input.pool.metadata?.name, hashes.full);
  const token = secret && readTokenSecret(secret);
  const missing = isFalse("NotFound", "The token Secret is not there yet");
  conditions.set("ValidGeneratedPayload", token === undefined ? missing : payloadValue(token));
  const type = "ReachedIgnitionEndpoint";
  // Machines that are updated in place fetched once; a new hash does not undo that.
  const stays = input.pool.spec?.management?.upgradeType === "InPlace" && conditions.get(type)?.status === "True";
  const notReached = isFalse("ignitionNotReached", "No machine has fetched its configuration yet");
  if (!stays) conditions.set(type, token === undefined ? missing : token.reached ? isTrue() : notReached);
}

export function tokenSecretOf(secrets: readonly Secret[], pool = "", hash = ""): Secret | undefined {
  return secrets.find(({ metadata }) => metadata?.name === tokenSecretName(pool, hash));
}

function payloadValue({ outcome }: TokenSecretView): ConditionValue {
  if (outcome === undefined) {
    return { status: "Unknown", reason: "", message: "Unable to get status data from token secret" };
  }
  return outcome.reason === AS_EXPECTED ? isTrue(outcome.message) : isFalse(outcome.reason, outcome.message);
}
