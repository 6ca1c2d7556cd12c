import { execFileSync } from "node:child_process";
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { Config } from "../../ignition/config.js";
import { readConfig } from "../../ignition/parse.js";
import { inlineContent } from "../../ignition/resource.js";
import { encoded } from "../objects.js";
import { type ComposedPayload, composePayload, type PayloadInputs, readRecipe } from "./compose.js";
import {
  bootstrapKubeconfig,
  caPem,
  fipsMachineConfig,
  payloadInputs,
  pullSecret,
  renderedMachineConfig,
  sshMachineConfig,
} from "./testing/inputs.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-payload-"));
  writeFileSync(join(dir, "rendered.yaml"), renderedMachineConfig);
});
afterEach(() => rmSync(dir, { recursive: true }));

async function compose(recipe: object, change: Partial<PayloadInputs> = {}): Promise<ComposedPayload> {
  writeFileSync(join(dir, "payload.yaml"), stringify(recipe));
  return composePayload(await readRecipe(join(dir, "payload.yaml")), { ...payloadInputs, ...change });
}

/** Everything must be as valid as a machine wants it, without so much as a warning. */
function read(text: string): Config {
  const reading = readConfig(text);
  expect(reading.findings).toEqual([]);
  if (!reading.ok) throw new Error("it is not valid");
  expect(reading.minor).toBe(2);
  return reading.config;
}

const contentOf = (config: Config, path: string) => {
  const entry = config.storage?.files?.find((file) => file.path === path);
  return entry?.contents === undefined ? undefined : inlineContent(entry.contents, path).toString();
};
const modeOf = (config: Config, path: string) => config.storage?.files?.find((file) => file.path === path)?.mode;
const apiProxy = { server: "api.example:6443", image: "registry.example/haproxy" };
const rhcos = { profile: "rhcos", machineConfig: "rendered.yaml" };
const kubelet = { profile: "kubelet", kubelet: { clusterDns: ["10.96.0.10"] } };

describe("a payload from a rendered MachineConfig", () => {
  test("has what OpenShift's machine config server would have put in", async () => {
    const config = read((await compose(rhcos)).text);
    expect(contentOf(config, "/etc/kubernetes/kubelet.conf")).toBe("a");
    expect([contentOf(config, "/etc/kubernetes/kubeconfig"), modeOf(config, "/etc/kubernetes/kubeconfig")]).toEqual([
      bootstrapKubeconfig,
      0o600,
    ]);
    expect([contentOf(config, "/var/lib/kubelet/config.json"), modeOf(config, "/var/lib/kubelet/config.json")]).toEqual(
      [pullSecret, 0o600],
    );
    expect(contentOf(config, "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt")).toBe(caPem);
    const encapsulated = JSON.parse(contentOf(config, "/etc/ignition-machine-config-encapsulated.json") ?? "");
    expect(encapsulated).toMatchObject({
      metadata: { name: "rendered-worker-1" },
      spec: { fips: false, kernelArguments: ["nosmt"], osImageURL: "registry.example/os@sha256:1" },
    });
    expect(contentOf(config, "/etc/machine-config-daemon/node-annotations.json")).toContain("rendered-worker-1");
  });

  test("takes the pool's own MachineConfigs over it, by name, whatever their order", async () => {
    const rawConfig = [sshMachineConfig, fipsMachineConfig];
    const there = await compose(rhcos, { rawConfig: rawConfig.join("\n---\n") });
    const back = await compose(rhcos, { rawConfig: rawConfig.reverse().join("\n---\n") });
    expect(there.text).toBe(back.text);
    const config = read(there.text);
    expect(config.passwd?.users).toEqual([{ name: "core", sshAuthorizedKeys: ["ssh-rsa AAAA"] }]);
    const encapsulated = contentOf(config, "/etc/ignition-machine-config-encapsulated.json") ?? "";
    expect(JSON.parse(encapsulated).spec.fips).toBe(true);
  });

  test("has the proxy to the API", async () => {
    const config = read((await compose({ ...rhcos, apiProxy })).text);
    const haproxy = contentOf(config, "/etc/kubernetes/apiserver-proxy-config/haproxy.cfg");
    expect(haproxy).toContain("bind 172.20.0.1:6443");
    expect(haproxy).toContain("server controlplane api.example:6443 check inter 10s");
    expect(contentOf(config, "/usr/local/bin/setup-apiserver-ip.sh")).toContain("replace 172.20.0.1/32 dev lo");
    const pod = parse(contentOf(config, "/etc/kubernetes/manifests/kube-apiserver-proxy.yaml") ?? "");
    expect(pod).toMatchObject({ kind: "Pod", spec: { hostNetwork: true, priorityClassName: "system-node-critical" } });
    expect(config.systemd?.units?.map(({ name }) => name)).toContain("apiserver-ip.service");
  });

  test("does with another address family", async () => {
    const config = read((await compose({ ...rhcos, apiProxy: { ...apiProxy, address: "fd00::1" } })).text);
    expect(contentOf(config, "/etc/kubernetes/apiserver-proxy-config/haproxy.cfg")).toContain("bind [fd00::1]:6443");
    expect(contentOf(config, "/usr/local/bin/teardown-apiserver-ip.sh")).toContain("del fd00::1/128 dev lo");
  });

  test("goes over what the machine's image has in its places", async () => {
    const { storage } = read((await compose(rhcos)).text);
    const own = storage?.files?.filter(({ path }) => path !== "/etc/kubernetes/kubelet.conf") ?? [];
    expect(own.map(({ overwrite }) => overwrite)).toEqual(own.map(() => true));
  });

  test("leaves out what there is none of", async () => {
    const config = read((await compose(rhcos, { pullSecret: "", trustBundle: "" })).text);
    const paths = config.storage?.files?.map(({ path }) => path) ?? [];
    expect(paths.filter((path) => /config\.json|anchors/.test(path))).toEqual([]);
  });

  test.each([
    [
      "a kind that only OpenShift can render",
      { rawConfig: "kind: KubeletConfig\nmetadata: {name: x}\n" },
      "is a KubeletConfig",
    ],
    [
      "a broken Ignition config",
      { rawConfig: sshMachineConfig.replace("3.2.0", "9.9.9") },
      "99-worker-ssh is not a valid",
    ],
    [
      "a broken list",
      { rawConfig: fipsMachineConfig.replace("fips: true", "kernelArguments: x") },
      "spec.kernelArguments",
    ],
  ])("refuses %s", async (_, change, sentence) => {
    await expect(compose(rhcos, change)).rejects.toThrow(sentence);
  });
});

describe("a payload of the profile kubelet", () => {
  test("makes a machine a node that gets all its certificates from the cluster", async () => {
    const config = read((await compose({ ...kubelet, sshKeys: ["ssh-ed25519 AAAA"] })).text);
    const settings = parse(contentOf(config, "/etc/kubernetes/kubelet.yaml") ?? "");
    expect(settings).toMatchObject({
      serverTLSBootstrap: true,
      rotateCertificates: true,
      clusterDNS: ["10.96.0.10"],
      authentication: { anonymous: { enabled: false }, x509: { clientCAFile: "/etc/kubernetes/ca.crt" } },
    });
    expect(contentOf(config, "/etc/kubernetes/ca.crt")).toBe(caPem);
    const place = "/etc/kubernetes/bootstrap-kubeconfig";
    expect([contentOf(config, place), modeOf(config, place)]).toEqual([bootstrapKubeconfig, 0o600]);
    const units = config.systemd?.units ?? [];
    expect(units.map(({ name, enabled }) => [name, enabled])).toEqual([
      ["containerd.service", true],
      ["kubelet.service", true],
    ]);
    expect(units[1]?.contents).toContain(`--bootstrap-kubeconfig=${place}`);
    expect(config.passwd?.users?.[0]?.sshAuthorizedKeys).toEqual(["ssh-ed25519 AAAA"]);
  });

  test("has the recipe's fields of KubeletConfiguration, and labels and taints that the Node has from its first moment", async () => {
    const more = {
      ...{ version: "1.34", config: { maxPods: 250, evictionHard: { "memory.available": "5%" } } },
      ...{ nodeLabels: { "example.com/team": "blue", zone: "" }, taints: [{ key: "dedicated", effect: "NoSchedule" }] },
    };
    const config = read((await compose({ profile: "kubelet", kubelet: { ...kubelet.kubelet, ...more } })).text);
    expect(parse(contentOf(config, "/etc/kubernetes/kubelet.yaml") ?? "")).toMatchObject({
      ...{ maxPods: 250, evictionHard: { "memory.available": "5%" }, serverTLSBootstrap: true },
      registerWithTaints: [{ key: "dedicated", effect: "NoSchedule" }],
    });
    const unit = config.systemd?.units?.find(({ name }) => name === "kubelet.service")?.contents;
    expect(unit).toMatch(/^ExecStart=.* --node-labels=example\.com\/team=blue,zone=$/m);
  });

  test("registers the Node with the pool's labels and taints beside the recipe's", async () => {
    const options = { nodeLabels: { tier: "back", rack: "1" }, taints: [{ key: "dedicated", effect: "NoSchedule" }] };
    const registration = JSON.stringify({
      nodeLabels: {
        ...{ tier: "front", "node.kubernetes.io/role": "edge", "topology.kubernetes.io/zone": "a" },
        // With these no kubelet starts: only others may put them on a Node.
        ...{ "node-role.kubernetes.io/edge": "", "node-restriction.kubernetes.io/x": "y", "x.k8s.io/y": "z" },
      },
      taints: [
        { key: "dedicated", value: "edge", effect: "NoSchedule" },
        { key: "fresh", effect: "NoExecute" },
      ],
    });
    const recipe = { profile: "kubelet", kubelet: { ...kubelet.kubelet, ...options } };
    const config = read((await compose(recipe, { registration })).text);
    const unit = config.systemd?.units?.find(({ name }) => name === "kubelet.service")?.contents;
    const labels = "tier=front,rack=1,node.kubernetes.io/role=edge,topology.kubernetes.io/zone=a";
    expect(unit).toMatch(new RegExp(`^ExecStart=.* --node-labels=${labels}$`, "m"));
    expect(parse(contentOf(config, "/etc/kubernetes/kubelet.yaml") ?? "").registerWithTaints).toEqual([
      { key: "dedicated", value: "edge", effect: "NoSchedule" },
      { key: "fresh", value: "", effect: "NoExecute" },
    ]);
  });

  test.each([
    [{ nodeLabels: { "a b": "c" } }, "the pool's spec.nodeLabels: \"a b\" is no label's name"],
    [{ nodeLabels: { a: "b,c=d" } }, "the pool's spec.nodeLabels"],
    [{ taints: [{ key: "a", effect: "Never" }] }, "the pool's spec.taints.effect must be NoSchedule"],
  ])("is not made with labels and taints of the pool that no Node can have: %j", async (wrong, sentence) => {
    await expect(compose(kubelet, { registration: JSON.stringify(wrong) })).rejects.toThrow(sentence);
  });

  test("has the fields of the pool's KubeletConfigs over the recipe's, checked in the same way", async () => {
    const document = (name: string, spec: object) =>
      stringify({
        apiVersion: "machineconfiguration.openshift.io/v1",
        kind: "KubeletConfig",
        metadata: { name },
        spec,
      });
    const machineConfigPoolSelector = { matchLabels: { "machineconfiguration.openshift.io/mco-built-in": "" } };
    const tuned = async (...documents: readonly string[]) => {
      const recipe = { profile: "kubelet", kubelet: { config: { maxPods: 100, podsPerCore: 10 } } };
      const config = read((await compose(recipe, { rawConfig: documents.join("\n---\n") })).text);
      return parse(contentOf(config, "/etc/kubernetes/kubelet.yaml") ?? "");
    };
    const second = document("b", { kubeletConfig: { maxPods: 300 }, machineConfigPoolSelector });
    const first = document("a", { kubeletConfig: { maxPods: 200, seccompDefault: true } });
    expect(await tuned(second, sshMachineConfig, first)).toMatchObject({
      ...{ maxPods: 300, podsPerCore: 10, seccompDefault: true, serverTLSBootstrap: true },
    });
    await expect(tuned(document("x", { kubeletConfig: { maxpods: 1 } }))).rejects.toThrow(
      "KubeletConfig x: spec.kubeletConfig.maxpods is no field of KubeletConfiguration; there is maxPods",
    );
    await expect(tuned(document("x", { autoSizingReserved: true }))).rejects.toThrow(
      "spec.autoSizingReserved of KubeletConfig x is a setting of the machine",
    );
  });

  test("gives pods the servers behind systemd-resolved's stub, or the file that the recipe names", async () => {
    const settingsOf = async (resolvConf?: string) => {
      const config = read((await compose({ profile: "kubelet", kubelet: { resolvConf } })).text);
      const unit = config.systemd?.units?.find(({ name }) => name === "kubelet.service")?.contents ?? "";
      return { file: parse(contentOf(config, "/etc/kubernetes/kubelet.yaml") ?? "").resolvConf, unit };
    };
    const { file, unit } = await settingsOf();
    const [, script = ""] = /^ExecStartPre=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
    const place = (path: string) => join(dir, path.replaceAll("/", "_"));
    const chosenFor = (content: string) => {
      writeFileSync(place("/etc/resolv.conf"), content);
      const inRoot = script.replace(/\/(?:etc|run)\/[\w./-]+/g, place);
      execFileSync("/bin/sh", ["-c", inRoot]);
      return readlinkSync(place(file));
    };
    expect(chosenFor("nameserver 127.0.0.53\n")).toBe(place("/run/systemd/resolve/resolv.conf"));
    expect(chosenFor("# 127.0.0.53\nnameserver 10.0.0.2\n")).toBe(place("/etc/resolv.conf"));
    const named = await settingsOf("/etc/my-resolv.conf");
    expect([named.file, named.unit.includes("resolv")]).toEqual(["/etc/my-resolv.conf", false]);
  });

  test("forwards IPv6 as IPv4, without losing its routers, and starts without IPv6", async () => {
    const lines = (contentOf(read((await compose(kubelet)).text), "/etc/sysctl.d/90-kubernetes.conf") ?? "").split(
      "\n",
    );
    expect(lines).toEqual(expect.arrayContaining(["net.ipv4.ip_forward = 1", "-net.ipv6.conf.all.forwarding = 1"]));
    expect(lines).toEqual(expect.arrayContaining(["-net.bridge.bridge-nf-call-ip6tables = 1"]));
    expect(lines.indexOf("-net.ipv6.conf.all.accept_ra = 2")).toBeLessThan(
      lines.indexOf("-net.ipv6.conf.all.forwarding = 1"),
    );
    expect(lines.filter((line) => line.includes("ipv6")).every((line) => line.startsWith("-"))).toBe(true);
  });

  test("has the name of a worker that is known, and only then", async () => {
    const made = await compose(kubelet);
    expect(contentOf(read(made.text), "/etc/hostname")).toBeUndefined();
    expect(contentOf(read(`${made.named.before}${encoded("worker-3\n")}${made.named.after}`), "/etc/hostname")).toBe(
      "worker-3\n",
    );
  });

  test("fetches programs only with their hash", async () => {
    const download = { path: "/usr/local/bin/kubelet", source: "https://files.example/kubelet" };
    const hash = `sha256-${"0".repeat(64)}`;
    const config = read((await compose({ profile: "kubelet", kubelet: { downloads: [{ ...download, hash }] } })).text);
    expect(config.storage?.files?.find(({ path }) => path === download.path)).toMatchObject({
      mode: 0o755,
      contents: { source: download.source, verification: { hash } },
    });
    await expect(compose({ profile: "kubelet", kubelet: { downloads: [download] } })).rejects.toThrow("hash");
  });

  test("refuses what nobody would apply on such a machine", async () => {
    await expect(compose(kubelet, { rawConfig: fipsMachineConfig })).rejects.toThrow("MachineConfig 30-fips sets fips");
  });

  test("refuses a credential that names no authority", async () => {
    await expect(compose(kubelet, { bootstrapKubeconfig: "clusters: []\n" })).rejects.toThrow(
      "certificate-authority-data",
    );
  });
});

test.each([
  ["no profile", {}, "profile must be rhcos or kubelet"],
  ["a key of the other profile", { ...kubelet, machineConfig: "x" }, "unknown key machineConfig"],
  ["a misspelt key", { ...rhcos, sshkeys: [] }, "unknown key sshkeys"],
  ["a MachineConfig that is not there", { ...rhcos, machineConfig: "none.yaml" }, "none.yaml"],
  [
    "a proxy without a port",
    { ...rhcos, apiProxy: { ...apiProxy, server: "api.example" } },
    "apiProxy.server must be host:port",
  ],
  ["a proxy to a line of its own", { ...rhcos, apiProxy: { ...apiProxy, server: "a\n b:1" } }, "apiProxy.server"],
  ["two SSH keys in one", { ...rhcos, sshKeys: ["ssh-rsa AAAA\nssh-rsa BBBB"] }, "sshKeys must have one key"],
  ["a field that no kubelet has", { profile: "kubelet", kubelet: { config: { maxpods: 1 } } }, "there is maxPods"],
  ["a taint without an effect", { profile: "kubelet", kubelet: { taints: [{ key: "a" }] } }, "kubelet.taints.effect"],
  ["another runtime", { profile: "kubelet", kubelet: { runtime: "docker" } }, "containerd or crio"],
])("a description with %s is refused", async (_, recipe, sentence) => {
  await expect(compose(recipe)).rejects.toMatchObject({
    code: "DB_PAYLOAD",
    message: expect.stringContaining(sentence),
  });
});
