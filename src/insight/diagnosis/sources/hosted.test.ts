/** Item 17 of HyperShift's conformance list: every row of its table of conditions. */
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { checkConfig } from "../../../cluster/hosted/config/config.js";
import { createKubeApi } from "../../../cluster/kube/client.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import { ApiStub, reply, replyStatus } from "../../../cluster/kube/testing/api-stub.js";
import { controlPlaneConnection, dataPlaneConnection, infrastructureReady } from "./hosted.js";

type Answer = object | string | number;

let stub: ApiStub | undefined;
let api: KubeApi | undefined;
afterEach(async () => {
  api?.close();
  await stub?.close();
});

/** Paths with what is answered there: an object, a text, or a status that refuses. Anything else does not exist. */
async function cluster(answers: Readonly<Record<string, Answer>>): Promise<KubeApi> {
  stub = await ApiStub.start(({ path }, response) => {
    const answer = Object.entries(answers).find(([end]) => path.endsWith(end))?.[1] ?? 404;
    send(response, answer);
  });
  api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) });
  return api;
}

function send(response: ServerResponse, answer: Answer): void {
  if (typeof answer === "number") {
    replyStatus(response, answer, "Refused", `the stub says ${answer}`);
  } else if (typeof answer === "object") {
    reply(response, 200, answer);
  } else {
    response.writeHead(200, { "content-type": "text/plain" });
    response.end(answer);
  }
}

const node = (ready: string, unschedulable = false) => ({
  spec: unschedulable ? { unschedulable } : {},
  status: { conditions: [{ type: "Ready", status: ready }] },
});
const nodes = (...items: object[]) => ({ items });
const pods = (...phases: string[]) => ({
  items: phases.map((phase, index) => ({ metadata: { name: `agent-${index}` }, status: { phase } })),
});
const worker = { "/api/v1/nodes": nodes(node("True")) };

describe("17: DataPlaneConnectionAvailable", () => {
  test.each<[string, Record<string, Answer>, string, string]>([
    ["nodes cannot be listed", { "/api/v1/nodes": 403 }, "Unknown", "ReconcileError"],
    ["there is no node", { "/api/v1/nodes": nodes() }, "Unknown", "NoWorkerNodesAvailable"],
    ["no node is ready", { "/api/v1/nodes": nodes(node("False")) }, "Unknown", "NoWorkerNodesAvailable"],
    ["no node is schedulable", { "/api/v1/nodes": nodes(node("True", true)) }, "Unknown", "NoWorkerNodesAvailable"],
    ["pods cannot be listed", { ...worker, "/pods": 500 }, "False", "ReconciliationError"],
    ["there is no pod", { ...worker, "/pods": pods() }, "False", "KonnectivityAgentPodsNotFound"],
    ["no pod runs", { ...worker, "/pods": pods("Pending") }, "False", "KonnectivityAgentPodsNotFound"],
    ["no log can be read", { ...worker, "/pods": pods("Running"), "/log": 500 }, "False", "LogsAccessFailed"],
    ["logs are empty", { ...worker, "/pods": pods("Running"), "/log": "" }, "False", "LogsAccessFailed"],
    ["a log comes through", { ...worker, "/pods": pods("Running"), "/log": "I1116 up\n" }, "True", "AsExpected"],
  ])("DataPlaneConnectionAvailable when %s", async (_, answers, status, reason) => {
    expect(await dataPlaneConnection(await cluster(answers))).toMatchObject({
      type: "DataPlaneConnectionAvailable",
      status,
      reason,
    });
  });

  test("one readable log of several is enough, and pods that do not run are not asked", async () => {
    const found = pods("Running", "Pending", "Running");
    const hosted = await cluster({ ...worker, "/pods": found, "agent-2/log": "hello\n", "/log": 500 });
    expect(await dataPlaneConnection(hosted)).toMatchObject({ status: "True", message: "All is well" });
    expect(stub!.calls.filter((call) => call.endsWith("/log"))).toEqual([
      "GET /api/v1/namespaces/kube-system/pods/agent-0/log",
      "GET /api/v1/namespaces/kube-system/pods/agent-2/log",
    ]);
    expect(stub!.requests.find(({ path }) => path.endsWith("/pods"))?.query.get("labelSelector")).toBe(
      "app=konnectivity-agent",
    );
  });
});

describe("17: ControlPlaneConnectionAvailable", () => {
  const now = Date.parse("2030-01-01T12:00:00Z");
  const stamp = (lastSucceeded?: string) => ({ data: lastSucceeded === undefined ? {} : { lastSucceeded } });
  test.each<[string, Record<string, Answer>, string, string]>([
    ["there is no node", { "/api/v1/nodes": nodes() }, "Unknown", "NoWorkerNodesAvailable"],
    ["the checker has no ConfigMap", worker, "Unknown", "ConfigMapNotFound"],
    [
      "no worker has ever succeeded",
      { ...worker, "/control-plane-connectivity-check": stamp() },
      "False",
      "KASAccessFailed",
    ],
    [
      "the stamp is no time",
      { ...worker, "/control-plane-connectivity-check": stamp("soon") },
      "False",
      "KASAccessFailed",
    ],
    [
      "the stamp is six minutes old",
      { ...worker, "/control-plane-connectivity-check": stamp("2030-01-01T11:54:00Z") },
      "False",
      "ConnectionCheckStale",
    ],
    [
      "the stamp is four minutes old, in another time zone",
      { ...worker, "/control-plane-connectivity-check": stamp("2030-01-01T13:56:00+02:00") },
      "True",
      "AsExpected",
    ],
  ])("ControlPlaneConnectionAvailable when %s", async (_, answers, status, reason) => {
    expect(await controlPlaneConnection(await cluster(answers), now)).toMatchObject({
      type: "ControlPlaneConnectionAvailable",
      status,
      reason,
    });
  });
});

describe("17: InfrastructureReady", () => {
  const configOf = (publishing: object) => checkConfig({ name: "demo", publishing }, "the test");
  const [route, service] = ["/routes/konnectivity-server", "/services/konnectivity-server"];
  const nodePort = { type: "NodePort", address: "192.0.2.7", port: 30_091 };
  const balanced = (ingress: object[]) => ({ status: { loadBalancer: { ingress } } });
  test.each<[string, object, Record<string, Answer>, string, string, string]>([
    ["no Route yet", { type: "Route" }, {}, "False", "WaitingOnInfrastructureReady", "has no host yet"],
    ["a Route without host", { type: "Route" }, { [route]: { spec: {} } }, "False", "WaitingOnInfrastructureReady", ""],
    ["a Route", { type: "Route" }, { [route]: { spec: { host: "a.test" } } }, "True", "AsExpected", "a.test, port 443"],
    [
      "no node's port",
      nodePort,
      { [service]: { spec: { ports: [{}] } } },
      "False",
      "WaitingOnInfrastructureReady",
      "port",
    ],
    [
      "a node's port",
      nodePort,
      { [service]: { spec: { ports: [{ nodePort: 30_091 }] } } },
      "True",
      "AsExpected",
      "30091",
    ],
    ["no balancer", { type: "LoadBalancer" }, { [service]: {} }, "False", "WaitingOnInfrastructureReady", "host"],
    [
      "a balancer by name",
      { type: "LoadBalancer" },
      { [service]: balanced([{ hostname: "lb.test", ip: "192.0.2.1" }]) },
      "True",
      "AsExpected",
      "lb.test, port 8091",
    ],
    [
      "a balancer by address",
      { type: "LoadBalancer" },
      { [service]: balanced([{ ip: "192.0.2.1" }]) },
      "True",
      "AsExpected",
      "192.0.2.1",
    ],
    [
      "the Service may not be read",
      { type: "LoadBalancer" },
      { [service]: 403 },
      "Unknown",
      "InfraStatusFailure",
      "403",
    ],
  ])("InfrastructureReady when %s", async (_, publishing, answers, status, reason, message) => {
    const condition = await infrastructureReady(await cluster(answers), configOf(publishing));
    expect(condition).toMatchObject({ type: "InfrastructureReady", status, reason });
    expect(condition.message).toContain(message);
  });
});
