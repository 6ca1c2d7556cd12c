import { afterEach, beforeEach, expect, test } from "vitest";
import { ApiStub } from "../../../kube/testing/api-stub.js";
import { ClusterStub } from "../../rehearsal/testing/cluster-stub.js";
import { ask, bridgeOf } from "../testing/bridge.js";
import { agentPodsCheck, agentsCheck } from "./agents.js";
import { apiCheck } from "./cluster-api.js";

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
const check = () => ask(agentsCheck(bridgeOf({ health: server.url, address: "192.0.2.10" }), cluster.api));

beforeEach(async () => {
  server = await ApiStub.start((_, response) => void response.end(page));
  cluster = await ClusterStub.start({ "/api/v1/nodes": [node("n1"), node("n2")], [PODS]: [] });
});
afterEach(() => Promise.all([server.close(), cluster.close()]));

test("one agent for each node passes", async () => {
  connected("n1", "n2");
  expect(await check()).toMatchObject({ status: "pass", details: { agents: 2, nodes: 2, nodesWithout: [] } });
});

test("a Ready node without an agent is named, with what its pod says, and the port to open", async () => {
  connected("n2");
  const waiting = { phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff" } } }] };
  cluster.objects.set(PODS, [pod("n1", waiting), pod("n2", readyPod)]);
  const result = await check();
  expect(result).toMatchObject({ status: "fail", details: { nodesWithout: ["n1"] } });
  expect(result.evidence).toContain("n1 (agent-n1 is ImagePullBackOff)");
  expect(result.remedy).toContain("192.0.2.10:8091");
  expect(result.remedy).toContain("kubectl -n drawbridge-bootstrap get pods -l app=konnectivity-agent");
});

test("a node that is not Ready is said, and fails nothing while others have agents", async () => {
  cluster.objects.set("/api/v1/nodes", [node("n1"), node("n2", "False")]);
  connected("n1");
  expect(await check()).toMatchObject({
    status: "pass",
    evidence: expect.stringContaining("not Ready themselves: n2"),
  });
});

test("no agent at all fails, also without nodes or without an API to ask", async () => {
  connected();
  expect(await check()).toMatchObject({
    status: "fail",
    evidence: expect.stringContaining("n1 (no agent's pod there), n2"),
  });
  cluster.objects.set("/api/v1/nodes", []);
  expect(await check()).toMatchObject({ status: "fail" });
  expect(await ask(agentsCheck(bridgeOf({ health: server.url }), undefined))).toMatchObject({ status: "fail" });
});

test("a server that does not name its agents is compared by number, and pods tell whose is missing", async () => {
  page = `${PREFIX}ready_backend_connections 2\n`;
  expect(await check()).toMatchObject({ status: "pass" });
  page = `${PREFIX}ready_backend_connections 1\n`;
  cluster.objects.set(PODS, [pod("n1", readyPod), pod("n2", { phase: "Running", conditions: [] })]);
  expect(await check()).toMatchObject({
    status: "fail",
    evidence: expect.stringContaining("n2 (agent-n2 runs but is not connected)"),
    details: { nodesWithout: ["n2"] },
  });
});

test("agents with names of their own are counted as well", async () => {
  connected("proxy-agent-1", "proxy-agent-2");
  expect(await check()).toMatchObject({ status: "pass" });
});

test("without an API the agents still count", async () => {
  connected("n1");
  expect(await ask(agentsCheck(bridgeOf({ health: server.url }), undefined))).toMatchObject({
    status: "pass",
    evidence: expect.stringContaining("not compared"),
  });
});

test("a page of another program, or none, is a failure of its own", async () => {
  page = "hello";
  expect(await check()).toMatchObject({ status: "fail", evidence: expect.stringContaining("no proxy-server's") });
  const nobody = await ask(agentsCheck(bridgeOf(), cluster.api));
  expect(nobody).toMatchObject({ status: "fail", remedy: expect.stringContaining("--health") });
});

test("from a workstation, pods tell", async () => {
  cluster.objects.set(PODS, [pod("n1", readyPod)]);
  expect(await ask(agentPodsCheck(bridgeOf(), cluster.api))).toMatchObject({
    status: "fail",
    evidence: expect.stringContaining("without one: n2"),
  });
  cluster.objects.set(PODS, [pod("n1", readyPod), pod("n2", readyPod)]);
  expect(await ask(agentPodsCheck(bridgeOf(), cluster.api))).toMatchObject({ status: "pass" });
});

test("cluster-api: answers, does not, was not given, cannot be used", async () => {
  const access = { api: cluster.api, kubeconfig: "/x/kubeconfig" };
  cluster.objects.set("/version", { gitVersion: "v1.34.0" });
  expect(await ask(apiCheck(access))).toMatchObject({ status: "pass", evidence: expect.stringContaining("v1.34.0") });
  cluster.objects.delete("/version");
  expect(await ask(apiCheck(access))).toMatchObject({
    status: "fail",
    remedy: expect.stringContaining("--kubeconfig"),
  });
  expect(await ask(apiCheck({ api: undefined, trouble: undefined }))).toMatchObject({ status: "skip" });
  const broken = await ask(apiCheck({ api: undefined, trouble: "the kubeconfig is no YAML" }));
  expect(broken).toMatchObject({ status: "fail", evidence: "the kubeconfig is no YAML" });
});
