/** The conditions that are set before anything is written, in the order in which they are set; each may end the pass. */
import { messageOf } from "../../../base/errors/error.js";
import { parseVersion, type ReleaseVersion } from "../hash/pool-hash.js";
import { annotation, type Secret, tokenSecretName } from "../objects.js";
import { readTokenSecret } from "../token/token-secret.js";
import {
  AS_EXPECTED,
  type Conditions,
  type ConditionValue,
  isFalse,
  isTrue,
  type Pause,
  Stop,
  VALIDATION_FAILED,
} from "./conditions.js";
import { DEFAULT_ARCHITECTURE, type Problem, problemText } from "./node-pool.js";
import { type Cluster, type Machine, type Target, targetOf, type World } from "./world.js";

export interface Findings {
  readonly world: World;
  readonly cluster: Cluster;
  readonly conditions: Conditions;
  readonly problems: readonly Problem[];
  readonly pause: Pause;
}

/** The pool may be older than its control plane by this many minor versions. */
const WIDEST_SKEW = 3;

export function checkAutoscaling({ conditions, problems, world }: Findings): void {
  const wrong = problemOf(problems, "spec.autoScaling", "spec.replicas");
  const { autoScaling } = world.pool.spec ?? {};
  if (wrong !== undefined) conditions.set("AutoscalingEnabled", isFalse(VALIDATION_FAILED, wrong));
  else if (autoScaling === undefined) conditions.set("AutoscalingEnabled", isFalse(AS_EXPECTED, ""));
  else {
    const range = `Minimum nodes: ${autoScaling.min}, maximum nodes: ${autoScaling.max}; nobody scales platform None`;
    conditions.set("AutoscalingEnabled", isTrue(range));
  }
}

export function checkManagement({ conditions, problems }: Findings): void {
  const wrong = problemOf(problems, "spec.management");
  conditions.set("UpdateManagementEnabled", wrong === undefined ? isTrue() : isFalse(VALIDATION_FAILED, wrong));
  if (wrong !== undefined) throw Stop.untilChange(wrong);
}

/** Returns the release's version. */
export function checkRelease({ cluster, conditions, problems, world }: Findings): string {
  const { release } = world;
  const trouble = problemOf(problems, "spec.release") ?? ("problem" in release ? release.problem : undefined);
  if (trouble !== undefined || "problem" in release) {
    conditions.set("ValidReleaseImage", isFalse(VALIDATION_FAILED, trouble ?? ""));
    throw Stop.andRetry(`the release image cannot be used: ${trouble}`);
  }
  const image = world.pool.spec?.release?.image;
  if (!cluster.standalone) conditions.set("ValidReleaseImage", isTrue(`Using release image: ${image}`));
  else conditions.remove("ValidReleaseImage");
  return release.version;
}

/** Absent when all is well, as upstream has it. */
export function checkIgnitionEndpoint({ cluster, conditions }: Findings): void {
  const type = "IgnitionEndpointAvailable";
  const remedy = cluster.standalone
    ? ": name it as ignitionCA in the cluster's ConfigMap, or run the controller with --issue-certificate"
    : "";
  const missing =
    cluster.ignitionEndpoint === ""
      ? isFalse("IgnitionEndpointMissing", "The address of the Ignition server is not known yet")
      : cluster.ignitionCaPem === ""
        ? isFalse("IgnitionCACertMissing", `The certificate authority of the Ignition server is not there yet${remedy}`)
        : undefined;
  if (missing === undefined) conditions.remove(type);
  else {
    conditions.set(type, missing);
    throw Stop.untilChange(missing.message);
  }
}

export function checkArchitecture({ conditions, problems, world }: Findings): void {
  const type = "ValidArchPlatform";
  const { arch = DEFAULT_ARCHITECTURE } = world.pool.spec ?? {};
  const { release } = world;
  const wrong = problemOf(problems, "spec.arch", "spec.platform");
  const payload = "problem" in release ? "" : release.arch;
  const mismatch =
    payload === "" || payload.toLowerCase() === "multi" || payload === arch
      ? undefined
      : `The release is for ${payload} and the pool for ${arch}`;
  const trouble = wrong ?? mismatch;
  conditions.set(type, trouble === undefined ? isTrue() : isFalse("InvalidArchPlatform", trouble));
  if (wrong !== undefined) throw Stop.untilChange(wrong);
  if (mismatch !== undefined) throw Stop.andRetry(mismatch);
}

export function checkPause({ conditions, pause, world }: Findings): void {
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

/** Says so and lets the pass go on. */
export function checkSkew({ cluster, conditions }: Findings, releaseVersion: string): void {
  const type = "SupportedVersionSkew";
  if (cluster.standalone) conditions.remove(type);
  else conditions.set(type, skewValue(releaseVersion, cluster.version));
}

function skewValue(releaseVersion: string, controlVersion: string): ConditionValue {
  const unknown = (message: string): ConditionValue => ({ status: "Unknown", reason: VALIDATION_FAILED, message });
  let pool: ReleaseVersion;
  let control: ReleaseVersion;
  try {
    [pool, control] = [parseVersion(releaseVersion), parseVersion(controlVersion)];
  } catch (reason) {
    return unknown(messageOf(reason));
  }
  const versions = `The pool's release is ${releaseVersion} and the control plane's ${controlVersion}`;
  if (isNewer(pool, control)) return isFalse("UnsupportedSkew", `${versions}: a pool must not be newer`);
  if (pool.major !== control.major) {
    return unknown(`${versions}: how many minor versions lie between them is not known`);
  }
  if (control.minor - pool.minor > WIDEST_SKEW) {
    return isFalse("UnsupportedSkew", `${versions}: a pool may be ${WIDEST_SKEW} minor versions older at most`);
  }
  return isTrue("Release image version is valid");
}

export function checkMachineConfig({ cluster, conditions, problems, world }: Findings, releaseVersion: string): Target {
  if (!cluster.kubeconfigReady) throw Stop.untilChange("the cluster has no kubeconfig yet");
  const type = "ValidMachineConfig";
  try {
    const wrong = problemOf(problems, "spec.config", "spec.osImageStream");
    if (wrong !== undefined) throw new Error(wrong);
    const target = targetOf(world, cluster, releaseVersion);
    conditions.set(type, isTrue());
    return target;
  } catch (reason) {
    conditions.set(type, isFalse(VALIDATION_FAILED, messageOf(reason)));
    throw Stop.andRetry(messageOf(reason));
  }
}

function problemOf(problems: readonly Problem[], ...fields: readonly string[]): string | undefined {
  const found = problems.filter(({ field }) => fields.some((prefix) => `${field}.`.startsWith(`${prefix}.`)));
  return found.length === 0 ? undefined : found.map(problemText).join("; ");
}

function isNewer(one: ReleaseVersion, other: ReleaseVersion): boolean {
  const distance = one.major - other.major || one.minor - other.minor || one.patch - other.patch;
  return distance > 0;
}

// The conditions that say how far things are: what changes, what was served, who joined. They end no pass.

export function reportUpdates({ conditions, world }: Findings, { hashes, releaseVersion }: Target): void {
  const { metadata, status } = world.pool;
  const updating = (type: string, isSo: boolean, message: string) =>
    conditions.set(type, isSo ? isTrue(message) : isFalse(AS_EXPECTED, ""));
  const config = metadata?.annotations?.[annotation.currentConfig] !== hashes.withoutVersion;
  updating("UpdatingConfig", config, `Updating config in progress. Target config: ${hashes.withoutVersion}`);
  const version = status?.version !== releaseVersion;
  updating("UpdatingVersion", version, `Updating version in progress. Target version: ${releaseVersion}`);
}

export function reportPayload({ conditions, world }: Findings, { hashes }: Target): void {
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

export function reportMachines({ cluster, conditions, world }: Findings): void {
  for (const [type, of] of [
    ["AllMachinesReady", "Ready"],
    ["AllNodesHealthy", "NodeHealthy"],
  ] as const) {
    if (cluster.standalone) conditions.remove(type);
    else conditions.set(type, machinesValue(world.machines, of, world.pool.spec?.replicas));
  }
  conditions.set("ValidPlatformConfig", isTrue("All is well"));
}

/** Platform None makes no Machines; somebody may have made them by hand. */
function machinesValue(machines: readonly Machine[], of: string, replicas: number | undefined): ConditionValue {
  if (machines.length === 0) {
    return replicas === 0
      ? isFalse(AS_EXPECTED, "NodePool set to no replicas")
      : isFalse("NotFound", "No Machines are created");
  }
  const others = machines.flatMap(({ metadata, status }) => {
    const found = status?.conditions?.find(({ type }) => type === of);
    if (found?.status === "True") return [];
    return [{ name: metadata?.name ?? "", reason: found?.reason || "Unknown", message: found?.message ?? "" }];
  });
  if (others.length === 0) return isTrue("All is well");
  const reasons = [...new Set(others.map(({ reason }) => reason))].sort().join(",");
  const lines = others.map(({ name, reason, message }) => `Machine ${name}: ${reason}${message && `: ${message}`}`);
  const summary = `${others.length} of ${machines.length} machines are not ${of === "Ready" ? "ready" : "healthy"}`;
  return isFalse(reasons, [summary, ...lines.sort()].join("\n"));
}
