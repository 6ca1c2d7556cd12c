/**
 * The life of a bridge, raised and taken away by `drawbridge bootstrap` on real components: a bootstrap host without a
 * route to pods, two real nodes, real controllers, and a production kube-apiserver that must notice nothing. The tests
 * are one story, told with our programs and with upstream's: they run in order and build on each other.
 */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../src/base/finding.js";
import type { Receipt } from "../../src/cluster/bootstrap/teardown/receipt.js";
import {
  AGENT_PORT,
  BridgeByCommand,
  commandLine,
  isReady,
  NAMESPACE,
  upResult,
} from "../support/lab/bridge/by-command.js";
import type { BridgeLab } from "../support/lab/bridge/lab.js";
import { FAILED, type ProductionState, Scene, WEBHOOK } from "../support/lab/bridge/scene.js";
import { rejectTcp } from "../support/lab/firewall.js";
import { KUBELET_PORT } from "../support/lab/node/node.js";
import * as objects from "../support/lab/objects.js";
import { LabProcess } from "../support/lab/process.js";
import { must, run } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { MUTATED_ANNOTATION } from "../support/lab/webhook/admission.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../support/lab/webhook/aggregated.js";
import { WEBHOOK_PORT, Webhook } from "../support/lab/webhook-process.js";
import { ADMITTED } from "./bridge-on-host.js";

const FIRST_ANSWER_WITHIN_MS = 30_000;
const LOCAL_PORT = 18_443;

export interface StoryOptions {
  readonly title: string;
  /** Whether everything it needs is here. */
  readonly ready: boolean;
  /** Flags of `up` that say whose programs run. */
  readonly programs: (lab: BridgeLab) => Promise<readonly string[]>;
}

export const tellStory = ({ title, ready, programs }: StoryOptions) =>
  describe.skipIf(!ready)(title, () => {
    let scene: Scene;
    let lab: BridgeLab;
    let bridge: BridgeByCommand;
    let untouched: ProductionState;

    const failsToAsk = async () => {
      const { code, stderr } = await scene.write();
      expect(stderr).toContain(FAILED);
      expect(code).not.toBe(0);
    };
    const productionIsUntouched = async () => expect(await scene.productionState()).toEqual(untouched);
    const agentAddresses = async () => (await bridge.agentPods()).map(({ status }) => status.podIP);
    const verified = async (...flags: string[]) => {
      const { code, stdout } = await bridge.verify("--output=json", ...flags);
      return { code, findings: (JSON.parse(stdout) as { findings: Finding[] }).findings };
    };

    beforeAll(async () => {
      scene = await Scene.set({ nodes: 2, cni: true });
      lab = scene.lab;
      await scene.startWebhook();
      bridge = await BridgeByCommand.plan(lab, "story", await programs(lab));
    });
    afterAll(() => lab?.stop());

    test("N1: without the bridge the bootstrap host reaches the webhook's pod neither by curl nor through its kube-apiserver", async () => {
      const url = `https://${scene.webhook.address}:${WEBHOOK_PORT}/`;
      const direct = await lab.bs.run(["curl", "-skS", "--max-time", "5", url]);
      expect(direct.stderr).toMatch(/No route to host|Network is unreachable|Failed to connect/);
      expect(direct.code).toBe(7);
      await until("the webhook to be in force", 60_000, async () => (await scene.write()).stderr.includes(FAILED));
      expect(await scene.askedFrom(failsToAsk)).toEqual([]);
    });

    test("T4: before, the production kube-apiserver has no egress flag and reaches it directly", async () => {
      untouched = await scene.productionState();
      expect(untouched).toMatchObject({ egressDials: 0, askedFrom: [scene.production.address] });
      expect(untouched.commandLine).toContain("--etcd-servers");
      expect(untouched.commandLine).not.toContain("egress");
    });

    test("S1, A1: `up` starts the server, whose readiness is the first agent's, and an agent on each node", async () => {
      const began = performance.now();
      const upping = bridge.up("--output=json");
      const readiness = await statusesUntil(upping, () => bridge.health("/readyz"));
      const outcome = await upping;
      expect(outcome.code, outcome.stderr).toBe(0);
      expect(await scene.write()).toMatchObject(ADMITTED);
      const sinceReadyMs = performance.now() - bridge.apiServer.readyAt;
      say(`up to first webhook answered: ${seconds(performance.now() - began)} s`);
      say(`the same after the kube-apiserver was ready: ${seconds(sinceReadyMs)} s`);
      expect(sinceReadyMs).toBeLessThan(FIRST_ANSWER_WITHIN_MS);

      const { steps, leftToYou, address } = upResult(outcome);
      expect(steps.map(({ name }) => name).join(" ")).toBe(
        "directories address certificates egress-config server agents kube-apiserver connected",
      );
      // Agents may be connected before the kube-apiserver is back, so the last one is sometimes so already.
      expect(steps.slice(0, -1).filter(({ outcome: how }) => how !== "done")).toEqual([]);
      expect({ leftToYou, address }).toEqual({ leftToYou: undefined, address: lab.bs.address });
      // S1
      expect(readiness).toEqual([500, 200]);
      expect((await bridge.health("/healthz")).status).toBe(200);
      expect((await must(["stat", "-c", "%A", bridge.socket])).trim()).toBe("srwxrwx---");
      expect(statSync(bridge.directories.run).mode & 0o777).toBe(0o770);
      expect((await lab.bs.run(["ss", "-Hltn", `sport = :${AGENT_PORT}`])).stdout).toContain("LISTEN");
      // A1
      expect(await bridge.readyBackends()).toBe(lab.nodes.length);
      const pods = await bridge.agentPods();
      expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(["n1", "n2"]);
      for (const pod of pods) expect((await bridge.agentReadiness(pod)).status).toBe(200);
    });

    test("P1: the bridge's certificates are a chain of at most a day for the address that was found, as openssl sees it", async () => {
      const pki = join(bridge.directories.etc, "pki");
      const [ca, server, agent] = [join(pki, "ca.crt"), join(pki, "server.crt"), lab.scope.file("agent-of-secret.crt")];
      const secret = ["get", "secret", "-n", NAMESPACE, "konnectivity-agent-certs", "-ojsonpath={.data.tls\\.crt}"];
      writeFileSync(agent, Buffer.from(await lab.kubectl(...secret), "base64"));
      await must(["openssl", "verify", "-CAfile", ca, "-purpose", "sslserver", server]);
      await must(["openssl", "verify", "-CAfile", ca, "-purpose", "sslclient", agent]);
      for (const certificate of [ca, server, agent]) {
        const text = await must(["openssl", "x509", "-in", certificate, "-noout", "-text"]);
        expect(text).toMatch(/ASN1 OID: prime256v1|Public-Key: \(2048 bit\)/);
        expect(text).toMatch(/Signature Algorithm: \S*SHA256/i);
        const { code } = await run(["openssl", "x509", "-in", certificate, "-noout", "-checkend", String(24 * 3600)]);
        expect(code).toBe(1);
      }
      const names = await must(["openssl", "x509", "-in", server, "-noout", "-ext", "subjectAltName"]);
      expect(names.match(/(?<=IP Address:)\S+/g)).toEqual([lab.bs.address]);
      expect(statSync(join(pki, "server.key")).mode & 0o777).toBe(0o600);
    });

    test("K1: the webhook is called through the tunnel, from an agent's pod", async () => {
      const [sources, dials] = [await agentAddresses(), await bridge.dialsDone()];
      const asked = await scene.askedFrom(async () => {
        for (let i = 0; i < 4; i++) expect(await scene.write()).toMatchObject(ADMITTED);
      });
      expect(asked).toHaveLength(4);
      for (const from of asked) expect(sources).toContain(from);
      expect(await bridge.dialsDone()).toBe(dials + 4);
    });

    test("T4: during, the production kube-apiserver is untouched", () => productionIsUntouched());

    test("K4: mutating webhook, conversion webhook and aggregated API are reachable", async () => {
      const [sources, dials] = [await agentAddresses(), await bridge.dialsDone()];
      await mutatingWebhookWorks(lab);
      await conversionWorks(lab);
      expect(sources).toContain(await aggregatedApiSource(lab));
      expect(await bridge.dialsDone()).toBeGreaterThanOrEqual(dials + 3);
      const called = new Set((await scene.webhook.requests()).map(({ path }) => path));
      expect([...called]).toEqual(expect.arrayContaining(["/validate", "/mutate", "/convert"]));
    });

    test("K5: kubectl logs, exec and port-forward work, with the kubelets closed to the bootstrap host", async () => {
      for (const { address } of lab.nodes) await rejectTcp(lab.bs.netns, address, KUBELET_PORT);
      const kubelet = `https://${scene.webhook.node.address}:${KUBELET_PORT}/healthz`;
      expect((await lab.bs.run(["curl", "-sk", "--max-time", "5", kubelet])).code).toBe(7);
      const dials = await bridge.dialsDone();
      const pod = ["-n", objects.NAMESPACE, objects.SERVICE];
      expect(await lab.kubectl("logs", ...pod)).toContain('"listening"');
      const echo = "process.stdin.pipe(process.stdout); process.exitCode = 7";
      const exec = ["exec", "-i", ...pod, "--", "/usr/bin/node", "-e", echo];
      expect(await lab.bs.admin.try(exec, "there and back")).toMatchObject({ code: 7, stdout: "there and back" });
      expect(await throughForwardedPort(lab, pod, "/requests")).toContain('"path":"/validate"');
      expect(await bridge.dialsDone()).toBeGreaterThanOrEqual(dials + 3);
    });

    test("K6: a webhook by URL is called directly, past the tunnel", async () => {
      const { address, netns } = lab.nodes[0]!;
      const neighbour = await Webhook.start(lab.scope, "neighbour", lab.plane.ca, address, netns);
      const url = `https://${address}:${WEBHOOK_PORT}/validate`;
      await lab.apply(objects.validatingWebhook("validate-by-url", "url", { url }, lab.plane.ca.cert));
      await until("the webhook to be in force", 60_000, async () => {
        await scene.write(lab.bs.admin, "url");
        return neighbour.requests("/validate").length > 0;
      });
      const [dials, asked] = [await bridge.dialsDone(), neighbour.requests("/validate").length];
      expect(await scene.write(lab.bs.admin, "url")).toMatchObject(ADMITTED);
      expect(neighbour.requests("/validate").slice(asked)).toEqual([{ path: "/validate", from: lab.bs.address }]);
      expect(await bridge.dialsDone()).toBe(dials);
      await lab.kubectl("delete", "validatingwebhookconfiguration", "validate-by-url");
    });

    test("K3, A2: with the server killed calls fail; `up` starts it again, agents and kube-apiserver come back by themselves", async () => {
      const { pid } = lab.bs.apiServer.process;
      bridge.endServer("SIGKILL");
      await until("the server to be gone", 30_000, () => !bridge.serverRuns);
      await failsToAsk();
      expect(await bridge.status()).toMatchObject({ code: 1, stdout: expect.stringMatching(/server +WRONG/) });
      const again = await bridge.up("--output=json");
      expect(again.code, again.stderr).toBe(0);
      const done = upResult(again).steps.filter(({ outcome }) => outcome === "done");
      expect(done.map(({ name }) => name)).toContain("server");
      expect(done.map(({ name }) => name)).not.toContain("kube-apiserver");
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
      expect((await bridge.health("/readyz")).status).toBe(500);
    });

    test("F1: agents that come while 8091 is dropped are not ready, and verify says why; open again, they connect", async () => {
      const rule = ["INPUT", "-p", "tcp", "--dport", String(AGENT_PORT), "-j", "DROP"];
      await must(["iptables", "-I", ...rule], { netns: lab.bs.netns });
      try {
        await bridge.letAgentsBack();
        const [pod] = await until("new agents", 60_000, async () => {
          const found = (await bridge.agentPods()).filter(({ status }) => status.podIP !== undefined);
          return found.length === lab.nodes.length && found;
        });
        const readiness = await until("the agent's answer", 30_000, () => bridge.agentReadiness(pod!));
        expect(readiness.status).toBe(503);
        expect((await bridge.agentPods()).filter(isReady)).toEqual([]);
        const { code, findings } = await verified(`--webhook=${WEBHOOK}`);
        expect(code).toBe(1);
        expect(findings.find(({ check }) => check === "agents")).toMatchObject({
          state: "failed",
          remedy: expect.stringMatching(/8091.*firewall/),
        });
      } finally {
        await must(["iptables", "-D", ...rule], { netns: lab.bs.netns });
      }
      await bridge.agentsConnected(lab.nodes.length, 60_000);
      await until("the agents to be ready", 60_000, async () => (await bridge.agentPods()).every(isReady));
      expect(await scene.write()).toMatchObject(ADMITTED);
    });

    test("K7: a kube-apiserver that speaks the other protocol fails visibly and soon, and verify says why", async () => {
      const written = readFileSync(bridge.egressFile, "utf8");
      expect(written).toContain("proxyProtocol: GRPC");
      writeFileSync(bridge.egressFile, written.replace("proxyProtocol: GRPC", "proxyProtocol: HTTPConnect"));
      await lab.bs.apiServer.start(bridge.egressFile);
      const began = performance.now();
      await failsToAsk();
      expect(performance.now() - began).toBeLessThan(15_000);
      expect(await scene.egressMetric("dial_failure_count", { protocol: "http_connect" })).toBeGreaterThan(0);
      const { code, findings } = await verified(`--webhook=${WEBHOOK}`);
      expect(code).toBe(1);
      const wrong = findings.filter(({ state }) => state === "failed").map(({ check }) => check);
      expect(wrong).toEqual(expect.arrayContaining(["egress-config", "server-protocol"]));
      // Back as it was: what is in the file is what `up` wrote.
      writeFileSync(bridge.egressFile, written);
      await lab.bs.apiServer.start(bridge.egressFile);
      expect(await scene.write()).toMatchObject(ADMITTED);
    });

    test("T1: `teardown` removes everything and says so", async () => {
      const receiptFile = lab.scope.file("receipt.json");
      const { code, stderr } = await bridge.teardown(`--receipt=${receiptFile}`);
      expect(code, stderr).toBe(0);
      expect(bridge.remains()).toEqual([]);
      const receipt = JSON.parse(readFileSync(receiptFile, "utf8")) as Receipt;
      expect(receipt).toMatchObject({ clean: true, nothingToDo: false, exitCode: 0, apiAnswered: true });
      expect(receipt.items.filter(({ state }) => state === "left")).toEqual([]);
      const names = receipt.items.map(({ name }) => name).join("\n");
      for (const thing of ["DaemonSet", "Secret", "Namespace", bridge.socket, bridge.egressFile]) {
        expect(names).toContain(thing);
      }
      expect(readFileSync(lab.scope.file("receipt.md"), "utf8")).toContain("# Receipt of a bridge");
      expect(commandLine(lab.bs.apiServer.process.pid)).not.toContain("egress");
      await until("the namespace and its agents to be gone", 60_000, () => bridge.isNamespaceGone());
    });

    test("T1: a second `teardown` is a no-op", async () => {
      const { pid } = lab.bs.apiServer.process;
      const { code, stdout } = await bridge.teardown("--output=json");
      expect(JSON.parse(stdout)).toMatchObject({ clean: true, nothingToDo: true });
      expect(code).toBe(0);
      expect(lab.bs.apiServer.process.pid).toBe(pid);
    });

    test("T3, T4: after, production still reaches the webhook directly and is untouched", () =>
      productionIsUntouched());
  });

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** Every status that was seen while something goes on, repetitions left out. Before the server listens there is none. */
async function statusesUntil(end: Promise<unknown>, ask: () => Promise<{ status: number }>): Promise<number[]> {
  const seen: number[] = [];
  let isOver = false;
  const over = end.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const status = await ask().then(
      ({ status: code }) => code,
      () => undefined,
    );
    if (status !== undefined && status !== seen.at(-1)) seen.push(status);
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 100))]);
  }
  return seen;
}

async function mutatingWebhookWorks({ bs, plane }: BridgeLab): Promise<void> {
  await bs.admin.apply(objects.mutatingWebhook("mutate", "mutate", objects.byService("/mutate"), plane.ca.cert));
  await until("the object to be mutated", 60_000, async () => {
    const object = JSON.stringify(objects.configMap("mutated", "mutate"));
    const made = await bs.admin.run(["create", "--dry-run=server", "-ojson", "-f", "-"], object);
    const { metadata } = JSON.parse(made) as { metadata: { annotations?: Record<string, string> } };
    return metadata.annotations?.[MUTATED_ANNOTATION] === "yes";
  });
  await bs.admin.run(["delete", "mutatingwebhookconfiguration", "mutate"]);
}

async function conversionWorks({ bs, plane }: BridgeLab): Promise<void> {
  const name = `drawings.${objects.CRD_GROUP}`;
  await bs.admin.apply(objects.drawings(plane.ca.cert));
  await bs.admin.run(["wait", "--for=condition=Established", "--timeout=30s", `crd/${name}`]);
  const [metadata, spec] = [{ name: "plan", namespace: objects.NAMESPACE }, { width: 7 }];
  await bs.admin.apply({ apiVersion: `${objects.CRD_GROUP}/v1`, kind: "Drawing", metadata, spec });
  const path = `/apis/${objects.CRD_GROUP}/v2/namespaces/${objects.NAMESPACE}/drawings/plan`;
  expect(JSON.parse(await bs.admin.raw(path))).toMatchObject({ spec: { size: { width: 7 } } });
  await bs.admin.run(["delete", "crd", name]);
}

/** The address that the aggregated API saw its caller come from. */
async function aggregatedApiSource({ bs, plane }: BridgeLab): Promise<string> {
  const name = `${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;
  await bs.admin.apply(objects.aggregatedApi(plane.ca.cert));
  const path = `/apis/${AGGREGATED_GROUP}/${AGGREGATED_VERSION}/gauges/first`;
  const gauge = await until("the aggregated API", 60_000, async () => JSON.parse(await bs.admin.raw(path)));
  expect(gauge).toMatchObject({ kind: "Gauge", metadata: { name: "first" }, seen: { user: "admin" } });
  // The kube-apiservers ask for it again and again: gone, so that later counts are of the test's own calls.
  await bs.admin.run(["delete", "apiservice", name]);
  return gauge.seen.from as string;
}

/** What the webhook's pod answers on its own port, asked on the bootstrap host. */
async function throughForwardedPort(lab: BridgeLab, pod: readonly string[], path: string): Promise<string> {
  const { scope, bs } = lab;
  const forward = LabProcess.start(scope, {
    name: "port-forward",
    netns: bs.netns,
    command: bs.admin.command(["port-forward", ...pod, `${LOCAL_PORT}:${WEBHOOK_PORT}`]),
  });
  try {
    await forward.ready("forwarding", 30_000, () => forward.log().includes("Forwarding from"));
    return await must(["curl", "-skS", "--max-time", "10", `https://127.0.0.1:${LOCAL_PORT}${path}`], {
      netns: bs.netns,
    });
  } finally {
    await forward.kill();
  }
}
