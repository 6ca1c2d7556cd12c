/**
 * `drawbridge bootstrap teardown` as it is typed: while webhooks that must answer are called all the time, with the API
 * away, a second time, and from a workstation. The production kube-apiserver must not notice any of it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bridgeModel } from "../../src/bootstrap/model/model.js";
import { openshiftFiles } from "../../src/bootstrap/render/openshift.js";
import type { Receipt } from "../../src/bootstrap/teardown/receipt.js";
import { type ApiHost, type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import type { WebhookPod } from "../support/lab/bridge/webhook-pod.js";
import { equipped } from "../support/lab/equipment.js";
import type { Kubectl } from "../support/lab/kubectl.js";
import { metric } from "../support/lab/metrics.js";
import type { Outcome } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { ADMITTED, applyWebhook, create, DRAWBRIDGE, isRefused, programFlags } from "./bridge-on-host.js";

const MINUTES = 60_000;
const NAMESPACE = "drawbridge-bootstrap";
/** kube-apiserver's own count of what it sent to a proxy-server. */
const EGRESS_DIALS = "apiserver_egress_dialer_dial_start_total";
const BRIDGE_LABEL = "openshift.io/bootstrap-only=true";

const ready = await equipped({ bridge: true });

describe.skipIf(!ready)("a bridge on a bare host", () => {
  let lab: BridgeLab;
  let production: ApiHost;
  let webhook: WebhookPod;
  let before: readonly string[];
  let programs: readonly string[];

  const place = (name: string): string => lab.scope.file(`drawbridge-${name}`);
  const drawbridge = (...words: string[]): Promise<Outcome> =>
    lab.bs.run([DRAWBRIDGE, "bootstrap", ...words], { timeoutMs: 3 * MINUTES });
  const up = (): Promise<Outcome> =>
    drawbridge(
      ...["up", "--for-platform=bare", "--server=process", "--for=1h", "--timeout=90s", ...programs],
      ...[`--kubeconfig=${lab.bs.adminConfig}`, `--state-dir=${place("state")}`],
      ...[`--runtime-directory=${place("run")}`, `--config-directory=${place("etc")}`],
    );
  const teardown = (...words: string[]): Promise<Outcome> =>
    drawbridge("teardown", `--state-dir=${place("state")}`, "--output=json", ...words);
  /** What lies in the lab's folder because of the bridge. */
  const traces = (): string[] => readdirSync(lab.scope.folder).filter((name) => name.startsWith("drawbridge-"));
  const labelled = (): Promise<string> =>
    production.admin.run(["get", "ns,ds,secrets,pods", "-A", "-l", BRIDGE_LABEL, "-oname", "--ignore-not-found"]);
  const servers = async (): Promise<string> => (await lab.bs.run(["pgrep", "-f", `uds-name=${place("run")}`])).stdout;

  /** A command for up or teardown that lets this test start the kube-apiserver, and goes on when it has. */
  const asksTest = (name: string): string =>
    `echo "$EGRESS_FLAG" > ${place(name)}; while [ -e ${place(name)} ]; do sleep 0.1; done`;

  async function startedBridge(): Promise<void> {
    expect(await up()).toMatchObject({ code: 0 });
    await lab.bs.apiServer.start(`${place("etc")}/egress-selector-config.yaml`);
    await until("the webhook to answer", MINUTES, () => isRefused(lab.bs.admin));
  }

  /** T4: no flag, and never a call through a bridge. */
  async function productionIsUntouched(): Promise<void> {
    const commandLine = readFileSync(`/proc/${production.apiServer.process.pid}/cmdline`, "utf8");
    expect(commandLine).toContain("--etcd-servers");
    expect(commandLine).not.toContain("egress");
    expect(metric(await production.admin.raw("/metrics"), EGRESS_DIALS)).toBe(0);
    const seen = (await webhook.requests("/validate")).length;
    expect(await create(production.admin)).toMatchObject(ADMITTED);
    const calls = (await webhook.requests("/validate")).slice(seen);
    expect(calls.map(({ from }) => from)).toContain(production.address);
  }

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 2, production: true });
    production = lab.production!;
    webhook = await lab.startWebhook();
    await applyWebhook(lab);
    await until("the webhook to be in force", MINUTES, () => isRefused(production.admin));
    programs = await programFlags(lab);
    before = traces();
  });
  afterAll(async () => {
    if (lab !== undefined) {
      await lab.bs.apiServer.stop();
      await teardown("--force", "--timeout=5s");
    }
    await lab?.stop();
  });

  test("T4: before the bridge, the production kube-apiserver reaches the webhook and the bootstrap one does not", async () => {
    await productionIsUntouched();
    const { code, stderr } = await create(lab.bs.admin);
    expect(code).not.toBe(0);
    expect(stderr).toContain("failed calling webhook");
  });

  test("T4: with the bridge both do, each by its own way", async () => {
    await startedBridge();
    expect(await create(lab.bs.admin)).toMatchObject(ADMITTED);
    expect(metric(await lab.bs.admin.raw("/metrics"), EGRESS_DIALS)).toBeGreaterThan(0);
    await productionIsUntouched();
  });

  test("nothing is removed while the kube-apiserver has the flag and nobody takes it away", async () => {
    const { code, stdout, stderr } = await teardown("--timeout=5s");
    expect(code).toBe(1);
    expect(stderr).toContain("away from the kube-apiserver's command and restart the kube-apiserver; waiting for it.");
    expect(JSON.parse(stdout) as Receipt).toMatchObject({ clean: false, exitCode: 1 });
    expect(await create(lab.bs.admin)).toMatchObject(ADMITTED);
  });

  test("T1, T3: under webhook calls that must be answered nothing fails after the switch, and nothing is left", async () => {
    // What a host gets when bootstrap is over: its own way to the pods.
    for (const [index, node] of lab.nodes.entries()) {
      const gateway = `192.168.66.${11 + index}`;
      expect(
        (await lab.bs.run(["ip", "route", "add", `10.128.${index + 1}.0/24`, "via", gateway])).code,
        node.name,
      ).toBe(0);
    }
    const writes = new Writes(lab.bs.admin);
    const elsewhere = new Writes(production.admin);
    await until("a few writes past the webhook", MINUTES, () => writes.since(0).length > 5);
    const ending = teardown(
      "--timeout=2m",
      `--restore-command=${asksTest("ask")}`,
      `--receipt=${lab.scope.file("receipt.json")}`,
    );
    await until("teardown to ask for the kube-apiserver", MINUTES, () => existsSync(place("ask")));
    // All is still there, and works: a call without a bridge would hang until the webhook's timeout, and fail.
    const asked = performance.now();
    await until("writes to go on", MINUTES, () => writes.since(asked).length > 5);
    expect(writes.since(asked).filter((write) => write.code !== 0)).toEqual([]);
    expect((await servers()).trim()).not.toBe("");
    expect(await labelled()).toContain(`namespace/${NAMESPACE}`);
    await lab.bs.apiServer.start();
    const switchedAt = performance.now();
    await lab.bs.run(["rm", place("ask")]);
    const { code, stdout, stderr } = await ending;
    const tookMs = performance.now() - switchedAt;
    await until(
      "calls after the end",
      MINUTES,
      () => writes.since(performance.now() - 3_000).length > 3 && performance.now() > switchedAt + tookMs + 5_000,
    );
    const [all, others] = [await writes.stop(), await elsewhere.stop()];
    const after = all.filter(({ begun }) => begun >= switchedAt);
    process.stdout.write(
      `teardown: ${all.length} writes past a webhook, ${after.length} of them after the switch, ${(tookMs / 1000).toFixed(1)} s from switch to receipt\n`,
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(all.slice(0, 5).filter((write) => write.code !== 0)).toEqual([]);
    expect(after.length).toBeGreaterThan(10);
    expect(after.filter((write) => write.code !== 0)).toEqual([]);
    expect(all.filter((write) => write.stderr.includes("failed calling webhook"))).toEqual([]);
    expect(others.filter((write) => write.code !== 0)).toEqual([]);

    const receipt = JSON.parse(stdout) as Receipt;
    expect(receipt).toMatchObject({ clean: true, apiAnswered: true, warnings: [] });
    expect(receipt.items.find(({ thing }) => thing.type === "setting")).toMatchObject({ state: "restored" });
    expect(receipt.others.firewall).toMatchObject({ platform: "host", rule: { port: 8091 } });
    expect(JSON.stringify(receipt.others)).toContain("192.168.66.11/32");
    expect(traces().sort()).toEqual([...before].sort());
    expect(await servers()).toBe("");
    await until("everything of the bridge to be gone from the cluster", MINUTES, async () => (await labelled()) === "");
    for (const node of lab.nodes) {
      await until(`the agent on ${node.name} to be gone`, MINUTES, async () => {
        const processes = await node.run(["pgrep", "-f", "proxy-agent"]);
        return processes.stdout.trim() === "";
      });
    }
    await productionIsUntouched();
  });

  test("T1: a second teardown does nothing, and its receipt says so", async () => {
    const file = lab.scope.file("second.json");
    const flags = ["--for-platform=bare", `--kubeconfig=${lab.bs.adminConfig}`, `--receipt=${file}`];
    const { code, stdout } = await teardown(...flags);
    expect(code).toBe(0);
    expect(JSON.parse(stdout) as Receipt).toMatchObject({ nothingToDo: true, clean: true });
    expect(readFileSync(file.replace(".json", ".md"), "utf8")).toContain("Nothing of a bridge was there.");
    expect(traces().sort()).toEqual([...before].sort());
  });

  test("T2: with the API down it keeps its limit, cleans the host, warns and ends with 3; later the rest goes", async () => {
    await startedBridge();
    await lab.bs.apiServer.stop();
    const start = performance.now();
    const { code, stdout, stderr } = await teardown("--timeout=10s");
    const tookMs = performance.now() - start;
    process.stdout.write(`teardown without an API: ${(tookMs / 1000).toFixed(1)} s of at most 10 s\n`);
    expect(code).toBe(3);
    expect(tookMs).toBeLessThan(12_000);
    expect(stderr).toContain("Warning: The Kubernetes API did not answer");
    const receipt = JSON.parse(stdout) as Receipt;
    expect(receipt).toMatchObject({ clean: false, apiAnswered: false });
    expect(receipt.items.filter(({ state }) => state === "left").map(({ name }) => name)).toEqual(
      expect.arrayContaining([`Namespace ${NAMESPACE}`]),
    );
    expect(await servers()).toBe("");
    expect(readdirSync(place("state"))).toEqual(["bridge.json"]);
    expect([place("run"), place("etc")].filter((path) => existsSync(path))).toEqual([]);

    await lab.bs.apiServer.start();
    const again = await teardown();
    expect({ code: again.code, stderr: again.stderr }).toMatchObject({ code: 0 });
    expect(traces().sort()).toEqual([...before].sort());
    await until("everything of the bridge to be gone from the cluster", MINUTES, async () => (await labelled()) === "");
  });

  test("T1: from a workstation, with nothing but a kubeconfig, OpenShift's layout and the older one go", async () => {
    const model = bridgeModel({ for: "openshift", image: lab.image, serverAddresses: [lab.bs.address] });
    const cluster = openshiftFiles(model, { cert: "c", key: "k", ca: "a" })
      .filter(({ part }) => part === "cluster")
      .flatMap(({ documents }) => documents);
    const inKubeSystem = cluster.slice(1).map((object) => {
      const { metadata, ...rest } = object as { metadata: object };
      return { ...rest, metadata: { ...metadata, namespace: "kube-system" } };
    });
    await production.admin.apply(...cluster, ...inKubeSystem);
    const kubeconfig = lab.scope.file("workstation.kubeconfig");
    writeFileSync(kubeconfig, readFileSync(production.adminConfig));
    const flags = ["--for-platform=openshift", `--kubeconfig=${kubeconfig}`, "--platform=aws", "--infra-id=demo-x7k2p"];
    const { code, stdout } = await teardown(...flags);
    expect(code).toBe(0);
    const receipt = JSON.parse(stdout) as Receipt;
    const removed = receipt.items
      .filter(({ state }) => state === "removed" || state === "going")
      .map(({ name }) => name);
    expect(removed).toEqual([
      ...["DaemonSet openshift-bootstrap-konnectivity/konnectivity-agent"],
      ...[
        "Secret openshift-bootstrap-konnectivity/konnectivity-agent-certs",
        "Namespace openshift-bootstrap-konnectivity",
      ],
      ...["DaemonSet kube-system/konnectivity-agent", "Secret kube-system/konnectivity-agent-certs"],
    ]);
    expect(receipt.others.firewall).toMatchObject({ platform: "aws" });
    await until("everything of it to be gone from the cluster", MINUTES, async () => (await labelled()) === "");
    expect((await teardown(...flags)).stdout).toContain('"nothingToDo": true');
  });

  test("T3, T4: after all of it the production kube-apiserver reaches the webhook as before", () => {
    return productionIsUntouched();
  });
});

interface Write extends Outcome {
  readonly begun: number;
}

/** Writes past the webhook, one after the other, until told to stop. */
class Writes {
  readonly #done: Write[] = [];
  readonly #loop: Promise<void>;
  #isStopped = false;

  constructor(admin: Kubectl) {
    this.#loop = this.#run(admin);
  }

  since(moment: number): Write[] {
    return this.#done.filter(({ begun }) => begun >= moment);
  }

  async stop(): Promise<readonly Write[]> {
    this.#isStopped = true;
    await this.#loop;
    return this.#done;
  }

  async #run(admin: Kubectl): Promise<void> {
    while (!this.#isStopped) {
      const begun = performance.now();
      this.#done.push({ begun, ...(await create(admin)) });
    }
  }
}
