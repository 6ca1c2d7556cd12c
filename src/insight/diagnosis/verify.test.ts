/** Which checks bootstrap verify runs where, and how it finds a bridge on a host. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { ClusterStub } from "../../cluster/kube/testing/cluster-stub.js";
import { certificatesFor, writePki } from "../../tunnel/pki/write-pki.js";
import { type BridgeDescription, describeBridge } from "./sources/bridge.js";
import { verifyBridge } from "./verify.js";

const folder = mkdtempSync(join(tmpdir(), "drawbridge-verify-"));
afterAll(() => rmSync(folder, { recursive: true }));
const never = new AbortController().signal;
const none = async () => [];

const given: BridgeDescription = {
  ...{ topology: "bare", uds: "", frontend: undefined, protocol: undefined, health: "http://127.0.0.1:1", address: "" },
  ...{
    agentPort: 1,
    pki: join(folder, "none"),
    egressConfig: join(folder, "none.yaml"),
    namespace: "",
    resolve: undefined,
  },
};

describe("bootstrap verify checks", () => {
  let cluster: ClusterStub;
  beforeEach(async () => {
    cluster = await ClusterStub.start({
      "/version": { gitVersion: "v1.34.0" },
      "/api/v1/nodes": [],
      "/apis/apiregistration.k8s.io/v1/apiservices": [],
    });
  });
  afterEach(() => cluster.close());
  const ids = async (options: object) => {
    const access = { api: cluster.api, kubeconfig: "x" };
    const results = await verifyBridge(
      {
        bridge: given,
        access,
        rehearse: { webhooks: [], conversions: [] },
        testWebhook: undefined,
        processes: none,
        ...options,
      },
      never,
    );
    return results.map(({ check, state }) => `${check} ${state}`);
  };
  const host = ["health failed", "socket failed", "server-protocol failed", "server-reachable failed"];

  test("everything, the likeliest cause first", async () => {
    expect(await ids({})).toEqual([
      ...[
        ...host,
        "certificates failed",
        "egress-config failed",
        "api-server-flag skipped",
        "agents failed",
        "kubeconfig ok",
      ],
      ...["webhooks skipped", "conversions skipped", "apiservices skipped"],
    ]);
  });

  test("only the host without a cluster", async () => {
    const access = { api: undefined, problem: undefined };
    expect((await ids({ access })).slice(-2)).toEqual(["kubeconfig skipped", "webhooks skipped"]);
  });

  test("only the cluster from a workstation, and dials nothing", async () => {
    expect(await ids({ remote: { host: undefined } })).toEqual([
      "host skipped",
      "agents failed",
      "kubeconfig ok",
      "webhooks skipped",
    ]);
    const frontend = { host: "127.0.0.1", port: 1, tls: {} };
    expect((await ids({ remote: { host: undefined }, bridge: { ...given, frontend } })).at(-1)).toBe(
      "apiservices skipped",
    );
  });
});

describe("a bridge is found on a host", () => {
  const egress = (name: string, connection: object): string => {
    const path = join(folder, name);
    const document = { apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration" };
    writeFileSync(path, JSON.stringify({ ...document, egressSelections: [{ name: "cluster", connection }] }));
    return path;
  };
  const found = (differences: Partial<BridgeDescription>, processes = none as () => Promise<string[][]>) =>
    describeBridge({ ...given, ...differences }, processes, undefined, never);

  test("with the frontend of the egress configuration, under this host's name for it", async () => {
    const own = egress("own.json", { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: "/run/own.sock" } } });
    expect((await found({ egressConfig: own })).frontend).toEqual({ mode: "http-connect", uds: "/run/own.sock" });
    const inPod = "/etc/kubernetes/config/konnectivity-server.socket";
    const openshift = egress("openshift.json", { proxyProtocol: "GRPC", transport: { uds: { udsName: inPod } } });
    expect((await found({ topology: "openshift", egressConfig: openshift })).frontend).toEqual({
      mode: "grpc",
      uds: "/etc/kubernetes/bootstrap-configs/konnectivity-server.socket",
    });
    const tlsConfig = { caBundle: "/ca", clientCert: "/cert", clientKey: "/key" };
    const transport = { tcp: { url: "https://[2001:db8::1]:8090", tlsConfig } };
    const tcp = egress("tcp.json", { proxyProtocol: "HTTPConnect", transport });
    expect((await found({ egressConfig: tcp })).frontend).toEqual({
      ...{ mode: "http-connect", host: "2001:db8::1", port: 8090 },
      tls: { caFile: "/ca", certFile: "/cert", keyFile: "/key" },
    });
  });

  test("with flags before everything else", async () => {
    const own = egress("own2.json", { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: "/run/own.sock" } } });
    const bridge = await found({ egressConfig: own, uds: "/given.sock", protocol: "grpc", resolve: "endpoints" });
    expect(bridge).toMatchObject({ frontend: { mode: "grpc", uds: "/given.sock" }, resolve: "endpoints" });
  });

  test("with the ports, protocol and routing of the running processes", async () => {
    const bridge = await found({ health: "", agentPort: 0 }, async () => [
      ["proxy-server", "--mode=http-connect", "--health-port=3041", "--agent-port=9091"],
      ["kube-apiserver", "--enable-aggregator-routing=true"],
    ]);
    expect(bridge).toMatchObject({
      ...{ health: "http://127.0.0.1:3041", agentPort: 9091, resolve: "endpoints" },
      frontend: { mode: "http-connect", uds: "/run/drawbridge-bootstrap/konnectivity-server.socket" },
    });
    expect(await found({ health: "", agentPort: 0 })).toMatchObject({
      ...{ health: "http://127.0.0.1:2041", agentPort: 8091, resolve: "cluster-ip", address: undefined },
    });
    expect((await found({ topology: "openshift" })).resolve).toBe("endpoints");
  });

  test("with the directories and the address that `up` recorded", async () => {
    const recorded = bridgeModel({ for: "bare", serverAddresses: ["192.0.2.8"], configDirectory: "/x/drawbridge-etc" });
    const bridge = await found({ recorded, topology: undefined, pki: "", egressConfig: "" });
    expect(bridge).toMatchObject({ address: "192.0.2.8", pki: { directory: "/x/drawbridge-etc/pki", given: false } });
  });

  test("with the first address of the certificates where none is recorded", async () => {
    const pki = join(folder, "issued");
    await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.9", "2001:db8::9"] }, new Date()));
    expect((await found({ pki })).address).toBe("192.0.2.9");
  });
});
