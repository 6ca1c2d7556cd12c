/** The conditions that are set before anything is written, in the order in which they are set; each may end the pass. */
import { messageOf } from "../../../base/errors/error.js";
import { parseVersion, type ReleaseVersion } from "../hash/version.js";
import { AS_EXPECTED, type Conditions, type ConditionValue, isFalse, isTrue, VALIDATION_FAILED } from "./conditions.js";
import { DEFAULT_ARCHITECTURE } from "./node-pool.js";
import type { Pause } from "./pause.js";
import { Stop } from "./stop.js";
import { type Target, targetOf } from "./target.js";
import { type Problem, problemText } from "./validate.js";
import type { Cluster, World } from "./world.js";

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
