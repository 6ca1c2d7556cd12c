import { describe, expect, test } from "vitest";
import { agentArguments, clusterObjects, createdObjects, firewallRule, serverArguments } from "./created.js";
import { type BridgeOptions, bridgeModel } from "./model.js";
import { placeholders, topologies } from "./names.js";

describe("paths of a bridge", () => {
  test("on OpenShift server and kube-apiserver name one socket differently", () => {
    const { socket, egressConfig } = bridgeModel({ for: "openshift" }).paths;
    expect(socket).toEqual({
      host: "/etc/kubernetes/bootstrap-configs/konnectivity-server.socket",
      server: "/etc/kubernetes/bootstrap-configs/konnectivity-server.socket",
      apiServer: "/etc/kubernetes/config/konnectivity-server.socket",
    });
    expect(egressConfig.apiServer).toBe("/etc/kubernetes/config/egress-selector-config.yaml");
  });

  test.each(["kubeadm", "bare"] as const)("on %s the socket has a closed directory of its own", (topology) => {
    const { socket, ownDirectories } = bridgeModel({ for: topology }).paths;
    expect(new Set(Object.values(socket))).toEqual(new Set(["/run/drawbridge-bootstrap/konnectivity-server.socket"]));
    expect(ownDirectories[0]).toEqual({ path: "/run/drawbridge-bootstrap", mode: 0o770 });
  });

  test("a server outside a pod reads its certificates where they lie", () => {
    const flags = serverArguments(bridgeModel({ for: "kubeadm", serverForm: "systemd" }));
    expect(flags).toContain("--cluster-key=/etc/kubernetes/drawbridge-bootstrap/pki/server.key");
  });
});

describe("images of a bridge", () => {
  test.each([
    [{ for: "openshift" }, "/usr/bin/proxy-server", placeholders.image, "50Mi"],
    [
      { for: "kubeadm", imageKind: "upstream" },
      "/proxy-server",
      "registry.k8s.io/kas-network-proxy/proxy-server:v0.36.0",
      "50Mi",
    ],
    [{ for: "bare", version: "9.8.7" }, "/usr/bin/proxy-server", "localhost/drawbridge:9.8.7", "96Mi"],
    [{ for: "bare", image: "lab/x:1" }, "/usr/bin/proxy-server", "lab/x:1", "96Mi"],
  ] satisfies [BridgeOptions, string, string, string][])("%j", (options, command, image, memory) => {
    const { server, resources } = bridgeModel(options).images;
    expect([server.command[0], server.image, resources.requests.memory]).toEqual([command, image, memory]);
  });
});

describe("flags of server and agent", () => {
  test("those that only our programs know are for our images alone", () => {
    const own = ["--drain-timeout=8s", "--time-boxed"];
    expect(agentArguments(bridgeModel({ for: "bare" }))).toEqual(expect.arrayContaining(own));
    for (const imageKind of ["upstream", "payload"] as const) {
      const model = bridgeModel({ for: "openshift", imageKind });
      expect([...agentArguments(model), ...serverArguments(model)].filter((flag) => own.includes(flag))).toEqual([]);
    }
  });

  test("one image for both of upstream's programs is a mistake only where nobody chose it for each", () => {
    const same = { for: "bare", imageKind: "upstream", serverImage: "lab/both:1", agentImage: "lab/both:1" } as const;
    expect(bridgeModel(same).images.server.image).toBe("lab/both:1");
    expect(() => bridgeModel({ for: "bare", imageKind: "upstream", image: "lab/both:1" })).toThrow(
      /one image for each/,
    );
  });
});

describe("a bridge with several servers", () => {
  const addresses = ["10.0.0.1", "fd00::2", "10.0.0.1"];

  test("our agents connect to each, and the servers know how many there are", () => {
    const model = bridgeModel({ for: "kubeadm", serverAddresses: addresses });
    const hosts = agentArguments(model).filter((flag) => flag.startsWith("--proxy-server-host="));
    expect(hosts).toEqual(["--proxy-server-host=10.0.0.1", "--proxy-server-host=fd00::2"]);
    expect(serverArguments(model)).toContain("--server-count=2");
  });

  test("other agents take only one", () => {
    expect(() => bridgeModel({ for: "kubeadm", imageKind: "upstream", serverAddresses: addresses })).toThrow(
      "choose its image or give one address",
    );
  });
});

test.each([
  [{ for: "bare", serverAddresses: ["api-int.example"] }, '"api-int.example" is not an IP address'],
  [{ for: "bare", serverAddresses: ["fe80::1%eth0"] }, "is not an IP address"],
  [{ for: "openshift", serverForm: "systemd" }, "static pod"],
  [{ for: "openshift", runtimeDirectory: "/run/drawbridge" }, "leave them out"],
  [{ for: "kubeadm", imageKind: "payload" }, "--image"],
  [{ for: "kubeadm", imageKind: "upstream", image: "x" }, "--server-image and --agent-image"],
  [{ for: "kubeadm", image: "x|e rm" }, "pull spec"],
  [{ for: "bare", pkiDirectory: "/etc/kubernetes/pki" }, "emptied at teardown"],
  [{ for: "bare", runtimeDirectory: "/run" }, "emptied at teardown"],
  [{ for: "bare", configDirectory: "/etc/drawbridge/../kubernetes" }, "not an absolute path"],
  [{ for: "bare", configDirectory: "drawbridge" }, "not an absolute path"],
  [{ for: "bare", serverProgram: "/bin/sh\nExecStartPost=/bin/sh" }, "not an absolute path"],
  [{ for: "bare", socketGroup: -1 }, "not a numeric group"],
] satisfies [BridgeOptions, string][])("%j is refused", (options, sentence) => {
  expect(() => bridgeModel(options)).toThrow(
    expect.objectContaining({ code: "DB_BRIDGE_OPTIONS", message: expect.stringContaining(sentence) }),
  );
});

test("a socket's path that no system takes is refused", () => {
  expect(() => bridgeModel({ for: "bare", runtimeDirectory: `/run/drawbridge${"x".repeat(80)}` })).toThrow(
    expect.objectContaining({ code: "DB_UDS_PATH_TOO_LONG" }),
  );
});

describe("the teardown list", () => {
  const order = (options: BridgeOptions): string[] =>
    createdObjects(bridgeModel(options)).map((entry) => (entry.type === "object" ? entry.kind : entry.type));

  test("the kube-apiserver is restored first, certificates go last", () => {
    expect(order({ for: "kubeadm" })).toEqual([
      "setting",
      ...["DaemonSet", "Secret", "Namespace"],
      ...["static-pod", "socket", "file", "directory", "directory", "directory", "file"],
    ]);
    expect(order({ for: "bare" }).slice(0, 6)).toEqual([
      "setting",
      "DaemonSet",
      "Secret",
      "Namespace",
      "unit",
      "socket",
    ]);
  });

  test("on OpenShift nothing is left to restore", () => {
    const kinds = order({ for: "openshift", agentNetwork: "host" });
    expect(kinds.slice(0, 8)).toEqual([
      ...["DaemonSet", "RoleBinding", "ServiceAccount", "Secret", "Namespace"],
      ...["unit", "static-pod", "socket"],
    ]);
  });

  test.each(topologies)("on %s the namespace of all objects goes too", (topology) => {
    const model = bridgeModel({ for: topology });
    const objects = clusterObjects(model);
    expect(objects.at(-1)).toMatchObject({ kind: "Namespace", name: model.namespace });
    for (const { kind, namespace } of objects) expect(namespace ?? model.namespace, kind).toBe(model.namespace);
  });
});

test("one port is opened, to the bootstrap host, for as long as there is one", () => {
  expect(firewallRule(bridgeModel({ for: "openshift" }))).toEqual({
    proto: "tcp",
    port: 8091,
    from: ["control-plane", "workers"],
    to: "bootstrap",
    lifetime: "bootstrap",
  });
});
