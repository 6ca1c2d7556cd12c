/**
 * docs/hosted.md, played: from nothing to `kubectl logs`, an admission webhook and aggregated APIs through three servers,
 * and back to nothing, with everything that `drawbridge hosted apply` makes as real pods from our own image. One cluster
 * plays both sides (test/support/hosted/lab.ts). The tests are one story: they run in order and build on each other.
 *
 *   bs      192.168.66.10        the hosted kube-apiserver, no route to any pod; its 127.0.0.1:8090 leads to all servers
 *   n1, n2  192.168.66.11, .12   real nodes with servers', agents', checkers' and webhooks' pods; n1:8091 is the load balancer
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostedReport } from "../../src/cluster/hosted/apply/apply.js";

import type { Component } from "../support/hosted/component.js";
import { type AgentPod, type Asked, HostedLab, NAMESPACE, PLANE_API } from "../support/hosted/lab.js";
import { remainsOf } from "../support/hosted/remains.js";
import type { BridgeLab } from "../support/lab/bridge/lab.js";
import type { WebhookPod } from "../support/lab/bridge/webhook-pod.js";
import { equipped, origin } from "../support/lab/equipment.js";
import { metric } from "../support/lab/metrics.js";
import * as objects from "../support/lab/objects.js";
import { AGENT_METRIC } from "../support/lab/proxy-agent.js";
import { until } from "../support/lab/wait.js";
import { REFUSE_LABEL } from "../support/lab/webhook/admission.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../support/lab/webhook/aggregated.js";

const HOOK = "webhook:validate-in-pod/validate-in-pod.lab.drawbridge.test";
const API = `apiservice:${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;
const PLANE = `${PLANE_API.version}.${PLANE_API.group}`;

// The servers' pods run what their image has; the lab's is ours whatever the programs under test are.
const ready = origin === "ours" && (await equipped({ bridge: true, balancer: true }));

describe.skipIf(!ready)("a hosted control plane with three servers", () => {
  let hosted: HostedLab;
  let lab: BridgeLab;

  const failed = ({ findings }: Pick<Asked, "findings">) => findings.filter(({ state }) => state === "failed");
  const reasonOf = ({ conditions }: Pick<Asked, "conditions">, type: string) => {
    const found = conditions.find((condition) => condition.type === type);
    return `${found?.status}/${found?.reason}`;
  };
  const otherDirection = async () => reasonOf(await hosted.verdict("status"), "ControlPlaneConnectionAvailable");
  const stamped = () => until("a checker's stamp", 90_000, async () => (await otherDirection()) === "True/AsExpected");
  const rolledOut = (namespace: string, workload: string) =>
    lab.kubectl("rollout", "status", workload, "-n", namespace, "--timeout=110s");
  const sumOf = async (agents: readonly AgentPod[], name: string) => {
    const texts = await Promise.all(agents.map((agent) => agent.metrics()));
    return texts.reduce((sum, text) => sum + metric(text, `${AGENT_METRIC}_${name}`), 0);
  };
  const withAllServers = async (side: "hosted" | "control-plane", count: number) => {
    const agents = await hosted.agents(side);
    expect(agents).toHaveLength(count);
    await until(`each ${side} agent to be with three servers`, 100_000, async () => {
      return (await sumOf(agents, "open_server_connections")) === 3 * count;
    });
    return agents;
  };

  beforeAll(async () => {
    hosted = await HostedLab.start();
    lab = hosted.lab;
  });
  afterAll(() => hosted?.stop());

  test("the control plane's side: apply brings a server into each of three pods", async () => {
    expect(await hosted.run("apply", "--patch-kube-apiserver")).toMatchObject({ code: 0, stderr: "" });
    await lab.kubectl("scale", "deployment", "kube-apiserver", "-n", NAMESPACE, "--replicas=3");
    await hosted.servePlaneApi();
    await hosted.openTunnel(3);
    await hosted.useTunnel();
    await rolledOut(NAMESPACE, "deployment/kube-apiserver");
  });

  test("without nodes the kubelet starts a kube-apiserver 15 s after its server, and no sooner", async () => {
    interface Status {
      readonly name: string;
      readonly state: { readonly running?: { readonly startedAt: string } };
    }
    interface Started {
      readonly status: Readonly<Record<"initContainerStatuses" | "containerStatuses", readonly Status[]>>;
    }
    const words = ["get", "pods", "-n", NAMESPACE, "-l", "app=kube-apiserver"];
    const { items } = await lab.bs.admin.json<{ items: Started[] }>(words);
    expect(items).toHaveLength(3);
    for (const { status } of items) {
      const startOf = (list: readonly Status[], name: string) =>
        Date.parse(list.find((each) => each.name === name)?.state.running?.startedAt ?? "");
      const server = startOf(status.initContainerStatuses, "konnectivity-server");
      // Both are in whole seconds.
      expect(startOf(status.containerStatuses, "kube-apiserver") - server).toBeGreaterThanOrEqual(14_000);
    }
  });

  test("before the hosted cluster has agents, status says so and what does not work", async () => {
    const found = await hosted.verdict("status");
    expect(found.code).toBe(1);
    // Control-plane agents that came before the servers are asked again half a minute later.
    const ids = failed(found).map(({ check }) => check);
    expect(ids.filter((id) => id !== "control-plane-agents")).toEqual(["agents", "data-plane-connection"]);
    expect(reasonOf(found, "DataPlaneConnectionAvailable")).toBe("False/KonnectivityAgentPodsNotFound");
    expect(reasonOf(found, "InfrastructureReady")).toBe("True/AsExpected");
    // A server without nodes keeps its kube-apiserver from being ready for half a minute, and no longer.
    expect(found.byId.servers?.message).toBe("3 of 3 pods are ready");
    expect(found.stopsWorking).toContain("kubectl logs, exec, attach, port-forward and cp");
  });

  test("the hosted side: apply, agents connect to all three servers, and kubectl logs works", async () => {
    expect(await hosted.run("apply", hosted.both)).toMatchObject({ code: 0, stderr: "" });
    await rolledOut("kube-system", "daemonset/konnectivity-agent");
    for (const { name } of await withAllServers("hosted", 2)) {
      const log = await lab.kubectl("logs", "-n", "kube-system", name);
      const ids = [...log.matchAll(/server_?id["=: ]*([0-9a-f-]{36})/gi)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(3);
    }
    // Two nodes' agents and the control plane's own, at each of the three servers.
    const { stdout } = await hosted.run("status", hosted.both, "--output=json");
    const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string; message: string }[] };
    const strategies = findings.filter(({ check }) => check === "strategies");
    expect(strategies.map(({ state, message }) => `${state}: ${message}`)).toEqual(
      Array(3).fill(expect.stringMatching(/^ok: agents by strategy: destHost \d+, (destCIDR \d+, )?defaultRoute 2$/)),
    );
  });

  test("17: the checkers' pods stamp that they reach the kube-apiserver; their stamp and the nodes decide about the other direction", async () => {
    await stamped();
    const stamp = async (lastSucceeded: string) => {
      const metadata = { name: "control-plane-connectivity-check", namespace: "kube-system" };
      await lab.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { lastSucceeded } });
      return otherDirection();
    };
    // From here on the test writes the stamps.
    await lab.kubectl("scale", "deployment/kas-connection-checker", "-n", "kube-system", "--replicas=0");
    // A pod that is deleted before its controller has heard of the scaling would get a successor.
    await rolledOut("kube-system", "deployment/kas-connection-checker");
    const checkers = ["pods", "-n", "kube-system", "-l", "app=kas-connection-checker"];
    await lab.kubectl("delete", ...checkers, "--grace-period=1");
    await until("the checkers to be gone", 60_000, async () => {
      return (await lab.kubectl("get", ...checkers, "-oname")).trim() === "";
    });
    expect(await stamp("never")).toBe("False/KASAccessFailed");
    expect(await stamp(new Date(Date.now() - 6 * 60_000).toISOString())).toBe("False/ConnectionCheckStale");
    await lab.kubectl("delete", "configmap", "control-plane-connectivity-check", "-n", "kube-system");
    expect(await otherDirection()).toBe("Unknown/ConfigMapNotFound");
    await lab.kubectl("cordon", "n1", "n2");
    const cordoned = await hosted.verdict("status");
    expect(reasonOf(cordoned, "ControlPlaneConnectionAvailable")).toBe("Unknown/NoWorkerNodesAvailable");
    expect(reasonOf(cordoned, "DataPlaneConnectionAvailable")).toBe("Unknown/NoWorkerNodesAvailable");
    await lab.kubectl("uncordon", "n1", "n2");
  });

  test("apply brings back what was changed by hand", async () => {
    const report = await hosted.run("apply", hosted.both, "--output=json");
    expect(report).toMatchObject({ code: 0, stderr: "" });
    const { objects } = JSON.parse(report.stdout) as HostedReport;
    const restored = objects.filter(({ action }) => action !== "unchanged").map(({ object }) => object);
    expect(restored.toSorted()).toEqual([
      "ConfigMap kube-system/control-plane-connectivity-check",
      "Deployment kube-system/kas-connection-checker",
    ]);
  });

  test("15: what the control plane serves is found by the hosted cluster and reached by the control plane's own agents", async () => {
    const workers = await hosted.agents("hosted");
    const own = await withAllServers("control-plane", 2);
    await lab.kubectl("wait", "--for=condition=Available", "--timeout=60s", `apiservice/${PLANE}`);
    const dials = "dial_duration_seconds_count";
    const before = [await sumOf(own, dials), await sumOf(workers, dials)];
    for (let ask = 0; ask < 5; ask++) {
      const gauge = await lab.bs.admin.raw(`/apis/${PLANE_API.group}/${PLANE_API.version}/gauges/first`);
      expect(JSON.parse(gauge)).toMatchObject({ kind: "Gauge", seen: { user: "admin" } });
    }
    expect(await sumOf(own, dials)).toBeGreaterThanOrEqual(before[0]! + 5);
    expect(await sumOf(workers, dials)).toBe(before[1]);
  });

  describe("with a webhook and an aggregated API in the hosted cluster", () => {
    let webhook: WebhookPod;
    let component: Component;
    const gauge = `/apis/${AGGREGATED_GROUP}/${AGGREGATED_VERSION}/gauges/first`;
    const proxies = [
      { kind: "http", port: 8092 },
      { kind: "socks5", port: 8090 },
    ] as const;
    beforeAll(async () => {
      [component, webhook] = await Promise.all([hosted.startComponent("oauth-openshift"), lab.startWebhook()]);
      await lab.apply(
        objects.validatingWebhook("validate-in-pod", "pod", objects.byService("/validate"), lab.plane.ca.cert),
        objects.aggregatedApi(lab.plane.ca.cert),
      );
      // Their readiness is looked at every half minute.
      await rolledOut(NAMESPACE, "deployment/konnectivity-agent");
      // What was brought back before begins its work by itself, and the kube-apiserver asks new APIs when it comes to it.
      await stamped();
      const api = `apiservice/${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;
      await lab.kubectl("wait", "--for=condition=Available", "--timeout=110s", api);
    });

    test("verify passes everything, and the kube-apiserver really asked them", async () => {
      const before = (await webhook.requests("/validate")).length;
      const found = await hosted.verdict("verify");
      expect(failed(found)).toEqual([]);
      expect(found.code).toBe(0);
      expect(found.stopsWorking).toEqual([]);
      expect(found.byId[HOOK]).toMatchObject({ state: "ok", details: { answer: "allowed" } });
      expect(found.byId[API]).toMatchObject({ state: "ok" });
      expect(found.byId[`apiservice:${PLANE}`]).toMatchObject({ state: "ok" });
      expect(found.byId["control-plane-agents"]?.message).toBe("2 of 2 are ready");
      expect(found.byId.agents?.message).toBe("2 of 2 nodes have one that is ready");
      expect((await webhook.requests("/validate")).length).toBe(before + 1);
      expect(reasonOf(found, "DataPlaneConnectionAvailable")).toBe("True/AsExpected");
      expect(reasonOf(found, "ControlPlaneConnectionAvailable")).toBe("True/AsExpected");
      const left = await lab.kubectl("get", "mutatingwebhookconfigurations", "-oname");
      expect(left.trim()).toBe("");
    });

    test("an admission webhook judges real requests through the tunnel, and kubectl exec works", async () => {
      const create = (name: string, labels = {}) =>
        lab.bs.admin.try(["create", "-f", "-"], JSON.stringify(objects.configMap(name, "pod", labels)));
      expect(await create("through")).toMatchObject({ code: 0, stderr: "" });
      expect((await create("not", { [REFUSE_LABEL]: "yes" })).stderr).toContain("refused by the lab's webhook");
      const exec = ["exec", "-n", objects.NAMESPACE, objects.SERVICE, "--", "/usr/bin/node", "-p", "6 * 7"];
      expect(await lab.kubectl(...exec)).toBe("42\n");
    });

    test("a part of the control plane reaches Services of the hosted cluster by name, through the sidecars in its pod", async () => {
      await component.rolledOut();
      const nodes = lab.nodes.map(({ address }) => address);
      for (const proxy of proxies) {
        const [head, body = ""] = (await component.get(proxy, "webhook.lab.svc", gauge)).split("\r\n\r\n");
        expect(head).toContain("HTTP/1.1 200 OK");
        const [, from] = /"from":"([^"]*)"/.exec(body) ?? [];
        // An agent on a node asked it.
        expect(nodes).toContain(from);
      }
    });

    test("a part of the control plane that takes its time to end has its sidecars meanwhile", async () => {
      const ending = await component.end();
      for (const proxy of proxies)
        expect(await component.get(proxy, "webhook.lab.svc", gauge, ending)).toContain("HTTP/1.1 200 OK");
    });

    test("17: a tunnel that is cut is found by every call through it, and people are told what stops working", async () => {
      await hosted.cutTunnel();
      const found = await hosted.verdict("verify");
      expect(found.code).toBe(1);
      expect(reasonOf(found, "DataPlaneConnectionAvailable")).toBe("False/LogsAccessFailed");
      expect(failed(found).map(({ check }) => check)).toContain("data-plane-connection");
      for (const id of [HOOK, API]) expect(found.byId[id]?.state).toBe("failed");
      expect(found.stopsWorking).toEqual(
        expect.arrayContaining([
          "kubectl logs, exec, attach, port-forward and cp",
          "webhook validate-in-pod/validate-in-pod.lab.drawbridge.test: requests it should judge are refused",
        ]),
      );
      const text = await hosted.run("status", hosted.both);
      expect(text.code).toBe(1);
      expect(text.stdout).toMatch(/FAILED {3}data-plane-connection: [\s\S]*What stops working:\n- kubectl logs/);
    });
  });

  test("delete leaves nothing on either side, and the kube-apiserver's Deployment as its owner made it", async () => {
    expect(await remainsOf(lab.bs.admin, NAMESPACE)).not.toBe("");
    expect(await hosted.run("delete", hosted.both)).toMatchObject({ code: 0, stderr: "" });
    expect(await remainsOf(lab.bs.admin, NAMESPACE)).toBe("");
    const containers =
      "-ojsonpath={.spec.template.spec.initContainers[*].name}{.spec.template.spec.containers[*].name}";
    expect(await lab.kubectl("get", "deployment", "kube-apiserver", "-n", NAMESPACE, containers)).toBe(
      "kube-apiserver",
    );
    await until("the agents' and checkers' pods to be gone", 60_000, async () => {
      const selector = "app in (konnectivity-agent,kas-connection-checker)";
      return (await lab.kubectl("get", "pods", "-A", "-l", selector, "-oname")).trim() === "";
    });
    const labels = await lab.kubectl("get", "namespace", "kube-system", "-ojsonpath={.metadata.labels}");
    expect(Object.keys(JSON.parse(labels))).toEqual(["kubernetes.io/metadata.name"]);
  });
});
