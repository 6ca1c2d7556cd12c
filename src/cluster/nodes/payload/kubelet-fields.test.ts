import { describe, expect, test } from "vitest";
import { requireKubeletFields } from "./kubelet-fields.js";

const check = (fields: unknown, minor = 36) => requireKubeletFields(fields, minor, "kubelet.config");

describe("fields of KubeletConfiguration", () => {
  test("of every kind are taken", () => {
    expect(() =>
      check({
        ...{ maxPods: 250, seccompDefault: true, memoryThrottlingFactor: 0.9, shutdownGracePeriod: "1m30s" },
        ...{ evictionHard: { "memory.available": "5%" }, featureGates: { SwapOn: false }, tlsCipherSuites: ["A"] },
        ...{ staticPodURLHeader: { X: ["1"] }, memorySwap: { swapBehavior: "LimitedSwap" }, tlsCurvePreferences: [29] },
        logging: { format: "json", verbosity: 4, flushFrequency: "5s", vmodule: [{ filePattern: "x", verbosity: 1 }] },
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
        reservedMemory: [{ numaNode: 0, limits: { memory: "1Gi" } }],
      }),
    ).not.toThrow();
  });

  test.each([
    [{ maxpods: 250 }, "kubelet.config.maxpods is no field of KubeletConfiguration; there is maxPods"],
    [{ toString: 1 }, "kubelet.config.toString is no field of KubeletConfiguration"],
    [{ maxPods: "250" }, 'kubelet.config.maxPods must be a whole number, not "250"'],
    [{ maxPods: 2.5 }, "kubelet.config.maxPods must be a whole number, not 2.5"],
    [{ seccompDefault: "yes" }, 'kubelet.config.seccompDefault must be true or false, not "yes"'],
    [{ shutdownGracePeriod: 30 }, "kubelet.config.shutdownGracePeriod must be a duration such as 10s or 1h30m, not 30"],
    [{ syncFrequency: "ten" }, 'kubelet.config.syncFrequency must be a duration such as 10s or 1h30m, not "ten"'],
    [
      { evictionHard: { "nodefs.available": 10 } },
      "kubelet.config.evictionHard must map names to texts; quote numbers",
    ],
    [{ featureGates: { X: "true" } }, "kubelet.config.featureGates must map names to true or false"],
    [{ tlsCipherSuites: "A" }, "kubelet.config.tlsCipherSuites must be a list of texts"],
    [{ memorySwap: { behavior: "x" } }, "kubelet.config.memorySwap has no field behavior; it has swapBehavior"],
    [{ memorySwap: "x" }, 'kubelet.config.memorySwap must be a mapping, not "x"'],
    [{ reservedMemory: {} }, "kubelet.config.reservedMemory must be a list of mappings"],
    [{ serverTLSBootstrap: false }, "kubelet.config.serverTLSBootstrap is set by the profile kubelet"],
    [{ clusterDNS: [] }, "kubelet.config.clusterDNS is set by the profile kubelet; use kubelet.clusterDns"],
    ["maxPods", "kubelet.config must be a mapping of fields of KubeletConfiguration"],
  ])("that no kubelet has, or not so, are refused with a sentence: %j", (fields, sentence) => {
    expect(() => check(fields)).toThrow(sentence);
  });

  test.each([
    ["imageMaximumGCAge", "1h", 29],
    ["podLogsDir", "/x", 30],
    ["failCgroupV1", true, 31],
    ["crashLoopBackOff", { maxContainerRestartPeriod: "5m" }, 32],
    ["imagePullCredentialsVerificationPolicy", "NeverVerify", 33],
    ["memoryReservationPolicy", "None", 36],
  ])("%s is refused before the version that it came with", (name, value, since) => {
    expect(() => check({ [name]: value }, since)).not.toThrow();
    expect(() => check({ [name]: value }, since - 1)).toThrow(
      `kubelet.config.${name} came with Kubernetes 1.${since}, and kubelet.version is 1.${since - 1}`,
    );
  });
});
