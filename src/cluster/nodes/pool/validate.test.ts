import { describe, expect, test } from "vitest";
import { poolWith, spec } from "../testing/pools.js";
import { type NodePoolSpec, nodePoolSchema, validateNodePool } from "./node-pool.js";
import { problemText } from "./schema.js";

const texts = (change: Partial<NodePoolSpec>) => validateNodePool(poolWith(change)).map(problemText);

describe("a NodePool", () => {
  test("of platform None with the defaults is fine", () => {
    expect(validateNodePool(poolWith({}))).toEqual([]);
    expect(
      texts({
        arch: "arm64",
        management: {
          upgradeType: "Replace",
          replace: { strategy: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } },
        },
        config: Array.from({ length: 10 }, (_, index) => ({ name: `c${index}` })),
        osImageStream: { name: "rhel-10" },
      }),
    ).toEqual([]);
  });

  test("may ask for Replace alone: the rolling update has defaults, as HyperShift's", () => {
    expect(texts({ management: { upgradeType: "Replace" } })).toEqual([]);
    expect(nodePoolSchema.properties?.spec?.properties?.management?.properties?.replace?.default).toEqual({
      ...{ strategy: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
  });

  test.each<[string, Partial<NodePoolSpec>, string]>([
    ["no cluster", { clusterName: "" }, "spec.clusterName must have 1 to 253"],
    ["an endless cluster name", { clusterName: "a".repeat(254) }, "spec.clusterName must have 1 to 253"],
    ["a cluster name with capitals", { clusterName: "Demo" }, "spec.clusterName must be lower-case letters"],
    ["no release", { release: {} }, "spec.release.image is missing"],
    ["another platform", { platform: { type: "AWS" } }, "spec.platform.type must be None"],
    ["another architecture", { arch: "s390x" }, "spec.arch must be one of amd64, arm64"],
    ["negative replicas", { replicas: -1 }, "spec.replicas must be a whole number from 0"],
    ["half a replica", { replicas: 1.5 }, "spec.replicas must be a whole number"],
    ["replicas beyond int32", { replicas: 2 ** 31 }, "spec.replicas must be a whole number"],
    ["replicas and autoscaling", { autoScaling: { min: 1, max: 2 } }, "exclude each other"],
    ["no upgrade type", { management: {} }, "spec.management.upgradeType is missing"],
    [
      "a replacement that can never move",
      { management: { upgradeType: "Replace", replace: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } } } },
      "must not have 0 as maxSurge and as maxUnavailable",
    ],
    [
      "an unknown strategy",
      { management: { upgradeType: "Replace", replace: { strategy: "Now" } } },
      "spec.management.replace.strategy must be",
    ],
    [
      "a strange percentage",
      { management: { upgradeType: "InPlace", inPlace: { maxUnavailable: "101%" } } },
      "spec.management.inPlace.maxUnavailable must be a whole number or a percentage",
    ],
    [
      "inPlace without InPlace",
      { management: { upgradeType: "Replace", replace: {}, inPlace: { maxUnavailable: 1 } } },
      "goes with upgradeType InPlace only",
    ],
    ["eleven configs", { config: Array.from({ length: 11 }, () => ({ name: "c" })) }, "may have 10 entries, not 11"],
    ["a nameless config", { tuningConfig: [{}] }, "spec.tuningConfig.0.name is missing"],
    ["an unknown stream", { osImageStream: { name: "rhel-8" } }, "spec.osImageStream.name must be"],
  ])("with %s is refused in one sentence", (_, change, message) => {
    expect(texts(change)).toEqual([expect.stringContaining(message)]);
  });

  test.each<[Partial<NodePoolSpec>, string]>([
    [{ autoScaling: { min: 0, max: 2 } }, "spec.autoScaling.min must be a whole number from 1"],
    [{ autoScaling: { min: 3, max: 2 } }, "must not be smaller"],
  ])("cannot scale by %j", (change, message) => {
    const { replicas: _, ...without } = spec;
    expect(validateNodePool({ spec: { ...without, ...change } }).map(problemText)).toEqual([
      expect.stringContaining(message),
    ]);
  });

  test.each<[string, Partial<NodePoolSpec>]>([
    ["spec.clusterName", { clusterName: "other" }],
    ["spec.arch", { arch: "arm64" }],
    ["spec.management.upgradeType", { management: { upgradeType: "Replace", replace: {} } }],
  ])("keeps %s for good", (field, change) => {
    expect(validateNodePool(poolWith(change), poolWith({}))).toEqual([
      { field, message: expect.stringMatching(/^must not change; make another pool/) },
    ]);
    expect(validateNodePool(poolWith({ replicas: 5 }), poolWith({}))).toEqual([]);
    expect(validateNodePool(poolWith({ arch: "amd64" }), poolWith({}))).toEqual([]);
  });
});
