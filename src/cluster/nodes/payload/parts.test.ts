/** No value of a recipe becomes something else in the text it is put into. */
import { describe, expect, test } from "vitest";
import { type ApiProxy, apiProxyConfig, type KubeletOptions, kubeletConfig, readKubelet } from "./parts.js";

const proxy: ApiProxy = {
  address: "172.20.0.1",
  port: 6443,
  server: "api.example:6443",
  image: "registry.example/x:1",
};
const kubelet: KubeletOptions = {
  ...{ clusterDns: ["10.96.0.10"], clusterDomain: "cluster.local", runtime: "containerd", cgroupDriver: "systemd" },
  ...{ binary: "/usr/local/bin/kubelet", downloads: [], version: "1.34", config: {}, resolvConf: "auto" },
  ...{ nodeLabels: {}, taints: [] },
};

const odd = ["\n", "\r", "\u0000", '"', "'", "\\", "`x`", "$(x)", "${x", "%n", ";", " ", "\u2028", "\t", "#", "|"];
const spoiled = odd.flatMap((sign) => [sign, `a${sign}`, `${sign}a`]);

describe("the proxy to the API", () => {
  test.each(spoiled)("a value with %j in it is refused by the name of its field", (piece) => {
    const [host, port] = ["api.example", "6443"];
    for (const server of [`${host}${piece}:${port}`, `${piece}${host}:${port}`, `${host}:${port}${piece}`])
      expect(() => apiProxyConfig({ ...proxy, server })).toThrow(/^apiProxy\.server must be host:port, .*, not ".*"$/s);
    for (const field of ["address", "image"] as const)
      expect(() => apiProxyConfig({ ...proxy, [field]: proxy[field] + piece })).toThrow(`apiProxy.${field} must be `);
  });

  test.each([
    "api.example:https",
    "api.example:0",
    "api.example:65536",
    ":6443",
    "[api.example]:1",
    "a..b:1",
    "-a:1",
    "[::1%lo]:1",
  ])("is no server: %s", (server) => {
    expect(() => apiProxyConfig({ ...proxy, server })).toThrow("apiProxy.server must be host:port");
  });

  test.each(["api.example:6443", "api.example.:6443", "10.0.0.1:6443", "[fd00::1]:6443", "my_host:1", "a:65535"])(
    "is a server: %s",
    (server) => {
      expect(() => apiProxyConfig({ ...proxy, server })).not.toThrow();
    },
  );
});

describe("a kubelet", () => {
  test.each(odd)("a value with %j in it is refused by the name of its field", (sign) => {
    for (const field of ["binary", "clusterDomain", "cgroupDriver", "version", "resolvConf"] as const)
      expect(() => kubeletConfig({ ...kubelet, [field]: kubelet[field] + sign }, "")).toThrow(
        `kubelet.${field} must be `,
      );
    expect(() => kubeletConfig({ ...kubelet, clusterDns: [`10.96.0.10${sign}`] }, "")).toThrow("kubelet.clusterDns");
    const download = { path: `/usr/local/bin/kubelet${sign}`, source: "https://x.example/k", hash: "sha256-0" };
    expect(() => kubeletConfig({ ...kubelet, downloads: [download] }, "")).toThrow("kubelet.downloads.path must be ");
  });

  test.each(odd)("a label or taint with %j in it is refused", (sign) => {
    for (const nodeLabels of [{ [`a${sign}`]: "b" }, { a: `b${sign}` }])
      expect(() => kubeletConfig({ ...kubelet, nodeLabels }, "")).toThrow("kubelet.nodeLabels: ");
    const taint = { key: "dedicated", value: "x", effect: "NoSchedule" } as const;
    for (const change of [{ key: `a${sign}` }, { value: `b${sign}` }])
      expect(() => kubeletConfig({ ...kubelet, taints: [{ ...taint, ...change }] }, "")).toThrow("kubelet.taints.");
  });

  test.each([
    ["node-role.kubernetes.io/worker", "", "is a label that no kubelet may give its node"],
    ["x.k8s.io/y", "", "is a label that no kubelet may give its node"],
    ["a b", "", "is no label's name"],
    ["a", 1, "has a value that is no label's: 1"],
  ])("the label %s=%j is refused, since the kubelet would not start with it", (key, value, why) => {
    expect(() => readKubelet({ nodeLabels: { [key]: value } })).toThrow(`kubelet.nodeLabels: "${key}" ${why}`);
  });

  test.each(["topology.kubernetes.io/zone", "node.kubernetes.io/x", "example.com/team", "pool"])(
    "the label %s is a kubelet's to give",
    (key) => expect(readKubelet({ nodeLabels: { [key]: "x" } }).nodeLabels).toEqual({ [key]: "x" }),
  );

  test.each(["1.26", "2.0", "latest", 1.34])("%j is no version that is known", (version) => {
    expect(() => readKubelet({ version })).toThrow("kubelet.version must be a version of Kubernetes from 1.27 on");
  });

  test("fields of its configuration are checked against its version, the oldest without one", () => {
    const config = { imageMaximumGCAge: "1h" };
    expect(() => readKubelet({ config })).toThrow("came with Kubernetes 1.29, and kubelet.version is 1.27");
    for (const version of ["1.29", "v1.34.3", "1.99"]) expect(readKubelet({ config, version }).config).toEqual(config);
  });
});
