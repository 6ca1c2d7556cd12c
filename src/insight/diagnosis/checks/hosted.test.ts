import { expect, test } from "vitest";
import { checkConfig } from "../../../cluster/hosted/config/config.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import type { Check, FactSource } from "../check.js";
import { runChecks } from "../run.js";
import type { HostedWorkload } from "../sources/hosted.js";
import { agents, apiServiceCalls, controlPlaneAgents, dataPlane, servers, webhookCalls } from "./hosted.js";

const publishing = { type: "NodePort", address: "192.0.2.7", port: 30_091 };
const config = checkConfig({ name: "demo", replicas: 3, publishing }, "the test");
const messagesOf = async (check: Check, source: FactSource) =>
  (await runChecks([check], source)).map(({ state, message }) => `${state}: ${message}`);

test("servers fails without the container, with other replicas than agents look for, and without a ready pod", async () => {
  const of = (replicas: number, readyReplicas: number, container = "konnectivity-server") => {
    const template = { spec: { containers: [{ name: container }] } };
    const deployment = { spec: { replicas, template }, status: { readyReplicas } } as HostedWorkload;
    return messagesOf(servers, { apiServerDeployment: () => deployment, hostedConfig: () => config });
  };
  expect(await of(3, 2)).toEqual(["ok: 2 of 3 pods are ready"]);
  expect(await of(3, 0)).toEqual(["failed: 0 of 3 pods are ready"]);
  expect(await of(2, 2)).toEqual(["failed: 2 of 2 pods are ready, but agents look for 3 servers"]);
  expect(await of(3, 3, "other")).toEqual([expect.stringMatching(/^failed: .* has no container konnectivity-server$/)]);
});

test("agents fails without its DaemonSet or a connected agent, and is skipped without nodes", async () => {
  const of = (status: HostedWorkload["status"] & object) =>
    messagesOf(agents, { agents: () => ({ workload: { status } as HostedWorkload }) });
  expect(await of({ numberReady: 1, desiredNumberScheduled: 2 })).toEqual([
    "ok: 1 of 2 nodes have one that is connected",
  ]);
  expect(await of({ desiredNumberScheduled: 2 })).toEqual(["failed: 0 of 2 nodes have one that is connected"]);
  expect(await of({})).toEqual(["skipped: 0 of 0 nodes have one that is connected"]);
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
