/** The fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) that a recipe may set, by kind and version. */
import { isRecord } from "../../../base/at.js";
import { errorOf } from "../../../base/errors/error.js";

const refused = errorOf("DB_PAYLOAD");

/** The first minor version of Kubernetes 1 whose kubelets take the runtime's socket from their configuration. */
export const OLDEST_MINOR = 27;

interface FieldKind {
  readonly must: string;
  is(value: unknown): boolean;
}

const isText = (value: unknown) => typeof value === "string";
const isTruth = (value: unknown) => typeof value === "boolean";
const isWhole = (value: unknown) => Number.isSafeInteger(value);
const isList = (is: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(is);
const isMap = (is: (item: unknown) => boolean) => (value: unknown) => isRecord(value) && Object.values(value).every(is);
const DURATION = /^-?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*)$/;

const kinds = {
  truth: { must: "must be true or false", is: isTruth },
  whole: { must: "must be a whole number", is: isWhole },
  number: { must: "must be a number", is: (value: unknown) => typeof value === "number" },
  text: { must: "must be a text; quote a number", is: isText },
  duration: {
    must: "must be a duration such as 10s or 1h30m",
    is: (value: unknown) => DURATION.test(String(value)) && isText(value),
  },
  texts: { must: "must be a list of texts", is: isList(isText) },
  wholes: { must: "must be a list of whole numbers", is: isList(isWhole) },
  textMap: { must: "must map names to texts; quote numbers", is: isMap(isText) },
  truthMap: { must: "must map names to true or false", is: isMap(isTruth) },
  textLists: { must: "must map names to lists of texts", is: isMap(isList(isText)) },
  object: { must: "must be a mapping", is: isRecord },
  objects: { must: "must be a list of mappings", is: isList(isRecord) },
} as const satisfies Readonly<Record<string, FieldKind>>;

type Kind = keyof typeof kinds;

/** `name@minor` came with that version. */
const FIELDS: Readonly<Record<Kind, string>> = {
  truth: `enableServer enableDebuggingHandlers enableContentionProfiling cgroupsPerQOS runOnce cpuCFSQuota
    serializeImagePulls enableControllerAttachDetach protectKernelDefaults makeIPTablesUtilChains failSwapOn
    kernelMemcgNotification enableSystemLogHandler enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler
    seccompDefault registerNode localStorageCapacityIsolation failCgroupV1@31 singleProcessOOMKill@32
    mergeDefaultEvictionSettings@33`,
  whole: `port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort oomScoreAdj
    nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent maxPods podPidsLimit
    nodeStatusMaxImages maxOpenFiles kubeAPIQPS kubeAPIBurst maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore
    iptablesMasqueradeBit iptablesDropBit containerLogMaxFiles containerLogMaxWorkers@30`,
  number: "memoryThrottlingFactor",
  text: `staticPodURL address tlsMinVersion healthzBindAddress kubeletCgroups systemCgroups cgroupRoot cpuManagerPolicy
    memoryManagerPolicy topologyManagerPolicy topologyManagerScope hairpinMode podCIDR contentType containerLogMaxSize
    configMapAndSecretChangeDetectionStrategy reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup
    kubeReservedCgroup volumePluginDir providerID imageServiceEndpoint podLogsDir@30
    imagePullCredentialsVerificationPolicy@33 memoryReservationPolicy@36`,
  duration: `syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout nodeStatusUpdateFrequency
    nodeStatusReportFrequency imageMinimumGCAge volumeStatsAggPeriod cpuManagerReconcilePeriod runtimeRequestTimeout
    cpuCFSQuotaPeriod evictionPressureTransitionPeriod shutdownGracePeriod shutdownGracePeriodCriticalPods
    imageMaximumGCAge@29 containerLogMonitorInterval@30`,
  texts: `tlsCipherSuites enforceNodeAllocatable allowedUnsafeSysctls preloadedImagesVerificationAllowlist@33`,
  wholes: "tlsCurvePreferences@36",
  textMap: `cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved evictionHard evictionSoft
    evictionSoftGracePeriod evictionMinimumReclaim systemReserved kubeReserved`,
  truthMap: "featureGates",
  textLists: "staticPodURLHeader",
  object: "",
  objects: "",
};

type Members = Readonly<Record<string, Kind>>;

/** Fields that are mappings, or lists of them, with their members. */
const NESTED: Readonly<
  Record<string, { readonly since?: number; readonly isList?: boolean; readonly members: Members }>
> = {
  memorySwap: { members: { swapBehavior: "text" } },
  crashLoopBackOff: { since: 32, members: { maxContainerRestartPeriod: "duration" } },
  userNamespaces: { since: 33, members: { idsPerPod: "whole" } },
  tracing: { members: { endpoint: "text", samplingRatePerMillion: "whole" } },
  logging: {
    members: { format: "text", flushFrequency: "duration", verbosity: "whole", vmodule: "objects", options: "object" },
  },
  shutdownGracePeriodByPodPriority: {
    isList: true,
    members: { priority: "whole", shutdownGracePeriodSeconds: "whole" },
  },
  reservedMemory: { isList: true, members: { numaNode: "whole", limits: "textMap" } },
};

const table = new Map<string, { readonly kind: FieldKind; readonly since: number }>([
  ...Object.entries(FIELDS).flatMap(([kind, names]) =>
    names
      .split(/\s+/)
      .filter((name) => name !== "")
      .map((entry) => {
        const [name = "", since = OLDEST_MINOR] = entry.split("@");
        return [name, { kind: kinds[kind as Kind], since: Number(since) }] as const;
      }),
  ),
]);

/** Fields that the profile sets, and what to use instead, if there is anything. */
const OWN: Readonly<Record<string, string>> = {
  ...{ authentication: "", authorization: "", containerRuntimeEndpoint: "kubelet.runtime", staticPodPath: "" },
  ...{ rotateCertificates: "", serverTLSBootstrap: "", tlsCertFile: "", tlsPrivateKeyFile: "" },
  ...{ cgroupDriver: "kubelet.cgroupDriver", clusterDNS: "kubelet.clusterDns", clusterDomain: "kubelet.clusterDomain" },
  ...{ resolvConf: "kubelet.resolvConf", registerWithTaints: "kubelet.taints" },
};

export type KubeletFields = Readonly<Record<string, unknown>>;

/**
 * Throws DB_PAYLOAD for a field that kubelets of that version do not have, or not with such a value. `where`: of what they
 * are fields, for messages.
 */
export function requireKubeletFields(fields: unknown, minor: number, where: string): KubeletFields {
  if (!isRecord(fields)) throw refused(`${where} must be a mapping of fields of KubeletConfiguration`);
  for (const [name, value] of Object.entries(fields)) requireField(`${where}.${name}`, name, value, minor);
  return fields;
}

function requireField(where: string, name: string, value: unknown, minor: number): void {
  const instead = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
  if (instead !== undefined) {
    throw refused(`${where} is set by the profile kubelet${instead === "" ? "" : `; use ${instead}`}`);
  }
  const nested = Object.hasOwn(NESTED, name) ? NESTED[name] : undefined;
  const field = table.get(name);
  const since = nested === undefined ? field?.since : (nested.since ?? OLDEST_MINOR);
  if (since === undefined) throw refused(`${where} is no field of KubeletConfiguration${similarTo(name)}`);
  if (since > minor) {
    throw refused(`${where} came with Kubernetes 1.${since}, and kubelet.version is 1.${minor}`);
  }
  if (nested === undefined) {
    requireKind(where, value, field!.kind);
    return;
  }
  const items = nested.isList ? value : [value];
  if (!Array.isArray(items)) throw refused(`${where} must be a list of mappings`);
  for (const item of items) requireMembers(where, item, nested.members);
}

function requireMembers(where: string, value: unknown, members: Members): void {
  requireKind(where, value, kinds.object);
  for (const [name, member] of Object.entries(value as Record<string, unknown>)) {
    const kind = Object.hasOwn(members, name) ? members[name] : undefined;
    if (kind === undefined) throw refused(`${where} has no field ${name}; it has ${Object.keys(members).join(", ")}`);
    requireKind(`${where}.${name}`, member, kinds[kind]);
  }
}

function requireKind(where: string, value: unknown, { is, must }: FieldKind): void {
  if (!is(value)) throw refused(`${where} ${must}, not ${JSON.stringify(value)}`);
}

/** The same letters in another case are the usual mistake. */
function similarTo(name: string): string {
  const known = [...table.keys(), ...Object.keys(NESTED), ...Object.keys(OWN)];
  const found = known.find((one) => one.toLowerCase() === name.toLowerCase());
  return found === undefined ? "" : `; there is ${found}`;
}
