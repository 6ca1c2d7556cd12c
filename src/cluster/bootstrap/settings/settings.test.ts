/** What can be read of a host: processes, manifests, units, the egress configuration. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { ClusterStub } from "../../kube/testing/cluster-stub.js";
import { type BridgeModel, bridgeModel } from "../model/model.js";
import { serverPod } from "../render/objects.js";
import { serverUnitText } from "../render/render.js";
import { readEgress } from "./egress-config.js";
import {
  apiServerSettings,
  commandLine,
  hostProcesses,
  isApiServer,
  isProxyServer,
  serverSettings,
} from "./programs.js";

const folder = mkdtempSync(join(tmpdir(), "drawbridge-verify-host-"));
afterAll(() => rmSync(folder, { recursive: true }));
const never = new AbortController().signal;
const none = async () => [];

let count = 0;
function host(): { model: BridgeModel; at: (path: string, text: string) => void } {
  const root = join(folder, String(++count));
  const base = bridgeModel({ for: "openshift", manifestsDirectory: join(root, "manifests") });
  const bs = join(root, "bootstrap-configs");
  const paths = {
    ...base.paths,
    unit: join(root, "server.service"),
    socketDirectory: { ...base.paths.socketDirectory, host: bs },
  };
  mkdirSync(join(root, "manifests"), { recursive: true });
  mkdirSync(bs);
  return { model: { ...base, paths }, at: (path, text) => writeFileSync(join(root, path), text) };
}

describe("a command line", () => {
  test("flags in every spelling", () => {
    const { flags } = commandLine("x", ["prog", "--a=b=c", "--d", "e", "--on", "--last", "-v=2", "word"]);
    expect([...flags]).toEqual([
      ["a", "b=c"],
      ["d", "e"],
      ["on", "true"],
      ["last", "true"],
      ["v", "2"],
    ]);
  });

  test.each([
    [["/usr/bin/proxy-server", "--mode=grpc"], "server"],
    [["node", "/x/dist/bin/proxy-server", "--mode=grpc"], "server"],
    [["/usr/bin/drawbridge", "server"], "server"],
    [["node", "/usr/bin/drawbridge", "server"], "server"],
    [["server", "--x"], "neither"],
    [["/usr/bin/drawbridge", "agent"], "neither"],
    [["kube-apiserver", "--x"], "api"],
    [["hyperkube", "kube-apiserver", "--x"], "api"],
    [["grep", "-f", "kube-apiserver"], "neither"],
  ])("%j is %s", (words, what) => {
    expect(isProxyServer(words) ? "server" : isApiServer(words) ? "api" : "neither").toBe(what);
  });

  test("this very process is among those of the host", async () => {
    const all = await hostProcesses();
    expect(all.some((words) => words.includes(process.argv[1] ?? "") || words[0] === process.execPath)).toBe(true);
  });
});

describe("the server", () => {
  const words = (socket: string) => ["/usr/bin/proxy-server", `--uds-name=${socket}`, "--mode=http-connect"];

  test("is distinguished from others by its socket, and the running one wins over files", async () => {
    const { model } = host();
    writeFileSync(model.paths.staticPod, stringify(serverPod(model)));
    const running = async () => [["sleep", "1"], words("/other.sock"), words("/mine.sock")];
    const found = await serverSettings(model, ["/mine.sock"], false, running);
    expect(found?.source).toBe("the running proxy-server");
    expect(found?.flags.get("uds-name")).toBe("/mine.sock");
    expect((await serverSettings(model, ["/third.sock"], false, running))?.source).toBe(model.paths.staticPod);
  });

  test("is read from its manifest or its unit", async () => {
    const { model, at } = host();
    expect(await serverSettings(model, [], false, none)).toBeUndefined();
    at("server.service", serverUnitText(model));
    const unit = await serverSettings(model, [], false, none);
    expect(unit?.source).toBe(model.paths.unit);
    expect(unit?.flags.get("mode")).toBe("grpc");
    expect(unit?.flags.get("uds-name")).toBe(model.paths.socket.server);
    writeFileSync(model.paths.staticPod, stringify(serverPod(model)));
    expect((await serverSettings(model, [], false, none))?.source).toBe(model.paths.staticPod);
  });
});

describe("the kube-apiserver", () => {
  const flag = "egress-selector-config-file";

  test("is a process, and perhaps a manifest that says something else", async () => {
    const { model, at } = host();
    const pod = { spec: { containers: [{ command: ["kube-apiserver", `--${flag}=/new.yaml`] }] } };
    at("manifests/kube-apiserver.yaml", stringify(pod));
    const { running, manifest } = await apiServerSettings(
      model,
      async () => [["kube-apiserver", "--x=1"]],
      undefined,
      never,
    );
    expect(running?.flags.has(flag)).toBe(false);
    expect(manifest?.flags.get(flag)).toBe("/new.yaml");
  });

  test("of OpenShift takes its flags from a file, by its own name for it", async () => {
    const { model, at } = host();
    const config = { apiServerArguments: { [flag]: ["/in/container.yaml"], "enable-aggregator-routing": ["true"] } };
    at("bootstrap-configs/kube-apiserver-config.yaml", stringify(config));
    const words = [
      "hyperkube",
      "kube-apiserver",
      "--openshift-config=/etc/kubernetes/config/kube-apiserver-config.yaml",
    ];
    const { running } = await apiServerSettings(model, async () => [words], undefined, never);
    expect(running?.flags.get(flag)).toBe("/in/container.yaml");
    expect(running?.flags.get("enable-aggregator-routing")).toBe("true");
  });

  test("can be seen as a pod when nothing else shows it, and only when there is one", async () => {
    const { model } = host();
    const path = "/api/v1/namespaces/kube-system/pods";
    const pod = {
      metadata: { name: "kas" },
      spec: { containers: [{ command: ["kube-apiserver"], args: [`--${flag}=/x`] }] },
    };
    const cluster = await ClusterStub.start({ [path]: [pod] });
    const { running } = await apiServerSettings(model, none, cluster.api, never);
    expect(running).toMatchObject({ source: "pod kube-system/kas" });
    expect(running?.flags.get(flag)).toBe("/x");
    cluster.objects.set(path, [pod, pod]);
    expect((await apiServerSettings(model, none, cluster.api, never)).running).toBeUndefined();
    await cluster.close();
  });
});

describe("the egress configuration", () => {
  const base = { apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration" };
  const cluster = (connection: object) => ({ ...base, egressSelections: [{ name: "Cluster", connection }] });
  const uds = { uds: { udsName: "/run/x.sock" } };
  const read = (document: unknown) => {
    const path = join(folder, `egress-${++count}.yaml`);
    writeFileSync(path, typeof document === "string" ? document : stringify(document));
    return readEgress(path);
  };

  test("over a socket and over TCP", async () => {
    expect(await read(cluster({ proxyProtocol: "GRPC", transport: uds }))).toMatchObject({
      cluster: { protocol: "GRPC", uds: "/run/x.sock" },
    });
    const tlsConfig = { caBundle: "/ca", clientCert: "/cert", clientKey: "/key" };
    const tcp = { tcp: { url: "https://10.0.0.1:8090", tlsConfig } };
    expect(await read(cluster({ proxyProtocol: "HTTPConnect", transport: tcp }))).toMatchObject({
      cluster: { tcp: { url: "https://10.0.0.1:8090", caFile: "/ca", certFile: "/cert", keyFile: "/key" } },
    });
  });

  test.each([
    ["{{{", "no EgressSelectorConfiguration"],
    [{ ...base, apiVersion: "apiserver.k8s.io/v1" }, "v1beta1"],
    [{ ...base, egressSelections: [] }, "0 selections named cluster"],
    [cluster({ proxyProtocol: "Direct" }), "proxyProtocol Direct"],
    [cluster({ proxyProtocol: "GRPC" }), "one transport"],
    [cluster({ proxyProtocol: "GRPC", transport: { tcp: { url: "https://x" } } }), "over uds only"],
    [cluster({ proxyProtocol: "HTTPConnect", transport: { tcp: { url: "nowhere" } } }), "url nowhere is none"],
  ])("%j is not usable", async (document, why) => {
    expect(await read(document)).toMatchObject({ state: "unusable", why: expect.stringContaining(why) });
  });

  test("that is not there, or not a file", async () => {
    expect(await readEgress(join(folder, "none"))).toMatchObject({ state: "absent" });
    expect(await readEgress(folder)).toMatchObject({ state: "unusable" });
  });
});
