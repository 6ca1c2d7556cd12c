/**
 * What a real kube-apiserver makes of connections that are cut under it: no webhook call and no call to a kubelet fails
 * that would not fail with a plain close.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, makeCluster } from "../support/lab/cluster.js";
import { equipped } from "../support/lab/equipment.js";
import { connectOverTcp, grpcOverUds } from "../support/lab/frontends.js";
import { metric } from "../support/lab/metrics.js";
import { startFirstNode, startPodOnFirstNode } from "../support/lab/node/first-node.js";
import * as objects from "../support/lab/objects.js";
import { LabProcess } from "../support/lab/process.js";
import { SERVER_METRIC } from "../support/lab/proxy-server.js";
import { address } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";
import { REFUSE_LABEL } from "../support/lab/webhook/admission.js";
import { Webhook } from "../support/lab/webhook-process.js";

const POD = "sleeper";
const ROUNDS = 6;

const ready = await equipped({ controlPlane: true, namespaces: true, node: true });

describe.skipIf(!ready)("a real kube-apiserver whose connections are cut", () => {
  let cluster: Cluster;
  let created = 0;
  let executed = 0;

  const backends = async () => metric(await cluster.server.metrics(), `${SERVER_METRIC}_ready_backend_connections`);
  const askWebhook = (labels = {}) => {
    created += 1;
    const object = objects.configMap(`cut-${created}`, "pod", labels);
    return cluster.admin.try(["create", "-f", "-"], JSON.stringify(object));
  };
  /** Kills the agents, one after the other, each while the other one serves. */
  const killInTurn = async (then: () => Promise<unknown>) => {
    for (let round = 0; round < ROUNDS; round++) {
      const agent = cluster.agents[round % 2]!;
      await agent.stop();
      await until("the server to notice", 30_000, async () => (await backends()) === 1);
      await then();
      await agent.start();
      await until("the agent to be back", 60_000, async () => (await backends()) === 2);
    }
  };

  beforeAll(async () => {
    cluster = await makeCluster({ admitServiceAccounts: true });
    const { scope, topology, admin, ca } = cluster;
    await cluster.connect(grpcOverUds);
    await Webhook.start(scope, objects.SERVICE, ca, address.wh, topology.wh);
    await startFirstNode(cluster);
    await admin.apply(objects.namespace);
    const validating = objects.validatingWebhook("validate-in-pod", "pod", objects.byService("/validate"), ca.cert);
    await admin.apply(objects.service, objects.endpoints, validating);
    await startPodOnFirstNode(cluster, POD, "echo awake; exec sleep 3600");
  });
  afterAll(() => cluster?.scope.close());

  describe.each([connectOverTcp, grpcOverUds])("through $title", (frontend) => {
    beforeAll(async () => {
      await cluster.connect(frontend);
      const isRefused = async () => (await askWebhook({ [REFUSE_LABEL]: "yes" })).stderr.includes("refused by the lab");
      await until("the webhook to be in force", 60_000, isRefused);
    });

    test("a webhook whose kept-alive connection was cut is asked by another at once", async () => {
      await killInTurn(async () => {
        const { code, stderr } = await askWebhook();
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      });
    });

    test("a kubelet whose kept-alive connection was cut answers at once", async () => {
      await killInTurn(async () => expect(await cluster.admin.run(["logs", "--tail=1", POD])).toBe("awake\n"));
    });

    test("a kubectl exec that is cut ends with 0: Kubernetes' SPDY takes every loss for an end", async () => {
      const { admin, scope, topology, agents } = cluster;
      const exec = LabProcess.start(scope, {
        name: `exec-${++executed}`,
        netns: topology.bs,
        command: admin.command(["exec", POD, "--", "sh", "-c", "echo started; sleep 120"]),
      });
      await until("the command to run", 30_000, () => exec.log().includes("started"));
      for (const agent of agents) await agent.stop();
      expect(await exec.ended()).toEqual({ code: 0 });
      for (const agent of agents) await agent.start();
      await until("both agents to be back", 60_000, async () => (await backends()) === 2);
    });
  });
});
