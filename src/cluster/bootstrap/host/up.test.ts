import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeNetwork, own } from "../address/testing/fake-host.js";
import { TestBridge } from "./testing/bridge.js";
import { address } from "./testing/fake-host.js";
import { Fuse } from "./testing/fuse.js";
import { kubeadmManifest, kubeadmManifestPath } from "./testing/kubeadm-manifest.js";
import type { UpOptions } from "./up.js";

let bridge: TestBridge;
afterEach(() => bridge.close());

const flag = "--egress-selector-config-file=/etc/drawbridge-bootstrap/egress-selector-config.yaml";
const bare = { for: "bare", kubeconfig: "/admin.conf", serverForm: "process" } as const;
const outcomes = (): string[] => bridge.steps.splice(0);

describe("up on a host that kubeadm made", () => {
  beforeEach(async () => {
    bridge = await TestBridge.prepare("kubeadm");
  });

  test("makes everything in order, agents before the kube-apiserver needs them", async () => {
    const result = await bridge.up({ apply: true });
    expect(outcomes()).toEqual([
      ...["directories: done", "address: done", "certificates: done", "egress-config: done", "tmpfiles: done"],
      ...["server: done", "agents: done", "kube-apiserver: done", "connected: already so"],
    ]);
    expect(result).toMatchObject({
      for: "kubeadm",
      address,
      until: "2031-01-01T02:00:00.000Z",
      namespace: "drawbridge-bootstrap",
      leftToYou: undefined,
    });
    expect(bridge.host.text(kubeadmManifestPath)).toContain("--egress-selector-config-file=/etc/kubernetes/drawbridge");
    const tree = bridge.host.tree().map((line) => line.split(" ").slice(0, 2).join(" "));
    expect(tree).toEqual(
      expect.arrayContaining([
        ...["/run/drawbridge-bootstrap/ 770", "/etc/kubernetes/drawbridge-bootstrap/pki/ 700"],
        ...["/etc/kubernetes/drawbridge-bootstrap/pki/server.key 600", "/etc/tmpfiles.d/drawbridge-bootstrap.conf 644"],
        ...["/var/lib/drawbridge-bootstrap/ 700", "/var/lib/drawbridge-bootstrap/bridge.json 600"],
        ...[
          "/var/lib/drawbridge-bootstrap/kube-apiserver.yaml 600",
          "/etc/kubernetes/manifests/konnectivity-server-pod.yaml 600",
        ],
      ]),
    );
    expect(tree.filter((line) => /^\/etc\/kubernetes\/manifests\/./.test(line) && !line.includes("/ "))).toHaveLength(
      2,
    );
    expect(bridge.host.tree().join("\n")).not.toContain("ca.key");
  });

  test("finds everything done the second time and changes nothing", async () => {
    await bridge.up({ apply: true });
    const [tree, calls] = [bridge.host.tree(), bridge.cluster.stub.calls.length];
    outcomes();
    await bridge.up({ apply: true });
    expect(new Set(outcomes().map((line) => line.split(": ")[1]))).toEqual(new Set(["already so"]));
    expect(bridge.host.tree()).toEqual(tree);
    expect(bridge.cluster.stub.calls.slice(calls).filter((call) => !call.startsWith("GET "))).toEqual([]);
  });

  test("mends what was changed or lost", async () => {
    await bridge.up({ apply: true });
    outcomes();
    await bridge.host.files.write("/etc/kubernetes/drawbridge-bootstrap/egress-selector-config.yaml", "other", 0o644);
    await bridge.host.files.remove("/etc/kubernetes/manifests/konnectivity-server-pod.yaml");
    const daemonSet = "/apis/apps/v1/namespaces/drawbridge-bootstrap/daemonsets/konnectivity-agent";
    bridge.cluster.put(daemonSet, { spec: {} });
    bridge.host.put(kubeadmManifestPath, kubeadmManifest.replace("v1.34.1", "v1.34.2"));
    await bridge.up({ apply: true });
    expect(outcomes().filter((line) => line.endsWith(": done"))).toEqual([
      ...["egress-config: done", "server: done", "agents: done", "kube-apiserver: done"],
    ]);
    expect(bridge.host.text(kubeadmManifestPath)).toContain("v1.34.2");
    expect(bridge.host.text("/var/lib/drawbridge-bootstrap/kube-apiserver.yaml")).toContain("v1.34.2");
  });

  test("without --apply says exactly what to change, and leaves the manifest alone", async () => {
    const { leftToYou, steps } = await bridge.up();
    expect(steps.find(({ name }) => name === "kube-apiserver")).toMatchObject({ outcome: "left to you" });
    const { text, files } = leftToYou!;
    expect(text).toContain(`In ${kubeadmManifestPath} add to the kube-apiserver's container`);
    expect(text).toContain(
      "  command:\n    - --egress-selector-config-file=/etc/kubernetes/drawbridge-bootstrap/egress",
    );
    expect(files.map(({ name }) => name)).toEqual([
      ...["cluster-configuration-v1beta4.yaml", "cluster-configuration-v1beta3.yaml"],
      ...["patches/kube-apiserver+strategic.yaml", "patches/kube-apiserver+json.yaml"],
    ]);
    expect(bridge.host.text(kubeadmManifestPath)).toBe(kubeadmManifest);
  });

  test("refuses several kube-apiservers before anything is made, unless told that the others need no bridge", async () => {
    const before = bridge.host.tree();
    bridge.cluster.put("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", {
      metadata: { labels: { "kubernetes.io/service-name": "kubernetes" } },
      endpoints: [{ addresses: ["192.0.2.10"] }, { addresses: ["192.0.2.9"] }],
    });
    await expect(bridge.up({ apply: true })).rejects.toMatchObject({
      code: "DB_HIGHLY_AVAILABLE",
      message: expect.stringContaining("2 kube-apiservers (192.0.2.10, 192.0.2.9)"),
    });
    expect(bridge.host.tree()).toEqual(before);
    await bridge.up({ apply: true, onlyThisApiServer: true });
  });

  test("refuses a kube-apiserver that has an egress configuration of its own", async () => {
    const own = kubeadmManifest.replace("--secure-port", "--egress-selector-config-file=/own\n    - --secure-port");
    bridge.host.put(kubeadmManifestPath, own);
    await expect(bridge.up({ apply: true })).rejects.toMatchObject({ code: "DB_BRIDGE_EXISTS" });
    expect(bridge.host.text(kubeadmManifestPath)).toBe(own);
  });

  test("gives up on a kube-apiserver that does not come back, and says what it saw", async () => {
    bridge.cluster.isReady = false;
    await expect(bridge.up({ apply: true })).rejects.toMatchObject({
      code: "DB_API_SERVER_WAIT",
      message: expect.stringMatching(/within 60 s: process \d+ has the flag but is not ready/),
    });
    expect(outcomes()).not.toContain("agents: done");
  });

  test("goes on with the kube-apiserver first when the API is not there yet", async () => {
    bridge.cluster.isReady = false;
    await expect(bridge.up({ apply: true })).rejects.toThrow();
    bridge.cluster.isReady = true;
    bridge.cluster.intercept = ({ path }, response) => {
      const isEarly = path === "/readyz" && bridge.steps.length < 6;
      if (isEarly) response.writeHead(500).end();
      return isEarly;
    };
    outcomes();
    await bridge.up({ apply: true });
    expect(outcomes().slice(6)).toEqual(["kube-apiserver: already so", "agents: done", "connected: already so"]);
  });

  test("uses kubeadm's own kubeconfig, and records it", async () => {
    await bridge.up();
    const { kubeconfig, opened } = JSON.parse(bridge.host.text("/var/lib/drawbridge-bootstrap/bridge.json"));
    expect(kubeconfig).toMatch(/\/etc\/kubernetes\/admin\.conf$/);
    expect(opened.length).toBeGreaterThan(8);
  });
});

describe("up on a bare host", () => {
  beforeEach(async () => {
    bridge = await TestBridge.prepare("bare");
  });

  test("launches the server, leaves the flag to its owner and sees when it is there", async () => {
    const first = await bridge.up(bare);
    expect(first.leftToYou).toMatchObject({ flag, files: [] });
    expect(first.leftToYou?.text).toContain(`  ${flag}\n`);
    expect(bridge.host.text("/var/lib/drawbridge-bootstrap/server.pid")).toBe("1000\n");
    bridge.restartApiServer(flag);
    const second = await bridge.up(bare);
    expect(second.leftToYou).toBeUndefined();
    expect(bridge.host.plain).toHaveLength(2);
  });

  test("runs the owner's command with the flag in its environment", async () => {
    bridge.host.answers = ([program, , command], env) => {
      if (program !== "sh") return undefined;
      if (command === "restart") bridge.restartApiServer(env.EGRESS_FLAG ?? "");
      return { code: command === "restart" ? 0 : 3, stdout: "", stderr: "no such service\n" };
    };
    await expect(bridge.up({ ...bare, applyCommand: "wrong" })).rejects.toMatchObject({
      code: "DB_API_SERVER_CHANGE",
      message: 'The command "wrong" ended with 3: no such service',
    });
    const { leftToYou } = await bridge.up({ ...bare, applyCommand: "restart" });
    expect(leftToYou).toBeUndefined();
  });

  test("refuses --apply without a command", async () => {
    await expect(bridge.up({ ...bare, apply: true })).rejects.toMatchObject({ code: "DB_FLAG_VALUE" });
  });

  test("runs the server with systemd unless another form is chosen", async () => {
    await bridge.up({ ...bare, serverForm: undefined });
    expect(bridge.host.commands).toEqual([
      ["systemctl", "daemon-reload"],
      ["systemctl", "enable", "drawbridge-bootstrap-server.service"],
      ["systemctl", "restart", "drawbridge-bootstrap-server.service"],
    ]);
    bridge.host.answers = () => ({ code: 5, stdout: "", stderr: "Unit masked" });
    await bridge.host.files.remove("/etc/systemd/system/drawbridge-bootstrap-server.service");
    await expect(bridge.up()).rejects.toMatchObject({ code: "DB_SERVER_START", message: /ended with 5: Unit masked/ });
  });

  test("says what a server that ends at once said", async () => {
    bridge.host.launchFails = true;
    await expect(bridge.up(bare)).rejects.toMatchObject({
      code: "DB_SERVER_START",
      message: "The server did not come up (it does not run); its last words: Error: port 8091 is taken.",
    });
  });

  test("takes over a server whose launcher was killed before it wrote the pid down", async () => {
    await bridge.up(bare);
    await bridge.host.files.remove("/var/lib/drawbridge-bootstrap/server.pid");
    await bridge.up(bare);
    expect(bridge.host.plain).toHaveLength(2);
  });

  test("refuses other options than the first time, and takes fewer", async () => {
    await bridge.up({ ...bare, protocol: "HTTPConnect" });
    await expect(bridge.up({ ...bare, protocol: "GRPC", agentNetwork: "host" })).rejects.toMatchObject({
      code: "DB_BRIDGE_EXISTS",
      message:
        'The bridge on this host was made with protocol "HTTPConnect" instead of "GRPC", agentNetwork the default instead of "host".',
    });
    await bridge.up({ validForMs: 60_000 });
  });

  test("refuses to go on when the host's address has changed", async () => {
    await bridge.up(bare);
    bridge.host.network = new FakeNetwork([own("eth0", "192.0.2.77/24")], { "1.1.1.1": "192.0.2.77" });
    await expect(bridge.up(bare)).rejects.toMatchObject({
      code: "DB_ADDRESS_CHANGED",
      message: `The bridge was made for ${address}, but the address of this host is now 192.0.2.77 (from route).`,
    });
    const { lines } = await bridge.status();
    expect(lines.find(({ name }) => name === "address")).toMatchObject({ ok: false });
  });

  test("keeps an address that still leads here, and one that was given before", async () => {
    await bridge.up(bare);
    const both = [own("eth0", `${address}/24`), own("eth1", "198.51.100.7/24")];
    bridge.host.network = new FakeNetwork(both, { "1.1.1.1": "198.51.100.7" });
    expect((await bridge.up(bare)).address).toBe(address);
    await bridge.teardown();
    await bridge.up({ ...bare, address: "203.0.113.5" });
    const { address: kept, warnings } = await bridge.up(bare);
    expect(kept).toBe("203.0.113.5");
    expect(warnings.join()).toContain("is on no interface of this host");
    const { lines } = await bridge.status();
    expect(lines.find(({ name }) => name === "address")).toMatchObject({ ok: true });
    await expect(bridge.up({ ...bare, address })).rejects.toMatchObject({ code: "DB_ADDRESS_CHANGED" });
  });

  test("refuses a bridge whose time is over", async () => {
    await bridge.up(bare);
    bridge.host.advance(3 * 60 * 60_000);
    await expect(bridge.up(bare)).rejects.toMatchObject({ code: "DB_BRIDGE_ENDED" });
  });

  test("goes on in the last third of its time", async () => {
    await bridge.up(bare);
    bridge.host.advance(110 * 60_000);
    const { steps } = await bridge.up(bare);
    expect(steps.find(({ name }) => name === "certificates")?.detail).toContain("10 min left");
  });

  const refusals: [what: string, prepare: () => unknown, wishes: Partial<UpOptions>, code: string][] = [
    [
      "no address",
      () => {
        bridge.host.network = new FakeNetwork([]);
      },
      bare,
      "DB_ADDRESS_NOT_FOUND",
    ],
    ["a loopback address", () => undefined, { ...bare, address: "127.0.0.1" }, "DB_ADDRESS_REFUSED"],
    ["no kubeconfig", () => undefined, { ...bare, kubeconfig: "" }, "DB_FLAG_VALUE"],
    [
      "foreign files in its directories",
      () => bridge.host.put("/etc/drawbridge-bootstrap/mine", ""),
      bare,
      "DB_BRIDGE_EXISTS",
    ],
    ["no parent for its record", () => undefined, { ...bare, stateDirectory: "/none/drawbridge" }, "DB_BRIDGE_RECORD"],
  ];
  test.each(refusals)("refuses %s before anything is made", async (_, prepare, wishes, code) => {
    prepare();
    const before = bridge.host.tree();
    await expect(bridge.up(wishes)).rejects.toMatchObject({ code });
    expect(bridge.host.tree()).toEqual(before);
    expect(bridge.cluster.labelled).toEqual([]);
  });

  test("refuses a kubeconfig that cannot be used before anything is made", async () => {
    const before = bridge.host.tree();
    await expect(bridge.up({ ...bare, kubeconfig: "/broken" })).rejects.toThrow("the kubeconfig /broken is broken");
    expect(bridge.host.tree()).toEqual(before);
  });

  test("refuses an OpenShift host", async () => {
    bridge.host.put("/opt/openshift/x", "");
    await expect(bridge.up({ ...bare, for: undefined })).rejects.toThrow(/drawbridge bootstrap inject/);
  });

  test("refuses a namespace that is not a bridge's", async () => {
    bridge.cluster.put("/api/v1/namespaces/drawbridge-bootstrap", { metadata: { labels: { team: "a" } } });
    await expect(bridge.up(bare)).rejects.toMatchObject({
      code: "DB_BRIDGE_EXISTS",
      message: expect.stringContaining("does not carry the label openshift.io/bootstrap-only=true"),
    });
  });

  test("waits for the namespace of an earlier bridge to be gone, within its time", async () => {
    const namespace = "/api/v1/namespaces/drawbridge-bootstrap";
    const labels = { "openshift.io/bootstrap-only": "true" };
    bridge.cluster.put(namespace, { metadata: { labels, deletionTimestamp: "2031-01-01T00:00:00Z" } });
    await expect(bridge.up(bare)).rejects.toThrow(/still being removed/);
    let asked = 0;
    bridge.cluster.intercept = ({ path }) => {
      if (path === namespace && ++asked === 4) bridge.cluster.objects.delete(namespace);
      return false;
    };
    await bridge.up(bare);
    expect(bridge.cluster.labelled).toContain(namespace);
  });

  test("waits out an API server that is busy, and tells a refusal at once", async () => {
    let busy = 3;
    bridge.cluster.intercept = ({ method }, response) => {
      if (method !== "PATCH" || busy-- <= 0) return false;
      response.writeHead(503).end("{}");
      return true;
    };
    await bridge.up(bare);
    bridge.cluster.objects.delete("/api/v1/namespaces/drawbridge-bootstrap/secrets/konnectivity-agent-certs");
    bridge.cluster.intercept = ({ method }, response) => {
      if (method === "PATCH") response.writeHead(403).end('{"kind":"Status","message":"secrets is forbidden"}');
      return method === "PATCH";
    };
    await expect(bridge.up(bare)).rejects.toMatchObject({ code: "DB_OBJECT_REFUSED", message: /secrets is forbidden/ });
  });

  test("names the nodes whose agents do not connect", async () => {
    bridge.cluster.agentsConnect = false;
    await expect(bridge.up(bare)).rejects.toMatchObject({
      code: "DB_AGENTS_WAIT",
      message: "Not every agent is connected after 60 s: 0 of 2 ready nodes, without n1, n2.",
    });
  });

  test("does not wait for nodes that are not ready", async () => {
    bridge.cluster.agentsConnect = false;
    for (const node of ["n1", "n2"]) bridge.cluster.put(`/api/v1/nodes/${node}`, { status: { conditions: [] } });
    const { steps } = await bridge.up(bare);
    expect(steps.at(-1)).toMatchObject({ name: "connected", detail: "no node is ready for an agent yet" });
  });

  test("puts directories of its own choosing where it is told", async () => {
    await bridge.up({ ...bare, configDirectory: "/srv/a/drawbridge", runtimeDirectory: "/srv/b/drawbridge" });
    expect(bridge.host.tree().join("\n")).toMatch(/\/srv\/b\/drawbridge\/ 770/);
    const before = bridge.host.tree().length;
    expect(before).toBeGreaterThan(10);
    expect((await bridge.teardown()).exitCode).toBe(0);
    expect(bridge.host.tree().filter((line) => line.startsWith("/srv"))).toEqual([]);
  });

  test("keeps going with a record even if it was killed right after writing it", async () => {
    await expect(bridge.up(bare, new Fuse(5))).rejects.toThrow();
    await bridge.up(bare);
    expect((await bridge.status()).lines.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([
      ...["socket", "kube-apiserver"],
    ]);
  });
});
