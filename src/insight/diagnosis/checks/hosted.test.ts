import { expect, test } from "vitest";
import { checkConfig } from "../../../cluster/hosted/config/config.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import type { Check, FactSource } from "../check.js";
import { runChecks } from "../run.js";
import { type HostedControlPlane, type HostedWorkload, hostedSource } from "../sources/hosted.js";
import {
  agents,
  apiServiceCalls,
  controlPlaneAgents,
  dataPlane,
  hostedStrategies,
  servers,
  webhookCalls,
} from "./hosted.js";

const publishing = { type: "NodePort", address: "192.0.2.7", port: 30_091 };
const config = checkConfig({ name: "demo", replicas: 3, publishing }, "the test");
const messagesOf = async (check: Check, source: FactSource) =>
  (await runChecks([check], source)).map(({ state, message }) => `${state}: ${message}`);

test("servers fails without the container, with other replicas than agents look for, and without a ready pod", async () => {
  const of = (
    replicas: number,
    readyReplicas: number,
    container = "konnectivity-server",
    initContainers?: object[],
  ) => {
    const template = { spec: { containers: [{ name: container }], initContainers } };
    const deployment = { spec: { replicas, template }, status: { readyReplicas } } as HostedWorkload;
    return messagesOf(servers, { apiServerDeployment: () => deployment, hostedConfig: () => config });
  };
  expect(await of(3, 2)).toEqual(["ok: 2 of 3 pods are ready"]);
  expect(await of(3, 0)).toEqual(["failed: 0 of 3 pods are ready"]);
  expect(await of(2, 2)).toEqual(["failed: 2 of 2 pods are ready, but agents look for 3 servers"]);
  expect(await of(3, 3, "other")).toEqual([expect.stringMatching(/^failed: .* has no container konnectivity-server$/)]);
  expect(await of(3, 3, "other", [{ name: "konnectivity-server" }])).toEqual(["ok: 3 of 3 pods are ready"]);
});

test("strategies has the agents of each strategy in every server's pod, and says which pod does not tell", async () => {
  const metrics: Readonly<Record<string, string>> = {
    one: 'drawbridge_server_strategy_agents{proxy_strategy="destHost"} 1\ndrawbridge_server_strategy_agents{proxy_strategy="defaultRoute"} 3\n',
    two: 'drawbridge_server_strategy_agents{proxy_strategy="destHost"} 1\ndrawbridge_server_strategy_agents{proxy_strategy="defaultRoute"} 0\n',
    three: "go_goroutines 7\n",
  };
  const pod = (name: string, container = "konnectivity-server") => ({
    metadata: { name },
    spec: { containers: [{ name: container }] },
    status: { phase: "Running" },
  });
  const names = ["one", "two", "three", "four"];
  const management = {
    list: async () => ({ items: [...names.map((name) => pod(name)), pod("five", "other")] }),
    text: async (path: string) => {
      const [, name = ""] = /\/namespaces\/clusters-demo\/pods\/(\w+)%3A2041\/proxy\/metrics$/.exec(path) ?? [];
      return metrics[name] ?? Promise.reject(new Error("pods is forbidden"));
    },
  } as unknown as KubeApi;
  const subject = {
    clusters: { management, hosted: undefined, close: async () => {} },
    config: checkConfig({ name: "demo", replicas: 3, publishing, controlPlaneNamespace: "clusters-demo" }, "the test"),
    version: "0",
  } as unknown as HostedControlPlane;
  const { serverStrategies } = hostedSource(subject);
  const findings = await runChecks([hostedStrategies], { serverStrategies: serverStrategies! });
  expect(findings.map(({ state, subject: name, message }) => `${state} ${name}: ${message}`)).toEqual([
    "ok one: agents by strategy: destHost 1, defaultRoute 3",
    expect.stringMatching(/^warning two: only destinations that an agent claims can be reached/),
    "skipped three: the server does not say how many agents each strategy has: it is not drawbridge's",
    "skipped four: its metrics cannot be read: pods is forbidden",
  ]);
  expect(findings[0]?.details).toEqual({
    strategies: [
      { name: "destHost", agents: 1 },
      { name: "defaultRoute", agents: 3 },
    ],
  });
});

test("agents fails without its DaemonSet or a connected agent, and is skipped without nodes", async () => {
  const of = (status: HostedWorkload["status"] & object) =>
    messagesOf(agents, { agents: () => ({ workload: { status } as HostedWorkload }) });
  expect(await of({ numberReady: 1, desiredNumberScheduled: 2 })).toEqual(["ok: 1 of 2 nodes have one that is ready"]);
  expect(await of({ desiredNumberScheduled: 2 })).toEqual(["failed: 0 of 2 nodes have one that is ready"]);
  expect(await of({})).toEqual(["skipped: 0 of 0 nodes have one that is ready"]);
  expect(await messagesOf(agents, { agents: () => ({ workload: undefined }) })).toEqual([
    "failed: their DaemonSet does not exist",
  ]);
  expect(await messagesOf(controlPlaneAgents, { controlPlaneAgents: () => ({ workload: undefined }) })).toEqual([
    "failed: their Deployment does not exist",
  ]);
});

test("a condition that is False fails, and one that is Unknown is skipped", async () => {
  const of = (status: "True" | "False" | "Unknown", reason: string) => {
    const type = "DataPlaneConnectionAvailable" as const;
    return messagesOf(dataPlane, { dataPlaneConnection: () => ({ type, status, reason, message: "so" }) });
  };
  expect(await of("True", "AsExpected")).toEqual(["ok: DataPlaneConnectionAvailable=True (AsExpected): so"]);
  expect(await of("False", "LogsAccessFailed")).toEqual([expect.stringMatching(/^failed: /)]);
  expect(await of("Unknown", "NoWorkerNodesAvailable")).toEqual([expect.stringMatching(/^skipped: /)]);
  expect(await of("Unknown", "ReconcileError")).toEqual([expect.stringMatching(/^failed: /)]);
});

test("webhooks with side effects are not called, and each aggregated API is called by its name", async () => {
  const get = (path: string) => (path === "/apis/a.test/v1" ? Promise.resolve({}) : Promise.reject(new Error("503")));
  const hostedApi = () => ({ get }) as unknown as KubeApi;
  const service = { name: "s", namespace: "n" };
  const webhook = {
    name: "w",
    clientConfig: { service },
    sideEffects: "Some",
    configuration: { name: "c" },
    field: "f",
  };
  expect(await messagesOf(webhookCalls, { hostedApi, webhooks: () => [webhook] })).toEqual([
    "skipped: it declares side effects (Some), so it is not called",
  ]);
  expect(await messagesOf(webhookCalls, { hostedApi, webhooks: () => [] })).toEqual([
    "skipped: there is none to be called",
  ]);
  const apiServices = () =>
    ["a.test", "b.test"].map((group) => ({
      metadata: { name: `v1.${group}` },
      spec: { group, version: "v1", service },
    }));
  const findings = await runChecks([apiServiceCalls], { hostedApi, apiServices });
  expect(findings.map(({ state, subject }) => [state, subject])).toEqual([
    ["ok", "v1.a.test"],
    ["failed", "v1.b.test"],
  ]);
});
