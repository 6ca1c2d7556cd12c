/** The table of KubeletConfiguration's fields, beside a real kubelet that decodes the same configuration strictly. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { requirePeer } from "../../peers/index.js";
import { requireKubeletFields } from "../../src/cluster/nodes/payload/kubelet-fields.js";
import { run } from "../support/lab/run.js";

const kubelet = requirePeer("kubelet");
/** The minor version of the kubelet that is built as a peer. */
const MINOR = 34;

const all = (names: string, value: unknown) =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, value]),
  );

/** Every field that a recipe may set for that version. */
const fields: Readonly<Record<string, unknown>> = {
  ...all(
    `
    enableServer enableDebuggingHandlers enableContentionProfiling cgroupsPerQOS runOnce cpuCFSQuota
    serializeImagePulls enableControllerAttachDetach protectKernelDefaults makeIPTablesUtilChains failSwapOn
    kernelMemcgNotification enableSystemLogHandler enableSystemLogQuery enableProfilingHandler
    enableDebugFlagsHandler seccompDefault registerNode localStorageCapacityIsolation failCgroupV1
    singleProcessOOMKill mergeDefaultEvictionSettings`,
    true,
  ),
  ...all(
    `
    port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort oomScoreAdj
    nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent podPidsLimit
    nodeStatusMaxImages maxOpenFiles kubeAPIQPS kubeAPIBurst maxParallelImagePulls evictionMaxPodGracePeriod
    podsPerCore iptablesMasqueradeBit iptablesDropBit containerLogMaxFiles containerLogMaxWorkers`,
    1,
  ),
  ...all(
    `
    staticPodURL address tlsMinVersion healthzBindAddress kubeletCgroups systemCgroups cgroupRoot
    cpuManagerPolicy memoryManagerPolicy topologyManagerPolicy topologyManagerScope hairpinMode podCIDR
    contentType containerLogMaxSize configMapAndSecretChangeDetectionStrategy reservedSystemCPUs
    showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup volumePluginDir providerID
    imageServiceEndpoint podLogsDir imagePullCredentialsVerificationPolicy`,
    "x",
  ),
  ...all(
    `
    syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout nodeStatusUpdateFrequency
    nodeStatusReportFrequency imageMinimumGCAge volumeStatsAggPeriod cpuManagerReconcilePeriod
    runtimeRequestTimeout cpuCFSQuotaPeriod evictionPressureTransitionPeriod shutdownGracePeriod
    shutdownGracePeriodCriticalPods imageMaximumGCAge containerLogMonitorInterval`,
    "10s",
  ),
  ...{
    maxPods: 250,
    memoryThrottlingFactor: 0.5,
    tlsCipherSuites: ["a"],
    enforceNodeAllocatable: ["a"],
    allowedUnsafeSysctls: ["a"],
    preloadedImagesVerificationAllowlist: ["a"],
    cpuManagerPolicyOptions: { a: "1" },
    topologyManagerPolicyOptions: { a: "1" },
    qosReserved: { a: "1" },
    evictionHard: { a: "1" },
    evictionSoft: { a: "1" },
    evictionSoftGracePeriod: { a: "1" },
    evictionMinimumReclaim: { a: "1" },
    systemReserved: { a: "1" },
    kubeReserved: { a: "1" },
    featureGates: { GracefulNodeShutdown: true },
    staticPodURLHeader: { a: ["b"] },
    memorySwap: { swapBehavior: "x" },
    crashLoopBackOff: { maxContainerRestartPeriod: "5m" },
    userNamespaces: { idsPerPod: 65536 },
    tracing: { endpoint: "x", samplingRatePerMillion: 1 },
    logging: { format: "json", flushFrequency: "5s", verbosity: 1, options: {} },
    shutdownGracePeriodByPodPriority: [{ priority: 1, shutdownGracePeriodSeconds: 1 }],
    reservedMemory: [{ numaNode: 0, limits: { memory: "1Gi" } }],
  },
};

describe.skipIf(kubelet === undefined)("fields of KubeletConfiguration", () => {
  const folder = mkdtempSync(join(tmpdir(), "db-kubelet-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** What a kubelet says of a file that it decodes, and then refuses for its port, so that it does nothing else. */
  async function decode(given: object): Promise<string> {
    const file = join(folder, "kubelet.json");
    const head = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
    writeFileSync(file, JSON.stringify({ ...head, ...given, port: -1 }));
    const { code, stderr } = await run([kubelet!, `--config=${file}`]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("port")]);
    return stderr;
  }

  test("that the recipe takes are all known to a kubelet of their version", async () => {
    expect(() => requireKubeletFields(fields, MINOR, "config")).not.toThrow();
    expect(await decode(fields)).not.toContain("decoding");
  });

  test.each([
    [{ maxpods: 1 }, 'unknown field \\"maxpods\\"'],
    [{ memorySwap: { behavior: "x" } }, 'unknown field \\"memorySwap.behavior\\"'],
    [{ memoryReservationPolicy: "None" }, 'unknown field \\"memoryReservationPolicy\\"'],
  ])("that the recipe refuses are what a kubelet would only mention: %j", async (given, words) => {
    expect(() => requireKubeletFields(given, MINOR, "config")).toThrow("config.");
    expect(await decode(given)).toContain(`strict decoding error: ${words}`);
  });
});
