/** The conditions that are set before anything is written, in the order in which they are set; each may end the pass. */
import { messageOf } from "../../../base/errors/error.js";
import { annotation, type Secret, tokenSecretName } from "../objects.js";
import { readTokenSecret, type TokenSecretView } from "../token/token-secret.js";
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
import { type PassInput, type PoolCluster, type PoolTarget, poolTargetOf } from "./input.js";
import { DEFAULT_ARCHITECTURE } from "./node-pool.js";
import { type FieldProblem, problemText } from "./schema.js";

export interface PassContext {
  readonly input: PassInput;
  readonly cluster: PoolCluster;
  readonly conditions: Conditions;
  readonly problems: readonly FieldProblem[];
  readonly pause: Pause;
}

/**
 * Sets all conditions in HyperShift's order and returns what the pool's machines should be. Any of them may end the pass.
 * HyperShift's SupportedVersionSkew, AllMachinesReady and AllNodesHealthy need a HyperShift and are never set.
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
  updating("UpdatingConfig", "config", metadata?.annotations?.[annotation.currentConfig], config);
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
