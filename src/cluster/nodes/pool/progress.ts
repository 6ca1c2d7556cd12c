/** The conditions that say how far things are: what changes, what was served, who joined. They end no pass. */
import { annotation, tokenSecretName } from "../names.js";
import type { Secret } from "../objects.js";
import { readTokenSecret } from "../token/token-secret.js";
import type { Findings } from "./checks.js";
import { AS_EXPECTED, type ConditionValue, isFalse, isTrue } from "./conditions.js";
import type { Target } from "./target.js";
import type { Machine } from "./world.js";

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
