/**
 * The lab that the bridge's tests stand on, shown by hand: real nodes, real controllers, agents as real pods from our own
 * image, a bootstrap kube-apiserver without a route to them and a production one with it.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildImage } from "../../image/image.js";
import { AGENTS, BridgeByHand } from "../support/lab/bridge/by-hand.js";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import type { WebhookPod } from "../support/lab/bridge/webhook-pod.js";
import { equipped } from "../support/lab/equipment.js";
import type { Kubectl } from "../support/lab/kubectl.js";
import { metric } from "../support/lab/metrics.js";
import * as objects from "../support/lab/objects.js";
import { type Outcome, run } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { REFUSE_LABEL } from "../support/lab/webhook/admission.js";
import { WEBHOOK_PORT } from "../support/lab/webhook-process.js";

/** kube-apiserver's own count of what it sent to a proxy-server. */
const EGRESS_DIALS = "apiserver_egress_dialer_dial_start_total";

const ready = await equipped({ bridge: true });

describe.skipIf(!ready)("two nodes and a production API server", () => {
  let lab: BridgeLab;
  let bridge: BridgeByHand;
  let webhook: WebhookPod;

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 2, production: true });
  });
  afterAll(() => lab?.stop());

  test("both nodes are Ready and have the image, which runs as root and as nobody", async () => {
    expect((await lab.kubectl("get", "nodes", "-oname")).trim().split("\n")).toEqual(["node/n1", "node/n2"]);
    for (const node of lab.nodes) {
      expect(await node.isReady()).toBe(true);
      expect(await node.ctr(["images", "ls", "-q"])).toContain(lab.image);
    }
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    await lab.apply(onceAs("root", lab.image), onceAs("nobody", lab.image));
    for (const name of ["root", "nobody"]) {
      await lab.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=110s", `pod/${name}`);
      const log = () => lab.nodes.map((node) => node.podLog("default", name, "once")).join("");
      await expect.poll(log, { timeout: 30_000 }).toMatch(new RegExp(`^drawbridge ${version} .*\\n$`));
    }
  });

  test("the image is the same whenever it is built from the same files", async () => {
    const [one, two] = [lab.scope.file("one.tar"), lab.scope.file("two.tar")];
    const [first, second] = [await buildImage({ out: one }), await buildImage({ out: two })];
    expect(first.digest).toBe(second.digest);
    expect(readFileSync(one).equals(readFileSync(two))).toBe(true);
  });

  test("A1: the DaemonSet controller and the scheduler start one agent pod per node, and each connects", async () => {
    bridge = await BridgeByHand.raise(lab);
    await until("two backends", 120_000, async () => (await bridge.readyBackends()) === 2);
    await lab.kubectl("rollout", "status", `daemonset/${AGENTS}`, "-n", AGENTS, "--timeout=110s");
    const pods = await agentPods(lab);
    expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(["n1", "n2"]);
    // In the pod network, each behind its own node.
    expect(pods.map(({ status }) => status.podIP?.replace(/\d+$/, "x")).sort()).toEqual(["10.128.1.x", "10.128.2.x"]);
  });

  test("N1: the bootstrap host has no way to the webhook's pod of its own", async () => {
    webhook = await lab.startWebhook();
    const curl = ["curl", "-skS", "--max-time", "5", `https://${webhook.address}:${WEBHOOK_PORT}/`];
    const direct = await lab.bs.run(curl);
    expect(direct.stderr).toMatch(/No route to host|Network is unreachable|Failed to connect/);
    expect(direct.code).toBe(7);
    expect(await webhook.requests()).toEqual([]);
    // The pod is there, and its nodes do reach it.
    for (const { netns } of lab.nodes) expect((await run(curl, { netns })).code).toBe(0);
  });

  test("K1: the bootstrap kube-apiserver reaches it through the tunnel, from an agent's pod", async () => {
    await applyHook(lab);
    const sources = (await agentPods(lab)).map(({ status }) => status.podIP);
    const before = (await webhook.requests("/validate")).length;
    const dials = await bridge.dialsDone();
    for (let i = 0; i < 4; i++) expect(await create(lab.bs.admin, `through-${i}`)).toMatchObject(ADMITTED);
    const refused = await create(lab.bs.admin, "refused", { [REFUSE_LABEL]: "yes" });
    expect(refused.stderr).toContain("refused by the lab's webhook");
    const seen = (await webhook.requests("/validate")).slice(before);
    expect(seen).toHaveLength(5);
    for (const { from } of seen) expect(sources).toContain(from);
    expect(await bridge.dialsDone()).toBe(dials + 5);
  });

  test("T4: the production kube-apiserver has no egress flag and reaches it directly", async () => {
    const { production } = lab;
    if (production === undefined) throw new Error("this lab has a production API server");
    const commandLine = readFileSync(`/proc/${production.apiServer.process.pid}/cmdline`, "utf8");
    expect(commandLine).toContain("--etcd-servers");
    expect(commandLine).not.toContain("egress");
    const before = (await webhook.requests("/validate")).length;
    const dials = await bridge.dialsDone();
    await until("the webhook to be in force", 60_000, () => isRefused(production.admin));
    expect(await create(production.admin, "direct")).toMatchObject(ADMITTED);
    const seen = (await webhook.requests("/validate")).slice(before);
    expect(seen.length).toBeGreaterThanOrEqual(2);
    for (const { from } of seen) expect(from).toBe(production.address);
    expect(await bridge.dialsDone()).toBe(dials);
    expect(metric(await lab.bs.admin.raw("/metrics"), EGRESS_DIALS)).toBeGreaterThan(0);
    expect(metric(await production.admin.raw("/metrics"), EGRESS_DIALS)).toBe(0);
  });

  test("when the agents' namespace is deleted the controllers delete the agents, and only the bootstrap side notices", async () => {
    await lab.kubectl("delete", "namespace", AGENTS, "--wait=true", "--timeout=110s");
    await until("no backends", 60_000, async () => (await bridge.readyBackends()) === 0);
    const { code, stderr } = await create(lab.bs.admin, "unheard");
    expect(stderr).toContain("failed calling webhook");
    expect(code).not.toBe(0);
    expect(await create(lab.production!.admin, "still-direct")).toMatchObject(ADMITTED);
  });
});

const ADMITTED = { code: 0, stderr: "" };

interface AgentPod {
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly podIP?: string };
}

async function agentPods(lab: BridgeLab): Promise<AgentPod[]> {
  return (await lab.bs.admin.json<{ items: AgentPod[] }>(["get", "pods", "-n", AGENTS, "-l", `app=${AGENTS}`])).items;
}

/** A pod that runs once and says the version: as root when told so, otherwise as the image's own user. */
const onceAs = (name: "root" | "nobody", image: string): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    securityContext: name === "root" ? { runAsUser: 0 } : { runAsNonRoot: true },
    containers: [{ name: "once", image, imagePullPolicy: "Never", args: ["version"] }],
  },
});

/** Puts the webhook into force, as seen by the bootstrap kube-apiserver. */
async function applyHook(lab: BridgeLab): Promise<void> {
  const client = objects.byService("/validate");
  await lab.apply(objects.validatingWebhook("validate-in-pod", "pod", client, lab.plane.ca.cert));
  await until("the webhook to be in force", 60_000, () => isRefused(lab.bs.admin));
}

async function isRefused(admin: Kubectl): Promise<boolean> {
  const { stderr } = await create(admin, "to-be-refused", { [REFUSE_LABEL]: "yes" });
  return stderr.includes("refused by the lab's webhook");
}

function create(admin: Kubectl, name: string, labels: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return admin.try(["create", "-f", "-"], JSON.stringify(objects.configMap(name, "pod", labels)));
}
