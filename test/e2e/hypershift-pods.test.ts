/**
 * Our image under HyperShift's own pod specs, run by a real kubelet: what its operator writes for the tunnel's server, the
 * control plane's agent and the nodes' agents, with another `image:` and nothing else changed.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import { equipped, origin } from "../support/lab/equipment.js";
import { HostedPki } from "../support/lab/hosted-pki.js";
import { must, run } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { agentDaemonSet, agentDeployment, serverDeployment } from "./hypershift-pod-specs.js";

const NAMESPACE = "clusters-lab";
const SERVER = "app=kube-apiserver";

const ready = origin === "ours" && (await equipped({ bridge: true }));

describe.skipIf(!ready)("our image under HyperShift's pod specs", () => {
  let lab: BridgeLab;

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 1, services: true });
    const pki = await HostedPki.make(lab.scope, "pki", "192.0.2.10", ["--shared-signer"]);
    await lab.apply(
      { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        ...named("konnectivity-ca-bundle"),
        data: { "ca.crt": read(pki.serverCa) },
      },
      ...["konnectivity-server", "konnectivity-cluster", "konnectivity-agent"].map((name) => certificate(pki, name)),
      service("konnectivity-server", 8091),
    );
    await lab.apply(serverDeployment(NAMESPACE, lab.image), agentDeployment(NAMESPACE, lab.image));
  });
  afterAll(() => lab?.stop());

  const pods = (labels: string, path: string) =>
    lab.kubectl("get", "pods", "-n", NAMESPACE, "-l", labels, `-ojsonpath=${path}`);
  const rolledOut = (workload: string) => lab.kubectl("rollout", "status", workload, "-n", NAMESPACE, "--timeout=110s");

  test("server and control plane's agent become ready", async () => {
    await rolledOut("deployment/kube-apiserver");
    await rolledOut("deployment/konnectivity-agent");
  });

  test("the nodes' agents become ready, as a user that only the volume's mode lets read", async () => {
    const address = await pods(SERVER, "{.items[0].status.podIP}");
    // Its address is not in the certificate that HyperShift issues; the name of the Service is.
    const host = `konnectivity-server.${NAMESPACE}.svc`;
    const daemonSet = agentDaemonSet(NAMESPACE, lab.image, host, "8091") as { spec: { template: { spec: object } } };
    Object.assign(daemonSet.spec.template.spec, { hostAliases: [{ ip: address, hostnames: [host] }] });
    await lab.apply(daemonSet);
    await rolledOut("daemonset/konnectivity-agent-nodes");
  });

  test("the preStop hook keeps a server that is being deleted for its 70 seconds: agents stay, nothing fails", async () => {
    const [name, address] = (await pods(SERVER, "{.items[0].metadata.name} {.items[0].status.podIP}")).split(" ");
    await lab.kubectl("delete", "pod", "-n", NAMESPACE, name ?? "", "--wait=false");
    await until("the next server", 60_000, async () => {
      const found = await pods(SERVER, "{range .items[*]}{.metadata.name} {.status.containerStatuses[0].ready}\n{end}");
      return found.split("\n").some((line) => line.endsWith(" true") && !line.startsWith(name ?? ""));
    });
    // A hook that cannot be run is followed by SIGTERM and a word of the kubelet at once.
    await until("the hook to run", 30_000, async () => (await run(["pgrep", "-f", "/bin/sh -c sleep 70"])).code === 0);
    const health = ["curl", "-sS", "--max-time", "5", `http://${address}:2041/healthz`];
    expect(await must(health, { netns: lab.nodes[0]!.netns })).toBe("ok");
    const events = await lab.kubectl("get", "events", "-n", NAMESPACE, "-ojsonpath={.items[*].reason}");
    expect(events).toContain("Killing");
    expect(events).not.toContain("FailedPreStopHook");
    const log = await lab.kubectl("logs", "-n", NAMESPACE, name ?? "");
    expect(log).not.toMatch(/drain|signal/i);
    await lab.kubectl("delete", "pod", "-n", NAMESPACE, name ?? "", "--grace-period=0", "--force");
  });

  test("kubectl exec finds no shell, and a sentence that says so", async () => {
    const name = await pods(SERVER, "{.items[0].metadata.name}");
    const { code, stderr } = await lab.bs.admin.try(["exec", "-n", NAMESPACE, name, "--", "/bin/sh", "-c", "id"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("this image has no shell");
  });
});

const named = (name: string) => ({ metadata: { name, namespace: NAMESPACE } });
const read = (path: string) => readFileSync(path, "utf8");

const certificate = (pki: HostedPki, name: string): object => ({
  ...{ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", ...named(name) },
  stringData: { "tls.crt": read(pki.pair(name).cert), "tls.key": read(pki.pair(name).key) },
});

const service = (name: string, port: number): object => ({
  ...{ apiVersion: "v1", kind: "Service", ...named(name) },
  spec: { selector: { app: "kube-apiserver" }, ports: [{ port, targetPort: port }] },
});
