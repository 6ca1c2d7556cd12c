import { afterEach, beforeEach, expect, test } from "vitest";
import { ApiStub } from "../../../cluster/kube/testing/api-stub.js";
import { ClusterStub } from "../../../cluster/kube/testing/cluster-stub.js";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { runChecks } from "../run.js";
import { bridgeClusterSource, connectedAgents } from "../sources/bridge.js";
import { ask, bridgeOf } from "../testing/bridge.js";
import { agentsOnNodes, leftovers } from "./bridge.js";
import { apiAccess } from "./cluster.js";

const PREFIX = "konnectivity_network_proxy_server_";
const PODS = "/api/v1/namespaces/drawbridge-bootstrap/pods";

let page: string;
let server: ApiStub;
let cluster: ClusterStub;

const node = (name: string, status: "True" | "False" = "True") => ({
  metadata: { name },
  status: { conditions: [{ type: "Ready", status }] },
});
const pod = (nodeName: string, status: object) => ({
  metadata: { name: `agent-${nodeName}` },
  spec: { nodeName },
  status,
});
const readyPod = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const connected = (...ids: string[]) => {
  const named = ids.map((id) => `drawbridge_server_agent_tunnels{agent_id="${id}"} 0\n`);
  page = `${PREFIX}ready_backend_connections ${ids.length}\n${named.join("")}`;
};
const access = () => ({ api: cluster.api, kubeconfig: "/x/kubeconfig" });
const check = () => ask(agentsOnNodes, { health: server.url, address: "192.0.2.10" }, access());

beforeEach(async () => {
  server = await ApiStub.start((_, response) => void response.end(page));
  cluster = await ClusterStub.start({ "/version": {}, "/api/v1/nodes": [node("n1"), node("n2")], [PODS]: [] });
});
afterEach(() => Promise.all([server.close(), cluster.close()]));

test("one agent for each node passes", async () => {
  connected("n1", "n2");
  expect(await check()).toMatchObject({ state: "ok", details: { agents: 2, nodes: 2, nodesWithout: [] } });
});

test("a Ready node without an agent is named, with the state of its pod and the port to open", async () => {
  connected("n2");
  const waiting = { phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff" } } }] };
  cluster.objects.set(PODS, [pod("n1", waiting), pod("n2", readyPod)]);
  const result = await check();
  expect(result).toMatchObject({ state: "failed", details: { nodesWithout: ["n1"] } });
  expect(result.message).toContain("n1 (agent-n1 is ImagePullBackOff)");
  expect(result.remedy).toContain("192.0.2.10:8091");
  expect(result.remedy).toContain("kubectl -n drawbridge-bootstrap get pods -l app=konnectivity-agent");
});

test("a node that is not Ready is named, and is no failure while other nodes have agents", async () => {
  cluster.objects.set("/api/v1/nodes", [node("n1"), node("n2", "False")]);
  connected("n1");
  expect(await check()).toMatchObject({
    state: "ok",
    message: expect.stringContaining("not Ready themselves: n2"),
  });
});

test("a server without any agent fails, also without nodes or without an API to ask", async () => {
  connected();
  expect(await check()).toMatchObject({
    state: "failed",
    message: expect.stringContaining("n1 (no agent's pod there), n2"),
  });
  cluster.objects.set("/api/v1/nodes", []);
  expect(await check()).toMatchObject({ state: "failed" });
  expect(await ask(agentsOnNodes, { health: server.url })).toMatchObject({ state: "failed" });
});

test("a server that does not name its agents is compared by number, and pods show which agent is missing", async () => {
  page = `${PREFIX}ready_backend_connections 2\n`;
  expect(await check()).toMatchObject({ state: "ok" });
  page = `${PREFIX}ready_backend_connections 1\n`;
  cluster.objects.set(PODS, [pod("n1", readyPod), pod("n2", { phase: "Running", conditions: [] })]);
  expect(await check()).toMatchObject({
    state: "failed",
    message: expect.stringContaining("n2 (agent-n2 runs but is not connected)"),
    details: { nodesWithout: ["n2"] },
  });
});

test("agents with names of their own are counted as well", async () => {
  connected("proxy-agent-1", "proxy-agent-2");
  expect(await check()).toMatchObject({ state: "ok" });
});

test("agents are counted without an API, too", async () => {
  connected("n1");
  expect(await ask(agentsOnNodes, { health: server.url })).toMatchObject({
    state: "ok",
    message: expect.stringContaining("not compared"),
  });
});

test("a metrics page of another program, or none, fails and names --health", async () => {
  page = "hello";
  expect(await check()).toMatchObject({ state: "failed", message: expect.stringContaining("no proxy-server's") });
  const closed = await ask(agentsOnNodes, {}, access());
  expect(closed).toMatchObject({ state: "failed", remedy: expect.stringContaining("--health") });
});

test("agents are judged by their pods from a workstation", async () => {
  const found = () => runChecks([agentsOnNodes], bridgeClusterSource(bridgeOf(), access()));
  cluster.objects.set(PODS, [pod("n1", readyPod)]);
  expect(await found()).toMatchObject([{ state: "failed", message: expect.stringContaining("without one: n2") }]);
  cluster.objects.set(PODS, [pod("n1", readyPod), pod("n2", readyPod)]);
  expect(await found()).toMatchObject([{ state: "ok" }]);
});

test("the check kubeconfig distinguishes an API that answers, fails, is not given or cannot be opened", async () => {
  cluster.objects.set("/version", { gitVersion: "v1.34.0" });
  expect(await ask(apiAccess, {}, access())).toMatchObject({
    state: "ok",
    message: expect.stringContaining("v1.34.0"),
  });
  cluster.objects.delete("/version");
  expect(await ask(apiAccess, {}, access())).toMatchObject({
    state: "failed",
    remedy: expect.stringContaining("kubeconfig"),
  });
  expect(await ask(apiAccess)).toMatchObject({ state: "skipped" });
  const broken = await ask(apiAccess, {}, { api: undefined, problem: "the kubeconfig is no YAML" });
  expect(broken).toMatchObject({ state: "failed", message: "the kubeconfig is no YAML" });
});

test("our server names its agents on its metrics page, upstream's counts them, another program has none", () => {
  const ours = `${PREFIX}ready_backend_connections 2\ndrawbridge_server_agent_tunnels{agent_id="n1"} 0\n`;
  expect(connectedAgents(ours)).toEqual({ count: 2, ids: ["n1"] });
  expect(connectedAgents(`${PREFIX}ready_backend_connections 3\n`)).toEqual({ count: 3, ids: undefined });
  const newer = `${PREFIX}ready_backends{proxy_strategy="destHost"} 0\n${PREFIX}ready_backends{proxy_strategy="default"} 4\n`;
  expect(connectedAgents(newer)).toEqual({ count: 4, ids: undefined });
  expect(connectedAgents(`${PREFIX}ready_backend_connections 0\n`)).toEqual({ count: 0, ids: [] });
  expect(connectedAgents("process_cpu_seconds_total 1\n<html>")).toBeUndefined();
});

const NAMESPACE = "openshift-bootstrap-konnectivity";
const remains = (more: Readonly<Record<string, unknown>> = {}, metadata: object = {}) => {
  cluster.objects.set(`/api/v1/namespaces/${NAMESPACE}`, { metadata: { name: NAMESPACE, ...metadata } });
  for (const [path, object] of Object.entries(more)) cluster.objects.set(path, object);
};
const mark = (status: string) => ({ "/api/v1/namespaces/kube-system/configmaps/bootstrap": { data: { status } } });
const left = () => runChecks([leftovers], bridgeClusterSource(bridgeOf(), access()));
test("what a bridge left behind is named once the bootstrap is complete, with the command that removes it", async () => {
  expect(await left()).toEqual([]);
  remains(mark("complete"));
  expect(await left()).toMatchObject([
    {
      ...{ check: "leftovers", state: "failed", subject: NAMESPACE },
      message: `the namespace ${NAMESPACE} and what a bridge put there are left in the cluster, although the bootstrap is complete`,
      remedy: expect.stringContaining("drawbridge bootstrap teardown --kubeconfig FILE"),
    },
  ]);
});

test("a bridge at work, and one that is terminating, are no leftovers", async () => {
  remains({ [`/api/v1/namespaces/${NAMESPACE}/pods`]: [pod("n1", readyPod), pod("n2", {})] });
  expect(await left()).toEqual([]);
  remains(mark("complete"), { deletionTimestamp: "2026-11-16T00:00:00Z" });
  expect(await left()).toEqual([]);
});

test("agents that all lack their server may be left over", async () => {
  remains({ [`/api/v1/namespaces/${NAMESPACE}/pods`]: [pod("n1", {}), pod("n2", {})], ...mark("") });
  expect(await left()).toMatchObject([{ state: "warning", message: expect.stringContaining("none of the 2 agents") }]);
});

test("a bridge whose certificates have ended is left over", async () => {
  const { certificatePem } = await createAuthority({ commonName: "agent", now: new Date("2026-01-01T00:00:00Z") });
  const data = { "tls.crt": Buffer.from(certificatePem).toString("base64") };
  remains({ [`/api/v1/namespaces/${NAMESPACE}/secrets/konnectivity-agent-certs`]: { data } });
  expect(await left()).toMatchObject([
    { state: "failed", message: expect.stringMatching(/its certificates ended at 20[\d-]+T/) },
  ]);
});

test("without an API that answers nothing is said of leftovers: the check kubeconfig does", async () => {
  cluster.objects.delete("/version");
  remains(mark("complete"));
  expect(await left()).toEqual([]);
  expect(await runChecks([leftovers], bridgeClusterSource(bridgeOf(), { api: undefined, problem: "x" }))).toEqual([]);
});
