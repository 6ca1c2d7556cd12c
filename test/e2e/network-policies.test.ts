/**
 * The NetworkPolicies that `drawbridge hosted apply` makes, enforced by kube-router on a real node: who reaches which port of
 * a kube-apiserver's pod. A web server on each of those ports stands for it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkConfig } from "../../src/cluster/hosted/config/config.js";
import { hostedModel } from "../../src/cluster/hosted/model/model.js";
import { networkPolicies } from "../../src/cluster/hosted/render/services.js";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import { equipped, origin } from "../support/lab/equipment.js";
import { GREETING, POD_IMAGE } from "../support/lab/node/image.js";
import { until } from "../support/lab/wait.js";
import { type Policies, startPolicies } from "../support/network-policies/policies.js";

const ready = origin === "ours" && (await equipped({ bridge: true, policies: true }));

const OWN = "clusters-demo";
const publishing = { type: "NodePort", address: "192.168.66.11", port: 30_091 };
const modelOf = (published: object) =>
  hostedModel(checkConfig({ name: "demo", publishing: published, controlPlaneNamespace: OWN }, "the test"), {
    version: "test",
  });
const model = modelOf(publishing);
const { frontend, agent, health } = model.ports;
const api = model.apiServerPorts[0]!.port;
const CLOSED = 9999;
const PORTS = [api, frontend, agent, health, CLOSED];

/** Who asks: a pod of the control plane, one of the management cluster's monitoring, its router, and any other. */
const CALLERS = { component: OWN, prometheus: "monitoring", router: "ingress", stranger: "other" } as const;
type Caller = keyof typeof CALLERS;

const namespace = (name: string, labels: object = {}) => ({
  ...{ apiVersion: "v1", kind: "Namespace" },
  metadata: { name, labels },
});

const pod = (namespaceName: string, name: string, script = "") => ({
  ...{ apiVersion: "v1", kind: "Pod" },
  metadata: { name, namespace: namespaceName, labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "main", image: POD_IMAGE, command: ["sh", "-c", `${script}\nexec sleep 86400`] }],
  },
});

describe.skipIf(!ready)("hosted apply's network policies, enforced", () => {
  let lab: BridgeLab;
  let policies: Policies;
  const addresses = new Map<string, string>();

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 1, services: true });
    const listening = pod(OWN, "kube-apiserver", PORTS.map((port) => `httpd -p ${port} -h /www`).join("\n"));
    const pods = [listening, ...Object.entries(CALLERS).map(([name, place]) => pod(place, name))];
    await lab.apply(
      namespace(OWN),
      ...["monitoring", "ingress"].map((group) => namespace(group, { "network.openshift.io/policy-group": group })),
      namespace("other"),
    );
    for (const { metadata } of pods) {
      const account = ["get", "serviceaccount/default", "-n", metadata.namespace];
      await until("a service account", 60_000, async () => (await lab.bs.admin.try(account)).code === 0);
    }
    await lab.apply(...pods, {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "konnectivity-server", namespace: OWN } },
      spec: {
        type: "NodePort",
        selector: { app: "kube-apiserver" },
        ports: [{ port: agent, nodePort: publishing.port }],
      },
    });
    for (const { metadata } of pods) {
      const { name, namespace: place } = metadata;
      await lab.kubectl("wait", "-n", place, "--for=condition=Ready", "--timeout=60s", `pod/${name}`);
      addresses.set(name, await lab.kubectl("get", "pod", "-n", place, name, "-ojsonpath={.status.podIP}"));
    }
    const { name, namespace: host } = lab.hosts.nodes[0]!;
    policies = await startPolicies(lab.scope, { kubeconfig: lab.bs.adminConfig, node: name, netns: host.name });
  });
  afterAll(() => lab?.stop());

  /** Ports of the kube-apiserver's pod that this pod reaches. */
  const open = async (caller: Caller): Promise<number[]> => {
    const ask = (port: number) =>
      `busybox nc -w 1 ${addresses.get("kube-apiserver")} ${port} </dev/null && echo ${port}`;
    const script = `(${PORTS.map(ask).join("; ")}; true) 2>/dev/null`;
    const answered = await lab.kubectl("exec", "-n", CALLERS[caller], caller, "--", "sh", "-c", script);
    return answered.split("\n").filter(Boolean).map(Number);
  };
  const opened = async () => ({
    component: await open("component"),
    prometheus: await open("prometheus"),
    router: await open("router"),
    stranger: await open("stranger"),
  });
  /** As an agent of another network does. */
  const fromOutside = async () => {
    const url = `http://${publishing.address}:${publishing.port}/`;
    return (await lab.bs.run(["curl", "-sS", "--max-time", "3", url])).stdout.trim();
  };

  test("without a policy every pod reaches every port", async () => {
    const everything = { component: PORTS, prometheus: PORTS, router: PORTS, stranger: PORTS };
    await expect.poll(opened, { timeout: 60_000 }).toEqual(everything);
    expect(await fromOutside()).toBe(GREETING);
    expect(await policies.refused()).toEqual([]);
  });

  test("with them only the control plane reaches the servers' frontend and only monitoring their health port", async () => {
    await lab.apply(...networkPolicies(model).map(({ manifest }) => manifest));
    await expect.poll(opened, { timeout: 60_000 }).toEqual({
      component: [api, frontend, agent],
      prometheus: [api, agent, health],
      router: [api, agent],
      stranger: [api, agent],
    });
    expect(await fromOutside()).toBe(GREETING);
    const [from, to] = [addresses.get("stranger"), addresses.get("kube-apiserver")];
    const refused = (await policies.refused()).filter((each) => each.from === from).map(({ port }) => port);
    expect(refused).toEqual(expect.arrayContaining([health, frontend, CLOSED]));
    expect(refused).not.toContain(api);
    expect((await policies.refused()).every((each) => each.to === to)).toBe(true);
  });

  test("without the rule for node ports agents of other networks and other namespaces are cut off", async () => {
    await lab.kubectl("delete", "networkpolicy", "-n", OWN, "nodeport-konnectivity-kas");
    await expect.poll(opened, { timeout: 60_000 }).toEqual({
      component: [api, frontend, agent],
      prometheus: [api, health],
      router: [api],
      stranger: [api],
    });
    expect(await fromOutside()).toBe("");
    expect(await policies.refused()).toContainEqual(expect.objectContaining({ from: lab.bs.address, port: agent }));
  });

  test("published by a Route, agents come by way of the router alone", async () => {
    const route = modelOf({ type: "Route", hostname: "konnectivity.example.test" });
    await lab.apply(...networkPolicies(route).map(({ manifest }) => manifest));
    await expect.poll(() => open("router"), { timeout: 60_000 }).toEqual([api, agent]);
    expect(await open("stranger")).toEqual([api]);
  });
});
