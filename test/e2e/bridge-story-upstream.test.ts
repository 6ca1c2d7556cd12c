/**
 * Upstream's Go server and agents in the same manifests, raised and taken away by the same commands. The tests are one
 * story: they run in order and build on each other.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BridgeByCommand } from "../support/lab/bridge/by-command.js";
import type { BridgeLab } from "../support/lab/bridge/lab.js";
import { FAILED, type ProductionState, Scene, WEBHOOK } from "../support/lab/bridge/scene.js";
import { component, equipped } from "../support/lab/equipment.js";
import { must, run } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { executable } from "../support/processes/executables.js";
import { ADMITTED } from "./bridge-on-host.js";

const ready = await equipped({ bridge: true, upstream: true });

test.skipIf(!ready).each(["ours", "theirs"] as const)(
  "S2: the server (%s) refuses a socket while its TCP port is open, which is why the manifests close it",
  async (origin) => {
    const { code, stderr } = await run([executable(origin, "proxy-server"), "--uds-name=/nowhere/k.sock"]);
    expect(stderr).toContain("server port should be set to 0 not 8090 for UDS");
    expect(code).toBe(1);
  },
);

describe.skipIf(!ready)("a bridge of upstream's programs", () => {
  let scene: Scene;
  let lab: BridgeLab;
  let bridge: BridgeByCommand;
  let untouched: ProductionState;

  const failsToAsk = async () => {
    const { code, stderr } = await scene.write();
    expect(stderr).toContain(FAILED);
    expect(code).not.toBe(0);
  };

  beforeAll(async () => {
    scene = await Scene.set({ nodes: 2, cni: true });
    lab = scene.lab;
    await scene.startWebhook();
    untouched = await scene.productionState();
    bridge = await BridgeByCommand.plan(lab, "upstream", [
      ...["--image-kind=upstream", `--agent-image=${await lab.importUpstreamImage()}`],
      `--server-program=${component("proxy-server")}`,
    ]);
  });
  afterAll(() => lab?.stop());

  test("S1, A1, K1: it comes up, and the webhook is called from an agent's pod", async () => {
    await until("the webhook to be in force", 20_000, async () => (await scene.write()).stderr.includes(FAILED));
    const outcome = await bridge.up();
    expect(outcome.code, outcome.stderr).toBe(0);
    expect((await must(["stat", "-c", "%A", bridge.socket])).trim()).toBe("srwxrwx---");
    expect((await bridge.health("/readyz")).status).toBe(200);
    expect(await bridge.readyBackends()).toBe(lab.nodes.length);
    const pods = await bridge.agentPods();
    for (const pod of pods) expect((await bridge.agentReadiness(pod)).status).toBe(200);
    const asked = await scene.askedFrom(async () => expect(await scene.write()).toMatchObject(ADMITTED));
    expect(asked).toHaveLength(1);
    expect(pods.map(({ status }) => status.podIP)).toContain(asked[0]);
    const image = "-ojsonpath={.items[*].spec.containers[*].image}";
    expect(await lab.kubectl("get", "pods", "-n", "drawbridge-bootstrap", image)).toMatch(/^(\S+upstream\S* ?){2}$/);
  });

  test("verify finds nothing wrong", async () => {
    const { code, stdout } = await bridge.verify(`--webhook=${WEBHOOK}`);
    expect(code, stdout).toBe(0);
  });

  test("K3, A2: a killed server is a failure to connect; `up` starts it again, and agents come back by themselves", async () => {
    const before = await scene.dialFailures("connect");
    const { pid } = lab.bs.apiServer.process;
    bridge.endServer("SIGKILL");
    await until("the server to be gone", 5_000, () => !bridge.serverRuns);
    await failsToAsk();
    // kube-apiserver's gRPC client tries for 30 s before it counts a failure.
    await until("the failure to be counted", 40_000, async () => (await scene.dialFailures("connect")) > before);
    const again = await bridge.up();
    expect(again.code, again.stderr).toBe(0);
    await bridge.agentsReconnected();
    expect(await scene.write()).toMatchObject(ADMITTED);
    expect(lab.bs.apiServer.process).toMatchObject({ pid, alive: true });
  });

  test("K2: without agents the call fails, and kube-apiserver counts it as the proxy's refusal", async () => {
    const before = await scene.dialFailures("proxy");
    await bridge.sendAgentsAway();
    await bridge.agentsConnected(0, 60_000);
    await failsToAsk();
    expect(await scene.dialFailures("proxy")).toBeGreaterThan(before);
  });

  test("T1: teardown leaves nothing", async () => {
    const { code, stdout, stderr } = await bridge.teardown("--output=json");
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ clean: true, nothingToDo: false, apiAnswered: true });
    expect(bridge.remains()).toEqual([]);
    await until("the namespace and its agents to be gone", 60_000, () => bridge.isNamespaceGone());
  });

  test("T3, T4: production still reaches the webhook directly and is untouched", async () => {
    expect(untouched).toMatchObject({ egressDials: 0, askedFrom: [scene.production.address] });
    expect(await scene.productionState()).toEqual(untouched);
  });
});
