import { afterEach, beforeEach, expect, test } from "vitest";
import { TestBridge } from "./testing/bridge.js";
import { kubeadmManifest, kubeadmManifestPath } from "./testing/kubeadm-manifest.js";

let bridge: TestBridge;
beforeEach(async () => {
  bridge = await TestBridge.prepare("kubeadm");
});
afterEach(() => bridge.close());

const wrong = async (): Promise<string[]> =>
  (await bridge.status()).lines.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);

async function bringUp(): Promise<void> {
  await bridge.up({ apply: true });
  await bridge.host.openSocket("/run/drawbridge-bootstrap/konnectivity-server.socket");
}

test("status shows every part of a bridge that is up, and changes nothing", async () => {
  await bringUp();
  const [tree, calls] = [bridge.host.tree(), bridge.cluster.stub.calls.length];
  bridge.host.advance(30 * 60_000);
  const status = await bridge.status();
  expect(status).toMatchObject({ ok: true, for: "kubeadm", address: "192.0.2.10", until: "2031-01-01T02:00:00.000Z" });
  expect(status.lines.map(({ name }) => name)).toEqual([
    ...["directories", "address", "certificates", "egress-config", "tmpfiles", "server", "socket", "port", "ready"],
    ...["agents", "kube-apiserver", "connected"],
  ]);
  expect(status.lines.find(({ name }) => name === "certificates")?.detail).toContain("1 h 30 min left");
  expect(status.nodes).toEqual([
    { node: "n1", isReady: true, isConnected: true },
    { node: "n2", isReady: true, isConnected: true },
  ]);
  expect(bridge.host.tree()).toEqual(tree);
  expect(bridge.cluster.stub.calls.slice(calls).filter((call) => !call.startsWith("GET "))).toEqual([]);
});

test("status shows how many agents each strategy of the server has, and nothing where the server does not say", async () => {
  await bringUp();
  const strategies = [{ name: "defaultRoute", agents: 2 }];
  const status = await bridge.status();
  expect(status.strategies).toEqual(strategies);
  expect(status.lines.find(({ name }) => name === "ready")?.detail).toBe("ok; agents by strategy: defaultRoute 2");
  const { host } = bridge;
  const ask = host.ask.bind(host);
  host.ask = async (url) => (url.endsWith("/metrics") ? { status: 200, body: "go_goroutines 7\n" } : ask(url));
  const upstream = await bridge.status();
  expect(upstream).not.toHaveProperty("strategies");
  expect(upstream.lines.find(({ name }) => name === "ready")?.detail).toBe("ok");
});

test("status names each part that is lost", async () => {
  await bringUp();
  await bridge.host.files.remove("/etc/kubernetes/manifests/konnectivity-server-pod.yaml");
  await bridge.host.files.remove("/run/drawbridge-bootstrap/konnectivity-server.socket");
  bridge.host.put(kubeadmManifestPath, kubeadmManifest);
  bridge.cluster.objects.delete("/api/v1/namespaces/drawbridge-bootstrap/pods/konnectivity-agent-n2");
  expect(await wrong()).toEqual([
    "server: /etc/kubernetes/manifests/konnectivity-server-pod.yaml is not there",
    "socket: /run/drawbridge-bootstrap/konnectivity-server.socket is not there",
    "port: nothing listens on TCP 8091",
    "ready: its health port does not answer",
    "kube-apiserver: the kube-apiserver here runs without the flag",
    "connected: 1 of 2 ready nodes, without n2",
  ]);
  expect((await bridge.status()).nodes?.[1]).toEqual({ node: "n2", isReady: true, isConnected: false });
});

test("status does not take another process' port for the server's", async () => {
  await bringUp();
  await bridge.host.files.remove("/etc/kubernetes/manifests/konnectivity-server-pod.yaml");
  bridge.host.listens = async () => true;
  expect(await wrong()).toContain(
    "port: TCP 8091 listens, but no server answers on its health port: it may be another process's, ss -ltnp shows whose",
  );
});

test("status says that certificates have ended, that files were changed and that something else is in the socket's place", async () => {
  await bringUp();
  bridge.host.advance(3 * 60 * 60_000);
  await bridge.host.files.remove("/run/drawbridge-bootstrap/konnectivity-server.socket");
  bridge.host.put("/run/drawbridge-bootstrap/konnectivity-server.socket", "");
  bridge.host.put("/etc/tmpfiles.d/drawbridge-bootstrap.conf", "other");
  expect(await wrong()).toEqual([
    "certificates: they ended 2031-01-01T02:00:00.000Z",
    "tmpfiles: /etc/tmpfiles.d/drawbridge-bootstrap.conf is not as it should be",
    "socket: there is something else in its place",
  ]);
});

test("status works while the API does not answer", async () => {
  await bringUp();
  bridge.cluster.intercept = (_, response) => {
    response.destroy();
    return true;
  };
  const status = await bridge.status();
  expect(status.nodes).toBeUndefined();
  expect(status.lines.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([
    "agents",
    "kube-apiserver",
    "connected",
  ]);
});

test("status accepts a server without an agent while no kube-apiserver uses it", async () => {
  await bridge.up();
  for (const node of ["n1", "n2"]) {
    bridge.cluster.put(`/api/v1/nodes/${node}`, { status: { conditions: [] } });
    bridge.cluster.objects.delete(`/api/v1/namespaces/drawbridge-bootstrap/pods/konnectivity-agent-${node}`);
  }
  const { lines } = await bridge.status();
  expect(lines.find(({ name }) => name === "ready")).toMatchObject({
    ok: true,
    isEarly: true,
    detail: "no agent yet, and none is needed while no kube-apiserver uses it; agents by strategy: defaultRoute 0",
  });
});

test("status says that there is no bridge", async () => {
  await expect(bridge.status()).rejects.toMatchObject({ code: "DB_BRIDGE_ABSENT" });
});

test.each([
  [
    "pending",
    /has not succeeded in 31 attempts since 2026-11-16T00:00:02Z and goes on \(last error: lookup api-int: no such host\)/,
  ],
  ["given-up", /gave up after 31 attempts since 2026-11-16T00:00:02Z/],
] as const)(
  "status of an injected bridge whose clean-up is %s says what is left and how it goes",
  async (state, words) => {
    const times = {
      since: "2026-11-16T00:00:02Z",
      until: "2026-11-17T00:00:00Z",
      lastAttemptAt: "2026-11-16T01:00:00Z",
    };
    const cleanup = { state, namespace: "openshift-bootstrap-konnectivity", attempts: 31, ...times };
    bridge.host.put(
      "/opt/openshift/konnectivity-cleanup.json",
      JSON.stringify({ ...cleanup, lastError: "lookup api-int: no such host" }),
    );
    const failure = await bridge.status().catch((reason: unknown) => reason as Error);
    expect(failure).toMatchObject({ code: "DB_BRIDGE_ABSENT" });
    expect(String(failure)).toMatch(words);
    expect(String(failure)).toContain("drawbridge bootstrap teardown --kubeconfig FILE removes them");
  },
);

test("status says nothing of a clean-up that has succeeded since", async () => {
  bridge.host.put("/opt/openshift/konnectivity-cleanup.json", JSON.stringify({ state: "removed", attempts: 31 }));
  await expect(bridge.status()).rejects.toThrow(/^No bridge is recorded in [^,]+\.$/);
});
