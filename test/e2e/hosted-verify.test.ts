/**
 * docs/hosted.md, played: from nothing to `kubectl logs` and an admission webhook through three servers, with the rendered
 * objects as real pods. One kube-apiserver plays both clusters; HAProxy plays the load balancer and, as the lab has no
 * kube-proxy, the Service konnectivity-server-local. The tests are one story: they run in order and build on each other.
 *
 *   bs  192.168.66.10   kube-apiserver, no route to any pod; 127.0.0.1:8090 is konnectivity-server-local
 *   n1  192.168.66.11   a real node with the servers' pods, agents and webhooks; :8091 is the load balancer
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Verdict } from "../../src/hosted/status/verify.js";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import type { WebhookPod } from "../support/lab/bridge/webhook-pod.js";
import { equipped, origin } from "../support/lab/equipment.js";
import * as objects from "../support/lab/objects.js";
import { LabProcess } from "../support/lab/process.js";
import { toolPath } from "../support/lab/tools.js";
import { until } from "../support/lab/wait.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../support/lab/webhook/aggregated.js";

const DRAWBRIDGE = fileURLToPath(new URL("../../dist/bin/drawbridge", import.meta.url));
const NAMESPACE = "clusters-demo";
const HOOK = "webhook:validate-in-pod/validate-in-pod.lab.drawbridge.test";
const API = `apiservice:${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;

// The servers' pods run what their image has; the lab's is ours whatever the programs under test are.
const ready = origin === "ours" && (await equipped({ bridge: true, balancer: true }));

describe.skipIf(!ready)("a hosted control plane with three servers", () => {
  let lab: BridgeLab;
  let config: string;
  let balancers: readonly LabProcess[];

  const hosted = (name: string, ...flags: string[]) =>
    lab.bs.run([DRAWBRIDGE, "hosted", name, `--config=${config}`, `--kubeconfig=${lab.bs.adminConfig}`, ...flags], {
      timeoutMs: 120_000,
    });
  const both = () => `--hosted-kubeconfig=${lab.bs.adminConfig}`;
  const verdict = async (name: "verify" | "status") => {
    const { code, stdout, stderr } = await hosted(name, both(), "--output=json");
    expect(stderr).toBe("");
    const found = JSON.parse(stdout) as Verdict;
    return { code, ...found, byId: Object.fromEntries(found.results.map((result) => [result.id, result])) };
  };
  const failed = ({ results }: Pick<Verdict, "results">) => results.filter(({ status }) => status === "fail");
  const reasonOf = ({ conditions }: Pick<Verdict, "conditions">, type: string) => {
    const found = conditions.find((condition) => condition.type === type);
    return `${found?.status}/${found?.reason}`;
  };

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 1 });
    config = lab.scope.file("hosted.json");
    const image = { server: lab.image, agent: lab.image, sidecar: lab.image };
    const publishing = { type: "LoadBalancer", address: lab.nodes[0]!.address };
    writeFileSync(config, JSON.stringify({ name: "demo", publishing, replicas: 3, image, connectionChecker: false }));
    await lab.kubectl("create", "namespace", NAMESPACE);
    await lab.apply(apiServerStandIn(lab.image));
  });
  afterAll(() => lab?.stop());

  test("the control plane's side: apply brings a server into each of three pods", async () => {
    expect(await hosted("apply", "--patch-kube-apiserver")).toMatchObject({ code: 0, stderr: "" });
    const out = lab.scope.file("rendered");
    expect(await hosted("render", `--out=${out}`)).toMatchObject({ code: 0, stderr: "" });
    await lab.kubectl("scale", "deployment", "kube-apiserver", "-n", NAMESPACE, "--replicas=3");
    await lab.kubectl("rollout", "status", "deployment/kube-apiserver", "-n", NAMESPACE, "--timeout=90s");
    balancers = await startBalancers(lab);
    await lab.bs.apiServer.start(writeEgress(lab, `${out}/control-plane`));
  });

  test("before the hosted cluster has agents, status says so and what does not work", async () => {
    const found = await verdict("status");
    expect(found.code).toBe(1);
    expect(failed(found).map(({ id }) => id)).toEqual(["agents", "data-plane-connection"]);
    expect(reasonOf(found, "DataPlaneConnectionAvailable")).toBe("False/KonnectivityAgentPodsNotFound");
    expect(reasonOf(found, "InfrastructureReady")).toBe("True/AsExpected");
    expect(found.byId.servers?.evidence).toBe("3 of 3 pods are ready");
    expect(found.stopsWorking).toContain("kubectl logs, exec, attach, port-forward and cp");
  });

  test("the hosted side: apply, agents connect to all three servers, and kubectl logs works", async () => {
    expect(await hosted("apply", both())).toMatchObject({ code: 0, stderr: "" });
    await lab.kubectl("rollout", "status", "daemonset/konnectivity-agent", "-n", "kube-system", "--timeout=90s");
    const pods = ["-n", "kube-system", "-l", "app=konnectivity-agent", "--tail=-1"];
    await until("a session with each server", 40_000, async () => {
      const log = await lab.kubectl("logs", ...pods);
      const ids = [...log.matchAll(/server_?id["=: ]*([0-9a-f-]{36})/gi)].map(([, id]) => id);
      return new Set(ids).size === 3;
    });
  });

  describe("with a webhook and an aggregated API in the hosted cluster", () => {
    let webhook: WebhookPod;
    beforeAll(async () => {
      webhook = await lab.startWebhook();
      await lab.apply(
        objects.validatingWebhook("validate-in-pod", "pod", objects.byService("/validate"), lab.plane.ca.cert),
        objects.aggregatedApi(lab.plane.ca.cert),
      );
    });

    test("verify passes everything, and the kube-apiserver really asked them", async () => {
      const before = (await webhook.requests("/validate")).length;
      const found = await verdict("verify");
      expect(failed(found)).toEqual([]);
      expect(found.code).toBe(0);
      expect(found.stopsWorking).toEqual([]);
      expect(found.byId[HOOK]).toMatchObject({ status: "pass", details: { answer: "allowed" } });
      expect(found.byId[API]).toMatchObject({ status: "pass" });
      expect((await webhook.requests("/validate")).length).toBe(before + 1);
      expect(reasonOf(found, "DataPlaneConnectionAvailable")).toBe("True/AsExpected");
      const left = await lab.kubectl("get", "mutatingwebhookconfigurations", "-oname");
      expect(left.trim()).toBe("");
    });

    test("an admission webhook judges real requests through the tunnel", async () => {
      const create = ["create", "-f", "-"];
      const made = await lab.bs.admin.try(create, JSON.stringify(objects.configMap("through", "pod")));
      expect(made).toMatchObject({ code: 0, stderr: "" });
    });

    test("17: the checker's stamp and the nodes decide about the other direction", async () => {
      expect(reasonOf(await verdict("status"), "ControlPlaneConnectionAvailable")).toBe("Unknown/ConfigMapNotFound");
      const stamp = async (lastSucceeded: string) => {
        const metadata = { name: "control-plane-connectivity-check", namespace: "kube-system" };
        await lab.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { lastSucceeded } });
        return reasonOf(await verdict("status"), "ControlPlaneConnectionAvailable");
      };
      expect(await stamp("never")).toBe("False/KASAccessFailed");
      expect(await stamp(new Date(Date.now() - 6 * 60_000).toISOString())).toBe("False/ConnectionCheckStale");
      // As the checker's pods do, which in this lab have no way to the kube-apiserver's Service.
      const once = ["hosted", "check-connection", "--once", `--kubeconfig=${lab.bs.adminConfig}`];
      expect(await lab.bs.run([DRAWBRIDGE, ...once])).toMatchObject({ code: 0, stderr: "" });
      expect(reasonOf(await verdict("status"), "ControlPlaneConnectionAvailable")).toBe("True/AsExpected");
      await lab.kubectl("cordon", "n1");
      const cordoned = await verdict("status");
      expect(reasonOf(cordoned, "ControlPlaneConnectionAvailable")).toBe("Unknown/NoWorkerNodesAvailable");
      expect(reasonOf(cordoned, "DataPlaneConnectionAvailable")).toBe("Unknown/NoWorkerNodesAvailable");
      await lab.kubectl("uncordon", "n1");
    });

    test("17: a tunnel that is cut is found by every call through it, and people are told what stops working", async () => {
      for (const balancer of balancers) await balancer.kill();
      const found = await verdict("verify");
      expect(found.code).toBe(1);
      expect(reasonOf(found, "DataPlaneConnectionAvailable")).toBe("False/LogsAccessFailed");
      expect(failed(found).map(({ id }) => id)).toEqual(expect.arrayContaining(["data-plane-connection", HOOK, API]));
      expect(found.stopsWorking).toEqual(
        expect.arrayContaining([
          "kubectl logs, exec, attach, port-forward and cp",
          "Webhook validate-in-pod.lab.drawbridge.test: requests it should judge are refused",
        ]),
      );
      const text = await hosted("status", both());
      expect(text.code).toBe(1);
      expect(text.stdout).toMatch(/FAIL {2}Pod logs come through the tunnel[\s\S]*What stops working:\n- kubectl logs/);
    });
  });
});

/** In the place of a control plane's own Deployment: what counts is what the patch makes of it. */
function apiServerStandIn(image: string): object {
  const labels = { app: "kube-apiserver" };
  const container = { name: "kube-apiserver", image, command: ["/usr/bin/node", "-e", "setInterval(() => {}, 1e9)"] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "kube-apiserver", namespace: NAMESPACE },
    spec: {
      // Until it is patched: the lab has no time for pods that are replaced at once.
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

/** The load balancer on the node, and on the control plane's host what kube-proxy would do. */
async function startBalancers(lab: BridgeLab): Promise<LabProcess[]> {
  const [node] = lab.nodes;
  const pods = await lab.kubectl(
    "get",
    "pods",
    "-n",
    NAMESPACE,
    "-l",
    "app=kube-apiserver",
    "-ojsonpath={.items[*].status.podIP}",
  );
  const addresses = pods.trim().split(/\s+/);
  expect(addresses).toHaveLength(3);
  const listen = (name: string, bind: string, targets: readonly string[]) =>
    [`listen ${name}`, `  bind ${bind}`, ...targets.map((target, index) => `  server s${index} ${target}`), ""].join(
      "\n",
    );
  const start = (name: string, netns: string, sections: readonly string[]) => {
    const file = lab.scope.file(`${name}.cfg`);
    const timeouts = ["connect 2s", "client 1h", "server 1h"].map((time) => `  timeout ${time}`);
    writeFileSync(file, ["defaults", "  mode tcp", "  balance roundrobin", ...timeouts, ...sections].join("\n"));
    const command: [string, ...string[]] = [toolPath("haproxy") ?? "haproxy", "-db", "-f", file];
    return LabProcess.start(lab.scope, { name, netns, command });
  };
  const first = start("balancer", node!.netns, [
    listen(
      "callers",
      `${node!.address}:8090`,
      addresses.map((address) => `${address}:8090`),
    ),
    listen(
      "agents",
      `${node!.address}:8091`,
      addresses.map((address) => `${address}:8091`),
    ),
  ]);
  const second = start("local", lab.bs.netns, [listen("callers", "127.0.0.1:8090", [`${node!.address}:8090`])]);
  return [first, second];
}

/** The rendered egress selector, with the Secrets where the lab's kube-apiserver can read them. */
function writeEgress(lab: BridgeLab, rendered: string): string {
  const text = (file: string) => readFileSync(`${rendered}/${file}`, "utf8");
  const root = lab.scope.file("certs");
  const put = (file: string, content: string | Buffer) => {
    mkdirSync(dirname(`${root}/${file}`), { recursive: true });
    writeFileSync(`${root}/${file}`, content, { mode: 0o600 });
  };
  const value = (manifest: string, key: string) =>
    new RegExp(`^  ${key.replace(".", "\\.")}: (.*)$`, "m").exec(manifest)?.[1] ?? "";
  const client = text("secret-konnectivity-client.yaml");
  for (const key of ["tls.crt", "tls.key"])
    put(`konnectivity-client/${key}`, Buffer.from(value(client, key), "base64"));
  put("konnectivity-ca/ca.crt", Buffer.from(value(client, "ca.crt"), "base64"));
  const config = text("configmap-kas-egress-selector-config.yaml").split("config.yaml: |\n")[1] ?? "";
  const file = lab.scope.file("egress.yaml");
  const inLab = config
    .replace(/^ {4}/gm, "")
    .replaceAll("/etc/kubernetes/certs", root)
    .replace("//konnectivity-server-local:", "//127.0.0.1:");
  writeFileSync(file, inLab);
  return file;
}
