/**
 * A real kube-apiserver without a route into the pod network reaches webhooks and an aggregated API there, once for each
 * way it can talk to a proxy-server. The tests of one way are one story: they run in order and build on each other.
 */
import { statSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AGENT_SOURCES, allReady, type Cluster, makeCluster } from "../support/lab/cluster.js";
import { equipped } from "../support/lab/equipment.js";
import { connectOverTcp, connectOverUds, type Frontend, grpcOverUds } from "../support/lab/frontends.js";
import { hasMetric, metric } from "../support/lab/metrics.js";
import * as objects from "../support/lab/objects.js";
import { SERVER_METRIC } from "../support/lab/proxy-server.js";
import { type Outcome, run } from "../support/lab/run.js";
import { address } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";
import { MUTATED_ANNOTATION, REFUSE_LABEL } from "../support/lab/webhook/admission.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../support/lab/webhook/aggregated.js";
import { WEBHOOK_PORT, Webhook } from "../support/lab/webhook-process.js";

const READY_BACKENDS = `${SERVER_METRIC}_ready_backend_connections`;
/** Upstream's default --sync-interval-cap with its jitter, and some time for a machine that has other things to do. */
const RECONNECT_WITHIN_MS = 10_000 * 1.1 + 15_000;

const ready = await equipped({ controlPlane: true, namespaces: true });

describe.skipIf(!ready)("a real kube-apiserver", () => {
  let cluster: Cluster;
  /** In the pod network, behind the tunnel. */
  let webhook: Webhook;
  /** On the hosts' network, which the control plane reaches by itself. */
  let neighbour: Webhook;
  let created = 0;

  const create = (hook: string, labels = {}): Promise<Outcome> => {
    created += 1;
    const object = objects.configMap(`made-${created}`, hook, labels);
    return cluster.admin.try(["create", "-f", "-"], JSON.stringify(object));
  };
  const isAdmitted = async (hook: string) => {
    const { code, stderr } = await create(hook);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  };
  /** By the webhook's own words: a call that fails is no answer of its. */
  const isRefused = async (hook: string) =>
    (await create(hook, refuse)).stderr.includes("refused by the lab's webhook");
  const failsToAsk = async (hook: string) => {
    const { code, stderr } = await create(hook);
    expect(stderr).toContain("failed calling webhook");
    expect(code).not.toBe(0);
  };
  const dialFailures = async (frontend: Frontend, stage: "connect" | "proxy") => {
    const labels = { protocol: frontend.protocol, transport: frontend.transport, stage };
    return metric(await cluster.admin.raw("/metrics"), "apiserver_egress_dialer_dial_failure_count", labels);
  };
  const readyBackends = async () => metric(await cluster.server.metrics(), READY_BACKENDS);
  const dialsDone = async () => metric(await cluster.server.metrics(), `${SERVER_METRIC}_dial_duration_seconds_count`);

  beforeAll(async () => {
    cluster = await makeCluster();
    const { scope, topology, ca } = cluster;
    webhook = await Webhook.start(scope, objects.SERVICE, ca, address.wh, topology.wh);
    neighbour = await Webhook.start(scope, "neighbour", ca, address.infra, topology.infra);
  });
  afterAll(() => cluster?.scope.close());

  describe.each([grpcOverUds, connectOverUds, connectOverTcp])("through $title", (frontend) => {
    test("S1: the server stands ready for agents, and says whether it has any", async () => {
      const { server, agents, topology } = cluster;
      for (const agent of agents) await agent.stop();
      await server.start(frontend);
      if (frontend.transport === "uds") {
        const { mode } = statSync(server.frontend.socket);
        expect((mode & 0o777).toString(8)).toBe("770");
      }
      const sockets = (await run(["ss", "-Hltn"], { netns: topology.bs })).stdout;
      expect(sockets).toContain(`:${server.ports.agents} `);
      expect(sockets.includes(`:${server.ports.frontend} `)).toBe(frontend.transport === "tcp");
      expect(await server.health("/healthz")).toEqual({ status: 200, body: "ok" });
      expect((await server.health("/readyz")).status).toBe(500);
      await agents[0].start();
      await until("the server to be ready", 30_000, async () => (await server.health("/readyz")).status === 200);
    });

    test("A1: one agent per node is connected", async () => {
      await cluster.connect(frontend);
      await until("two backends", 30_000, async () => (await readyBackends()) === 2);
      expect(await allReady(cluster.agents)).toBe(true);
    });

    test("N1: without the tunnel the control plane cannot reach the webhook", async () => {
      const url = `https://${address.wh}:${WEBHOOK_PORT}/`;
      const { code, stderr } = await run(["curl", "-skS", "--max-time", "5", url], { netns: cluster.topology.bs });
      expect(stderr).toMatch(/No route to host|Network is unreachable|Failed to connect/);
      expect(code).toBe(7);
      expect(webhook.requests("/")).toEqual([]);
    });

    test("K1: a validating webhook in the pod network is asked, from an agent's address", async () => {
      await applyWebhooks(cluster);
      await until("the webhook to be in force", 60_000, () => isRefused("pod"));
      const before = webhook.requests("/validate").length;
      for (let i = 0; i < 5; i++) await isAdmitted("pod");
      const refused = await create("pod", refuse);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain("refused by the lab's webhook");
      const sources = webhook.requests("/validate").slice(before);
      expect(sources).toHaveLength(6);
      for (const { from } of sources) expect(AGENT_SOURCES).toContain(from);
    });

    test("K6: a webhook by URL is called directly, past the tunnel", async () => {
      await until("the URL webhook to be in force", 60_000, () => isRefused("url"));
      const [dials, asked] = [await dialsDone(), neighbour.requests("/validate").length];
      expect(hasMetric(await cluster.server.metrics(), `${SERVER_METRIC}_dial_duration_seconds_count`)).toBe(true);
      await isAdmitted("url");
      expect(neighbour.requests("/validate").slice(asked)).toEqual([{ path: "/validate", from: address.bs }]);
      expect(await dialsDone()).toBe(dials);
    });

    test("K4: mutating webhook, conversion webhook and aggregated API are reachable", async () => {
      await mutatingWebhookWorks(cluster);
      await conversionWorks(cluster);
      await aggregatedApiWorks(cluster);
      for (const { from } of webhook.requests()) expect(AGENT_SOURCES).toContain(from);
    });

    test("K2: without agents the call fails, and kube-apiserver counts it as the proxy's refusal", async () => {
      const before = await dialFailures(frontend, "proxy");
      for (const agent of cluster.agents) await agent.stop();
      await until("the server to notice", 30_000, async () => (await readyBackends()) === 0);
      await failsToAsk("pod");
      expect(await dialFailures(frontend, "proxy")).toBeGreaterThan(before);
      await Promise.all(cluster.agents.map((agent) => agent.start()));
      await until("both agents to be back", 30_000, async () => (await readyBackends()) === 2);
      await isAdmitted("pod");
    });

    test("K3, A2: a stopped server is a failure to connect; agents and kube-apiserver come back by themselves", async () => {
      const before = await dialFailures(frontend, "connect");
      await cluster.server.stop();
      await failsToAsk("pod");
      await until("the failure to be counted", 40_000, async () => (await dialFailures(frontend, "connect")) > before);
      await until("the agents to notice", 20_000, async () => !(await anyReady(cluster)));
      const { pid } = cluster.apiServer.process;
      await cluster.server.start(frontend);
      await until("both agents to be back", RECONNECT_WITHIN_MS, async () => (await readyBackends()) === 2);
      await until("both to know that they are", 30_000, () => allReady(cluster.agents));
      await isAdmitted("pod");
      expect(cluster.apiServer.process.alive).toBe(true);
      expect(cluster.apiServer.process.pid).toBe(pid);
    });

    test("K7: a server in the other mode fails visibly and in bounded time, and the right one heals it", async () => {
      const wrong: Frontend = { ...frontend, mode: frontend.mode === "grpc" ? "http-connect" : "grpc" };
      await cluster.server.start(wrong);
      await until("both agents to be back", RECONNECT_WITHIN_MS, async () => (await readyBackends()) === 2);
      const began = performance.now();
      await failsToAsk("pod");
      expect(performance.now() - began).toBeLessThan(15_000);
      await cluster.server.start(frontend);
      await until("both agents to be back", RECONNECT_WITHIN_MS, async () => (await readyBackends()) === 2);
      await isAdmitted("pod");
    });
  });
});

const refuse = { [REFUSE_LABEL]: "yes" };

async function anyReady({ agents }: Cluster): Promise<boolean> {
  return (await Promise.all(agents.map((agent) => agent.isReady()))).some(Boolean);
}

async function applyWebhooks({ admin, ca }: Cluster): Promise<void> {
  await admin.apply(objects.namespace);
  await admin.apply(
    objects.service,
    objects.endpoints,
    objects.validatingWebhook("validate-in-pod", "pod", objects.byService("/validate"), ca.cert),
    objects.validatingWebhook("validate-by-url", "url", { url: urlOf(address.infra, "/validate") }, ca.cert),
    objects.mutatingWebhook("mutate-in-pod", "mutate", objects.byService("/mutate"), ca.cert),
  );
}

const urlOf = (host: string, path: string) => `https://${host}:${WEBHOOK_PORT}${path}`;

async function mutatingWebhookWorks({ admin }: Cluster): Promise<void> {
  const object = objects.configMap("mutated", "mutate");
  await admin.run(["replace", "--force", "--grace-period=0", "-f", "-"], JSON.stringify(object));
  const { metadata } = await admin.json<{ metadata: { annotations?: Record<string, string> } }>([
    ...["get", "configmap", "mutated", "-n", objects.NAMESPACE],
  ]);
  expect(metadata.annotations?.[MUTATED_ANNOTATION]).toBe("yes");
}

async function conversionWorks({ admin, ca }: Cluster): Promise<void> {
  await admin.apply(objects.drawings(ca.cert));
  const name = `drawings.${objects.CRD_GROUP}`;
  await admin.run(["wait", "--for=condition=Established", "--timeout=30s", `crd/${name}`]);
  const [metadata, spec] = [{ name: "plan", namespace: objects.NAMESPACE }, { width: 7 }];
  await admin.apply({ apiVersion: `${objects.CRD_GROUP}/v1`, kind: "Drawing", metadata, spec });
  const path = `/apis/${objects.CRD_GROUP}/v2/namespaces/${objects.NAMESPACE}/drawings/plan`;
  const converted = JSON.parse(await admin.raw(path));
  expect(converted).toMatchObject({ apiVersion: `${objects.CRD_GROUP}/v2`, spec: { size: { width: 7 } } });
  await admin.run(["delete", "crd", name]);
}

async function aggregatedApiWorks({ admin, ca }: Cluster): Promise<void> {
  const name = `${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;
  await admin.apply(objects.aggregatedApi(ca.cert));
  await admin.run(["wait", "--for=condition=Available", "--timeout=60s", `apiservice/${name}`]);
  const gauge = JSON.parse(await admin.raw(`/apis/${AGGREGATED_GROUP}/${AGGREGATED_VERSION}/gauges/first`));
  expect(gauge).toMatchObject({ kind: "Gauge", metadata: { name: "first" }, seen: { user: "admin" } });
  expect(AGENT_SOURCES).toContain(gauge.seen.from);
  // The kube-apiserver asks for it again and again: gone, so that later counts are of the test's own calls.
  await admin.run(["delete", "apiservice", name]);
}
