/**
 * One node whose pod network comes late, as on every cluster whose network plugin is installed through the API: agents in
 * the node's own network are there before it. Over HTTPConnect. The tests are one story: they run in order and build on
 * each other.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BridgeByCommand } from "../support/lab/bridge/by-command.js";
import type { BridgeLab } from "../support/lab/bridge/lab.js";
import { FAILED, Scene } from "../support/lab/bridge/scene.js";
import { equipped } from "../support/lab/equipment.js";
import { until } from "../support/lab/wait.js";
import { ADMITTED, programFlags } from "./bridge-on-host.js";

/** The node's own side of the bridge that its pods hang on. */
const FROM_THE_NODE = "10.128.1.1";

const ready = await equipped({ bridge: true });

describe.skipIf(!ready)("a bridge to a single node", () => {
  let scene: Scene;
  let lab: BridgeLab;
  let bridge: BridgeByCommand;

  beforeAll(async () => {
    scene = await Scene.set({ nodes: 1, cni: false });
    lab = scene.lab;
    const flags = ["--agent-network=host", "--protocol=http-connect"];
    bridge = await BridgeByCommand.plan(lab, "single", [...(await programFlags(lab)), ...flags]);
  });
  afterAll(() => lab?.stop());

  test("A3: a host-network agent connects while its node has no pod network and is NotReady", async () => {
    const { code, stderr } = await bridge.up();
    expect(code, stderr).toBe(0);
    await bridge.agentsConnected(1, 60_000);
    expect(await lab.nodes[0]!.isReady()).toBe(false);
    const why = '-ojsonpath={.status.conditions[?(@.type=="Ready")].message}';
    // Kubelets tell what they know every few seconds.
    await until("the node to say why", 60_000, async () => {
      return /cni plugin not initialized/i.test(await lab.kubectl("get", "node", "n1", why));
    });
    const [pod] = await until("the agent's address", 60_000, async () => {
      const pods = await bridge.agentPods();
      return pods[0]?.status.podIP !== undefined && pods;
    });
    expect(pod).toMatchObject({
      spec: { nodeName: "n1", hostNetwork: true },
      status: { podIP: lab.nodes[0]!.address },
    });
  });

  test("K1, K7: once the node has its pod network, a webhook there answers through the same agent, over HTTPConnect", async () => {
    const [before] = await bridge.agentPods();
    await lab.nodes[0]!.installCni();
    await scene.startWebhook();
    await until("the bootstrap kube-apiserver to ask it", 60_000, async () => {
      return (await scene.askedFrom(() => scene.write())).length > 0;
    });
    const dials = await bridge.dialsDone();
    const asked = await scene.askedFrom(async () => expect(await scene.write()).toMatchObject(ADMITTED));
    expect(asked).toEqual([FROM_THE_NODE]);
    expect(await bridge.dialsDone()).toBe(dials + 1);
    expect((await bridge.agentPods()).map(({ metadata }) => metadata.name)).toEqual([before!.metadata.name]);
    const labels = { protocol: "http_connect", transport: "uds" };
    expect(await scene.egressMetric("dial_start_total", labels)).toBeGreaterThan(0);
    // The kubelet reports an agent as ready at its next probe.
    await until("status to be content", 60_000, async () => (await bridge.status()).code === 0);
  });

  test("K3, A2: a killed server is a failure to connect; `up` starts it again, and the agent comes back by itself", async () => {
    const before = await scene.dialFailures("connect");
    bridge.endServer("SIGKILL");
    await until("the server to be gone", 30_000, () => !bridge.serverRuns);
    expect((await scene.write()).stderr).toContain(FAILED);
    expect(await scene.dialFailures("connect")).toBeGreaterThan(before);
    const again = await bridge.up();
    expect(again.code, again.stderr).toBe(0);
    await bridge.agentsReconnected();
    expect(await scene.write()).toMatchObject(ADMITTED);
  });

  test("T1: teardown leaves nothing", async () => {
    const { code, stdout, stderr } = await bridge.teardown("--output=json");
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ clean: true, nothingToDo: false, apiAnswered: true });
    expect(bridge.remains()).toEqual([]);
    await until("the namespace and its agent to be gone", 60_000, () => bridge.isNamespaceGone());
  });

  test("T3, T4: the production kube-apiserver on the same node never called through it, and reaches the webhook", async () => {
    const { commandLine, ...state } = await scene.productionState();
    expect(state).toMatchObject({ egressDials: 0, askedFrom: [FROM_THE_NODE] });
    expect(commandLine).not.toContain("egress");
  });
});
