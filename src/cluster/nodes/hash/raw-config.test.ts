import { describe, expect, test } from "vitest";
import { rawConfig, usesRunc } from "./pool-hash.js";

const from = (text: string, where = "ConfigMap clusters/extra") => ({ where, text });

const machineConfig = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-extra
  labels: {team: "blue"}
spec:
  config:
    ignition: {version: 3.2.0}
    storage:
      files:
      - path: /etc/x
        mode: 0644
        contents: {source: "data:,yes"}
`;
const canonicalMachineConfig = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  creationTimestamp: null
  labels:
    machineconfiguration.openshift.io/role: worker
    team: blue
  name: 99-extra
spec:
  baseOSExtensionsContainerImage: ""
  config:
    ignition:
      version: 3.2.0
    storage:
      files:
      - contents:
          source: data:,yes
        mode: 420
        path: /etc/x
  extensions: null
  fips: false
  kernelArguments: null
  kernelType: ""
  osImageURL: ""
`;
const kubeletConfig = `{"kind":"KubeletConfig","apiVersion":"machineconfiguration.openshift.io/v1","spec":{"kubeletConfig":{"maxPods":100,"evictionHard":{"memory.available":"200Mi"}}},"metadata":{"name":"set-max-pods"}}`;
const canonicalKubeletConfig = `apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata:
  creationTimestamp: null
  name: set-max-pods
spec:
  kubeletConfig:
    evictionHard:
      memory.available: 200Mi
    maxPods: 100
  machineConfigPoolSelector:
    matchLabels:
      machineconfiguration.openshift.io/mco-built-in: ""
status:
  conditions: null
`;
const mirrors = `# kept as it is
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: mirrors}
spec: {imageDigestMirrors: []}
`;

describe("the configuration of a pool's machines", () => {
  test("is canonical for the kinds that a machine config operator reads", () => {
    expect(rawConfig([from(machineConfig)])).toBe(canonicalMachineConfig);
    expect(rawConfig([from(kubeletConfig)])).toBe(canonicalKubeletConfig);
  });

  test("takes mirror sets as they are written and moves image policies to v1", () => {
    expect(rawConfig([from(mirrors)])).toBe(mirrors);
    const policy = (version: string) =>
      `apiVersion: config.openshift.io/${version}\nkind: ClusterImagePolicy\nmetadata:\n  name: p\n`;
    expect(rawConfig([from(policy("v1"))])).toBe(policy("v1"));
    expect(rawConfig([from(policy("v1alpha1"))])).toBe(
      "apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy\nmetadata:\n  creationTimestamp: null\n  name: p\n",
    );
  });

  test("sorts its documents and is the same for every order and every spread over ConfigMaps", () => {
    const expected = [mirrors, canonicalKubeletConfig, canonicalMachineConfig].join("\n---\n");
    const documents = [machineConfig, kubeletConfig, mirrors];
    for (const [a, b, c] of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [1, 2, 0],
    ] as const) {
      const [first, second, third] = [documents[a]!, documents[b]!, documents[c]!];
      expect(rawConfig([from(first), from(second), from(third)])).toBe(expected);
      expect(rawConfig([from(`---\n${first}`), from(`---  \n\n---\n${second}`)])).toBe(
        rawConfig([from(second), from(first)]),
      );
    }
  });

  test("is empty without documents", () => {
    expect(rawConfig([])).toBe("");
    expect(rawConfig([from("\n---\n  \n---\n")])).toBe("");
  });

  test("does not depend on how the YAML was written", () => {
    const flow = JSON.stringify({
      spec: {
        config: {
          storage: { files: [{ mode: 420, path: "/etc/x", contents: { source: "data:,yes" } }] },
          ignition: { version: "3.2.0" },
        },
      },
      metadata: { labels: { team: "blue" }, name: "99-extra" },
      kind: "MachineConfig",
      apiVersion: "machineconfiguration.openshift.io/v1",
    });
    expect(rawConfig([from(flow)])).toBe(canonicalMachineConfig);
  });

  test("reads as Kubernetes does: dates and times of day are text", () => {
    const text = machineConfig.replace('team: "blue"', "day: 2026-01-02, hour: 12:30:45");
    expect(rawConfig([from(text)])).toMatch(/day: "?2026-01-02"?\n {4}hour: "?12:30:45"?\n/);
  });

  test.each([
    ["a foreign kind", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "is a Pod, and only MachineConfig"],
    ["no kind", "metadata: {name: x}\n", "is a undefined"],
    ["another version", machineConfig.replace("/v1", "/v2"), "has apiVersion machineconfiguration.openshift.io/v2"],
    ["no name", machineConfig.replace("name: 99-extra", "generateName: x"), "has no metadata.name"],
    ["a list", "- a\n", "is not a Kubernetes object"],
    ["text", "just words\n", "is not a Kubernetes object"],
    ["broken YAML", "a: [\n", "is not YAML"],
    ["a duplicate key", "kind: a\nkind: b\n", "is not YAML"],
    ["a config that is text", machineConfig.replace(/config:[\s\S]*/, "config: hello\n"), "is no Ignition config"],
    ["prototype tricks", "apiVersion: v1\nkind: constructor\nmetadata: {name: x}\n", "is a constructor"],
  ])("refuses %s and says where", (_, text, message) => {
    const where = "ConfigMap clusters/extra";
    expect(() => rawConfig([from(text)])).toThrow(message);
    expect(() => rawConfig([from(text)])).toThrow(where);
    expect(() => rawConfig([from(`${mirrors}---\n${text}`)])).toThrow(`document 2 of ${where}`);
  });

  test("refuses a MachineConfig whose Ignition config cannot be used", () => {
    const old = machineConfig.replace("version: 3.2.0", "version: 9.9.9");
    expect(() => rawConfig([from(old)])).toThrow("has an Ignition config that cannot be used");
  });

  test("bounds what aliases can grow to", () => {
    const levels = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i},*a${i},*a${i},*a${i},*a${i}]`);
    expect(() => rawConfig([from(`a0: &a0 x\n${levels.join("\n")}\n`)])).toThrow();
  });

  test("knows whether machines stay on runc", () => {
    const runtime = (name: string) =>
      `apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {name: r}\nspec: {containerRuntimeConfig: {defaultRuntime: ${name}}}\n`;
    expect(usesRunc(rawConfig([from(runtime("runc")), from(mirrors)]))).toBe(true);
    expect(usesRunc(rawConfig([from(runtime("crun")), from(mirrors)]))).toBe(false);
  });
});
