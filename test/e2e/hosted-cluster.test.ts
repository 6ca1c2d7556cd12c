/**
 * A hosted cluster for real: its etcd, three kube-apiservers, controller-manager and scheduler are pods of a management
 * cluster, its nodes are in another network that lets nobody in (test/support/hosted-cluster/cluster.ts), and the tunnel is
 * made by `drawbridge hosted apply` on a Deployment that its owner keeps with `kubectl apply`. One story, in order: what
 * operators do to it while callers go on (test/support/hosted-cluster/traffic/), with its network policies enforced.
 *
 * DRAWBRIDGE_HOSTED_CONTROL=1 adds what the same roll-out loses where no tunnel is needed, DRAWBRIDGE_HOSTED_WRITES=50 is
 * for a machine that carries more than two cores do.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HostedCluster } from "../support/hosted-cluster/cluster.js";
import { NAMESPACE } from "../support/hosted-cluster/objects.js";
import * as scenes from "../support/hosted-cluster/scenes.js";
import { failuresOf, type Report, reportText } from "../support/hosted-cluster/traffic/report.js";
import { Traffic } from "../support/hosted-cluster/traffic/traffic.js";
import { HOOK } from "../support/hosted-cluster/workloads.js";
import { equipped, origin } from "../support/lab/equipment.js";
import { configMap } from "../support/lab/objects.js";
import { until } from "../support/lab/wait.js";
import { REFUSE_LABEL } from "../support/lab/webhook/admission.js";
import { type Policies, startPolicies } from "../support/network-policies/policies.js";

// The pods run what their image has; the lab's is ours whatever the programs under test are.
const ready = origin === "ours" && (await equipped({ bridge: true, policies: true }));

/** What two cores carry beside two clusters. */
const WRITES_PER_SECOND = Number(process.env.DRAWBRIDGE_HOSTED_WRITES ?? 20);
/** What a balancer and clients need to notice that a pod is gone. */
const NOTICED_WITHIN_MS = 1_000;

describe.skipIf(!ready)("a hosted cluster whose control plane is pods", () => {
  let cluster: HostedCluster;
  let policies: Policies;
  let traffic: Traffic;
  let began = Date.now();
  const hosted = (...args: readonly string[]) => cluster.plane.admin.run(args);
  const create = (name: string, labels = {}) =>
    cluster.plane.admin.try(["create", "-f", "-"], JSON.stringify(configMap(name, HOOK, labels)));
  const say = (words: string) => {
    process.stdout.write(`${((Date.now() - began) / 1000).toFixed(0).padStart(4)} s  ${words}\n`);
  };

  /** What became of the calls that began while this was done. */
  async function during(name: string, change: () => Promise<void>): Promise<Report> {
    const [before, start] = [await scenes.apiServerPods(cluster), Date.now()];
    traffic.mark();
    await change();
    const after = await scenes.apiServerPods(cluster);
    const report = await traffic.count(before.filter((pod) => !after.includes(pod)));
    say(`${name}: ${((Date.now() - start) / 1000).toFixed(0)} s\n${reportText(report, start)}`);
    return report;
  }

  /** Enough calls since the mark to say that they are served. */
  async function served(): Promise<void> {
    await until("calls of each kind", 60_000, async () => {
      const { write, exec } = await traffic.count();
      return (write?.served ?? 0) > 100 && (exec?.served ?? 0) > 3;
    });
  }

  beforeAll(async () => {
    began = Date.now();
    cluster = await HostedCluster.start({ replicas: 3, workers: 2, tell: say });
    const { lab, node } = cluster;
    policies = await startPolicies(lab.scope, { kubeconfig: lab.bs.adminConfig, node: node.name, netns: node.netns });
    say("network policies are enforced");
  });
  afterAll(() => cluster?.stop());

  test("two clusters: neither knows the other's nodes, and the hosted one's kube-apiserver reaches no kubelet", async () => {
    expect(await hosted("get", "nodes", "-oname")).toBe("node/w1\nnode/w2\n");
    expect(await cluster.lab.kubectl("get", "nodes", "-oname")).toBe("node/n1\n");
    const kubelet = await cluster.plane.admin.try(["get", "--raw", "/api/v1/nodes/w1/proxy/healthz"]);
    expect(kubelet).toMatchObject({ code: 1, stderr: expect.stringContaining("192.168.77.11:10250") });
  });

  test("with servers and agents, kubectl logs and exec and the webhook work through the tunnel", async () => {
    const [applied] = await Promise.all([cluster.useTunnel(), cluster.startComponents()]);
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    say("all is rolled out");
    await cluster.workloadsReady();
    expect(await hosted("logs", "daemonset/talker")).toBe("good morning\n");
    expect(await hosted("exec", "daemonset/talker", "--", "echo", "good evening")).toBe("good evening\n");
    expect(await create("through")).toMatchObject({ code: 0, stderr: "" });
    expect((await create("not", { [REFUSE_LABEL]: "yes" })).stderr).toContain("refused by the lab's webhook");
    say("all answers");
  });

  describe("under traffic no call fails while", () => {
    beforeEach(() => scenes.settled(cluster));
    beforeAll(async () => {
      traffic = await Traffic.start(cluster, { writesPerSecond: WRITES_PER_SECOND });
      say(`traffic with ${WRITES_PER_SECOND} writes a second`);
    });

    test("the kube-apiserver gets another image", async () => {
      const image = await cluster.otherApiServerImage();
      const report = await during("kube-apiserver", async () => {
        await cluster.roll({ image });
        await cluster.rolledOut();
        await scenes.apiServersEnded(cluster);
      });
      expect(failuresOf(report)).toEqual([]);
    });

    test("agents of both sides get another image", async () => {
      const image = await cluster.otherImage();
      expect(failuresOf(await during("agents", () => scenes.rollAgents(cluster, image)))).toEqual([]);
    });

    test("sidecars get another image", async () => {
      const image = await cluster.otherImage();
      expect(failuresOf(await during("sidecars", () => scenes.rollSidecars(cluster, image)))).toEqual([]);
    });

    test("a worker is drained", async () => {
      expect(failuresOf(await during("drain", () => scenes.drain(cluster, "w2")))).toEqual([]);
    });

    test("all signers are replaced", async () => {
      expect(failuresOf(await during("signers", () => scenes.rotateSigners(cluster)))).toEqual([]);
    }, 300_000);
  });

  test("no call fails that begins a second after a kube-apiserver and its server were killed", async () => {
    await scenes.settled(cluster);
    let killedAt = 0;
    const report = await during("kill", async () => {
      killedAt = await scenes.killApiServer(cluster);
      await cluster.rolledOut();
    });
    expect(failuresOf(report).filter(({ at }) => at > killedAt + NOTICED_WITHIN_MS)).toEqual([]);
  });

  // A pod that has just begun may be refused: the policies' enforcer does not know its address yet.
  test("while no pod begins, the network policies refuse nothing", async () => {
    await scenes.settled(cluster);
    const before = await policies.refused();
    await during("policies", served);
    expect(await cluster.lab.kubectl("get", "networkpolicies", "-n", NAMESPACE, "-oname")).not.toBe("");
    expect(await policies.refused()).toEqual(before);
  });

  test("with the generic profile, whose kube-apiserver meets its server at a socket, calls are served as well", async () => {
    traffic.pause();
    await scenes.changeProfile(cluster, "generic");
    traffic.resume();
    await served();
    const services = await cluster.lab.kubectl("get", "services", "-n", NAMESPACE, "-oname");
    expect(services).toContain("service/konnectivity-server\n");
    expect(services).not.toContain("konnectivity-server-local");
    expect(await hosted("logs", "daemonset/talker")).toBe("good morning\n");
    const report = await during("generic", served);
    // This profile has no sidecars.
    expect(failuresOf(report).filter(({ kind }) => kind !== "socks5")).toEqual([]);
  });

  test.skipIf(process.env.DRAWBRIDGE_HOSTED_CONTROL !== "1")("control: a roll-out without any tunnel", async () => {
    traffic.pause();
    await cluster.openNetwork();
    await cluster.roll({ flags: [], replicas: 3 });
    await cluster.rolledOut();
    traffic.resume();
    await served();
    await during("control, without a tunnel", async () => {
      await cluster.roll({ image: await cluster.otherApiServerImage() });
      await cluster.rolledOut();
      await scenes.apiServersEnded(cluster);
    });
  });
});
