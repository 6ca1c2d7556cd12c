/** The conditions that are set before anything is written, in the order in which they are set; each may end the pass. */
import { messageOf } from "../../../base/errors/error.js";
import { annotation, type Secret, tokenSecretName } from "../objects.js";
import { readTokenSecret } from "../token/token-secret.js";
import {
  AS_EXPECTED,
  type Conditions,
  type ConditionValue,
  isFalse,
  isTrue,
  PassEnd,
  type Pause,
  VALIDATION_FAILED,
} from "./conditions.js";
import { type PassInput, type PoolCluster, type PoolTarget, targetOf } from "./input.js";
import { DEFAULT_ARCHITECTURE, type Problem, problemText } from "./node-pool.js";

export interface PassContext {
  readonly world: PassInput;
  readonly cluster: PoolCluster;
  readonly conditions: Conditions;
  readonly problems: readonly Problem[];
  readonly pause: Pause;
}

/**
 * Sets all conditions in HyperShift's order and returns what the pool's machines should be. Any of them may end the pass.
 * HyperShift's SupportedVersionSkew, AllMachinesReady and AllNodesHealthy need a HyperShift and are never set.
 */
export function setConditions(context: PassContext): PoolTarget {
  checkAutoscaling(context);
  checkManagement(context);
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

function checkAutoscaling({ conditions, problems, world }: PassContext): void {
  const wrong = problemOf(problems, "spec.autoScaling", "spec.replicas");
  const { autoScaling } = world.pool.spec ?? {};
  if (wrong !== undefined) conditions.set("AutoscalingEnabled", isFalse(VALIDATION_FAILED, wrong));
  else if (autoScaling === undefined) conditions.set("AutoscalingEnabled", isFalse(AS_EXPECTED, ""));
  else {
    const range = `Minimum nodes: ${autoScaling.min}, maximum nodes: ${autoScaling.max}; nobody scales platform None`;
    conditions.set("AutoscalingEnabled", isTrue(range));
  }
}

function checkManagement({ conditions, problems }: PassContext): void {
  const wrong = problemOf(problems, "spec.management");
  conditions.set("UpdateManagementEnabled", wrong === undefined ? isTrue() : isFalse(VALIDATION_FAILED, wrong));
  if (wrong !== undefined) throw PassEnd.untilChange(wrong);
}

/** Returns the release's version. The condition is absent when all is well: there is no release to look up. */
function checkRelease({ conditions, problems, world }: PassContext): string {
  const { release } = world;
  const wrong = problemOf(problems, "spec.release") ?? ("problem" in release ? release.problem : undefined);
  if (wrong !== undefined || "problem" in release) {
    conditions.set("ValidReleaseImage", isFalse(VALIDATION_FAILED, wrong ?? ""));
    throw PassEnd.andRetry(`the release image cannot be used: ${wrong}`);
  }
  conditions.remove("ValidReleaseImage");
  return release.version;
}

/** Absent when all is well, as upstream has it. */
function checkIgnitionEndpoint({ cluster, conditions }: PassContext): void {
  const type = "IgnitionEndpointAvailable";
  const remedy = "name it as ignitionCA in the cluster's ConfigMap, or run the controller with --issue-certificate";
  const missing =
    cluster.ignitionEndpoint === ""
      ? isFalse("IgnitionEndpointMissing", "The address of the Ignition server is not known yet")
      : cluster.ignitionCaPem === ""
        ? isFalse(
            "IgnitionCACertMissing",
            `The certificate authority of the Ignition server is not there yet: ${remedy}`,
          )
        : undefined;
  if (missing === undefined) conditions.remove(type);
  else {
    conditions.set(type, missing);
    throw PassEnd.untilChange(missing.message);
  }
}

function checkArchitecture({ conditions, problems, world }: PassContext): void {
  const type = "ValidArchPlatform";
  const { arch = DEFAULT_ARCHITECTURE } = world.pool.spec ?? {};
  const { release } = world;
  const wrong = problemOf(problems, "spec.arch", "spec.platform");
  const payload = "problem" in release ? "" : release.arch;
  const mismatch =
    payload === "" || payload.toLowerCase() === "multi" || payload === arch
      ? undefined
      : `The release is for ${payload} and the pool for ${arch}`;
  const problem = wrong ?? mismatch;
  conditions.set(type, problem === undefined ? isTrue() : isFalse("InvalidArchPlatform", problem));
  if (wrong !== undefined) throw PassEnd.untilChange(wrong);
  if (mismatch !== undefined) throw PassEnd.andRetry(mismatch);
}

function checkPause({ conditions, pause, world }: PassContext): void {
  const type = "ReconciliationActive";
  const { pausedUntil } = world.pool.spec ?? {};
  if (pause.state === "paused") {
    const end = pause.until === Number.POSITIVE_INFINITY ? "the field is removed" : pausedUntil;
    conditions.set(type, isFalse("ReconciliationPaused", `Paused until ${end}`));
  } else if (pause.state === "invalid") {
    const message = `spec.pausedUntil ${JSON.stringify(pausedUntil)} is neither a date nor true or false, so it is ignored`;
    conditions.set(type, isTrue(message, "InvalidPausedUntilValue"));
  } else conditions.set(type, isTrue("Reconciliation active on resource", "ReconciliationActive"));
}

function checkMachineConfig({ cluster, conditions, problems, world }: PassContext, releaseVersion: string): PoolTarget {
  if (!cluster.kubeconfigReady) throw PassEnd.untilChange("the cluster has no kubeconfig yet");
  const type = "ValidMachineConfig";
  try {
    const wrong = problemOf(problems, "spec.config", "spec.osImageStream");
    if (wrong !== undefined) throw new Error(wrong);
    const target = targetOf(world, cluster, releaseVersion);
    conditions.set(type, isTrue());
    return target;
  } catch (reason) {
    conditions.set(type, isFalse(VALIDATION_FAILED, messageOf(reason)));
    throw PassEnd.andRetry(messageOf(reason));
  }
}

function problemOf(problems: readonly Problem[], ...fields: readonly string[]): string | undefined {
  const found = problems.filter(({ field }) => fields.some((prefix) => `${field}.`.startsWith(`${prefix}.`)));
  return found.length === 0 ? undefined : found.map(problemText).join("; ");
}

function reportUpdates({ conditions, world }: PassContext, { hashes, releaseVersion }: PoolTarget): void {
  const { metadata, status } = world.pool;
  const updating = (type: string, isSo: boolean, message: string) =>
    conditions.set(type, isSo ? isTrue(message) : isFalse(AS_EXPECTED, ""));
  const config = metadata?.annotations?.[annotation.currentConfig] !== hashes.withoutVersion;
  updating("UpdatingConfig", config, `Updating config in progress. Target config: ${hashes.withoutVersion}`);
  const version = status?.version !== releaseVersion;
  updating("UpdatingVersion", version, `Updating version in progress. Target version: ${releaseVersion}`);
}

function reportPayload({ conditions, world }: PassContext, { hashes }: PoolTarget): void {
  const secret = tokenSecretOf(world.secrets, world.pool.metadata?.name, hashes.full);
  conditions.set("ValidGeneratedPayload", payloadValue(secret));
  const type = "ReachedIgnitionEndpoint";
  // Machines that are updated in place fetched once; a new hash does not undo that.
  const stays = world.pool.spec?.management?.upgradeType === "InPlace" && conditions.get(type)?.status === "True";
  if (!stays) conditions.set(type, reachedValue(secret));
}

export function tokenSecretOf(secrets: readonly Secret[], pool = "", hash = ""): Secret | undefined {
  return secrets.find(({ metadata }) => metadata?.name === tokenSecretName(pool, hash));
}

function payloadValue(secret: Secret | undefined): ConditionValue {
  if (secret === undefined) return isFalse("NotFound", "The token Secret is not there yet");
  const { outcome } = readTokenSecret(secret);
  if (outcome === undefined) {
    return { status: "Unknown", reason: "", message: "Unable to get status data from token secret" };
  }
  return outcome.reason === AS_EXPECTED ? isTrue(outcome.message) : isFalse(outcome.reason, outcome.message);
}

function reachedValue(secret: Secret | undefined): ConditionValue {
  if (secret === undefined) return isFalse("NotFound", "The token Secret is not there yet");
  return readTokenSecret(secret).reached
    ? isTrue()
    : isFalse("ignitionNotReached", "No machine has fetched its configuration yet");
}
