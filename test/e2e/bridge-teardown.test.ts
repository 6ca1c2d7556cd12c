/**
 * `drawbridge bootstrap teardown` as it is typed: while webhooks that must answer are called all the time, with the API
 * away, a second time, and from a workstation. The production kube-apiserver must not notice any of it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inject } from "../../src/cluster/bootstrap/inject/inject.js";
import { bridgeModel } from "../../src/cluster/bootstrap/model/model.js";
import { openshiftFiles } from "../../src/cluster/bootstrap/render/render.js";
import type { Receipt } from "../../src/cluster/bootstrap/teardown/receipt.js";
import { BootstrapHost } from "../support/ignition-fixtures/host/bootstrap-host.js";
import { bootstrapIgnition } from "../support/ignition-fixtures/ignition.js";
import { shapes } from "../support/ignition-fixtures/releases.js";
import { type ApiHost, type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import type { WebhookPod } from "../support/lab/bridge/webhook-pod.js";
import { equipped } from "../support/lab/equipment.js";
import type { Kubectl } from "../support/lab/kubectl.js";
import { metric } from "../support/lab/metrics.js";
import { LabProcess } from "../support/lab/process.js";
import type { Outcome } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { ADMITTED, applyWebhook, create, DRAWBRIDGE, isRefused, programFlags } from "./bridge-on-host.js";
import { hasSshd, SshHost, Workstation } from "./bridge-ssh-host.js";

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

  test("T4: with the bridge both API servers reach the webhook, each by its own route", async () => {
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
    const restartedAt = performance.now();
    await lab.bs.apiServer.start();
    const switchedAt = performance.now();
    await lab.bs.run(["rm", place("ask")]);
    const { code, stdout, stderr } = await ending;
    const endedAt = performance.now();
    const tookMs = endedAt - switchedAt;
    await until("calls after the end", MINUTES, () => {
      return (
        writes.since(endedAt).length > 3 && writes.since(switchedAt).length > 10 && performance.now() > endedAt + 5_000
      );
    });
    const [all, others] = [await writes.stop(), await elsewhere.stop()];
    const after = all.filter(({ begun }) => begun >= switchedAt);
    process.stdout.write(
      `teardown: ${all.length} writes past a webhook, ${after.length} of them after the switch, ${(tookMs / 1000).toFixed(1)} s from switch to receipt\n`,
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(all.slice(0, 5).filter((write) => write.code !== 0)).toEqual([]);
    expect(after.length).toBeGreaterThan(10);
    expect(after.filter((write) => write.code !== 0)).toEqual([]);
    // A kube-apiserver that is just starting answers before it knows all Services; what counts is before and after.
    const earlier = all.filter(({ begun }) => begun < restartedAt);
    expect(earlier.filter((write) => write.stderr.includes("failed calling webhook"))).toEqual([]);
    expect(others.filter((write) => write.code !== 0)).toEqual([]);

    const receipt = JSON.parse(stdout) as Receipt;
    expect(receipt).toMatchObject({ clean: true, apiAnswered: true, warnings: [] });
    const egress = `file ${place("etc")}/egress-selector-config.yaml`;
    expect(receipt.items.find(({ name }) => name === egress)).toMatchObject({ state: "removed" });
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
    // It has to start and to end, too, which takes its time beside another lab.
    expect(tookMs).toBeLessThan(20_000);
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

  test("T1: while the namespace is terminating a second teardown is a no-op; a killed test's webhook goes", async () => {
    await startedBridge();
    const stuck = { name: "stuck", namespace: NAMESPACE, finalizers: ["lab.drawbridge.test/stuck"] };
    await production.admin.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: stuck }, leftConfiguration());
    await lab.bs.apiServer.start();
    const first = await teardown();
    expect(first.code).toBe(0);
    expect(stateOf(first, "MutatingWebhookConfiguration drawbridge-verify-killed")).toBe("removed");
    expect(stateOf(first, `Namespace ${NAMESPACE}`)).toBe("going");
    const second = await teardown("--for-platform=bare", `--kubeconfig=${lab.bs.adminConfig}`);
    expect({ code: second.code, stderr: second.stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(second.stdout) as Receipt).toMatchObject({ nothingToDo: true, clean: true });
    const namespace = (JSON.parse(second.stdout) as Receipt).items.find(
      ({ name }) => name === `Namespace ${NAMESPACE}`,
    );
    expect(namespace).toMatchObject({ state: "going", detail: "its removal was ordered before and it is terminating" });
    const free = JSON.stringify({ metadata: { finalizers: null } });
    await production.admin.run(["patch", "configmap", "stuck", "-n", NAMESPACE, "--type=merge", "-p", free]);
    await until("everything of the bridge to be gone from the cluster", MINUTES, async () => (await labelled()) === "");
  });

  test("T1: from a workstation, with nothing but a kubeconfig, OpenShift's layout and the older one go", async () => {
    const cluster = openshiftObjects(lab);
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

  test.skipIf(!hasSshd())(
    "T1: with the installer's directory, cluster and bootstrap host go; later the machine is gone",
    async () => {
      const host = bootstrapHost(lab);
      const sshd = new SshHost(lab.scope, host, "sshd");
      await sshd.process.ready("listening", 10_000, () => /listening on/i.test(sshd.process.log()));
      const directory = sshd.installDirectory(lab.scope.file("install"), lab.bs.address);
      mkdirSync(`${directory}/auth`);
      writeFileSync(`${directory}/auth/kubeconfig`, readFileSync(production.adminConfig));
      writeFileSync(`${directory}/metadata.json`, JSON.stringify({ infraID: "lab-7x2k9", aws: { region: "x" } }));
      await production.admin.apply(...openshiftObjects(lab));
      const words = [DRAWBRIDGE, "bootstrap", "teardown", `--dir=${directory}`, "--output=json", "--timeout=60s"];
      const workstation = new Workstation(lab.scope);
      const fromWorkstation = () => production.run(words, { timeoutMs: 2 * MINUTES, env: workstation.env });

      const early = await fromWorkstation();
      expect(early.code).toBe(1);
      expect(early.stderr).toContain("Wait until bootstrap is complete");
      expect(await labelled()).toContain("namespace/openshift-bootstrap-konnectivity");

      writeFileSync(host.at("opt/openshift/cb-bootstrap.done"), "");
      const { code, stdout, stderr } = await fromWorkstation();
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const receipt = JSON.parse(stdout) as Receipt;
      expect(receipt).toMatchObject({ clean: true, apiAnswered: true, warnings: [] });
      expect(receipt.others.firewall).toMatchObject({ platform: "aws" });
      expect(JSON.stringify(receipt.others)).toContain("lab-7x2k9");
      const gone = receipt.items
        .filter(({ state }) => state === "removed" || state === "going")
        .map(({ name }) => name);
      expect(gone).toEqual(
        expect.arrayContaining([
          "Namespace openshift-bootstrap-konnectivity",
          "static pod /etc/kubernetes/manifests/konnectivity-server-pod.yaml",
          "directory /opt/openshift/tls/konnectivity",
          "file /etc/kubernetes/bootstrap-configs/egress-selector-config.yaml",
        ]),
      );
      expect(host.list("etc/kubernetes/manifests")).toEqual(["etcd-pod.yaml"]);
      expect(host.exists("opt/openshift/tls/konnectivity")).toBe(false);
      // bootkube.sh is not through, and reads it.
      expect(host.exists("usr/local/bin/konnectivity.sh")).toBe(true);
      expect(workstation.leftovers()).toEqual([]);
      await until("everything of it to be gone from the cluster", MINUTES, async () => (await labelled()) === "");

      await sshd.process.kill();
      await production.admin.apply(...openshiftObjects(lab));
      const later = await fromWorkstation();
      expect({ code: later.code, stderr: later.stderr }).toMatchObject({ code: 0 });
      const lastReceipt = JSON.parse(later.stdout) as Receipt;
      expect(lastReceipt).toMatchObject({ clean: true, nothingToDo: false });
      expect(lastReceipt.others.notes[0]).toMatch(/^The bootstrap machine, if it still exists: .*nothing answers/);
      await until("everything of it to be gone from the cluster", MINUTES, async () => (await labelled()) === "");
    },
  );

  test("T3, T4: after all of it the production kube-apiserver reaches the webhook as before", () => {
    return productionIsUntouched();
  });
});

function stateOf({ stdout }: Outcome, wanted: string): string | undefined {
  return (JSON.parse(stdout) as Receipt).items.find(({ name }) => name === wanted)?.state;
}

function openshiftObjects(lab: BridgeLab): object[] {
  const model = bridgeModel({ for: "openshift", image: lab.image, serverAddresses: [lab.bs.address] });
  return openshiftFiles(model, { cert: "c", key: "k", ca: "a" })
    .filter(({ part }) => part === "cluster")
    .flatMap(({ document }) => document ?? []);
}

/** What `verify --deploy-test-webhook` leaves when it is killed and nobody collects garbage. */
function leftConfiguration(): object {
  const [label, value] = BRIDGE_LABEL.split("=") as [string, string];
  const metadata = { name: "drawbridge-verify-killed", labels: { [label]: value } };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata,
    webhooks: [],
  };
}

/** A bootstrap host in the middle of its work, with a server that ends when its manifest goes. */
function bootstrapHost({ scope, bs }: BridgeLab): BootstrapHost {
  const networks = { service: ["172.30.0.0/16"], machine: ["192.168.66.0/24"] };
  const ignition = inject(bootstrapIgnition(shapes["4.18"], { networks }), {}).text;
  const host = new BootstrapHost(scope, "bootstrap-host", bs.netns, ignition);
  const manifest = "etc/kubernetes/manifests/konnectivity-server-pod.yaml";
  const files = [
    ...[manifest, "etc/kubernetes/manifests/etcd-pod.yaml", "opt/openshift/tls/konnectivity/server.key"],
    ...["etc/kubernetes/bootstrap-configs/egress-selector-config.yaml"],
  ];
  for (const file of files) {
    mkdirSync(dirname(host.at(file)), { recursive: true });
    writeFileSync(host.at(file), "x");
  }
  const socket = "--uds-name=/etc/kubernetes/bootstrap-configs/konnectivity-server.socket";
  const loop = `while [ -e '${host.at(manifest)}' ]; do sleep 0.2; done; sleep 1`;
  LabProcess.start(scope, { name: "server", netns: bs.netns, command: ["bash", "-c", loop, "proxy-server", socket] });
  return host;
}

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
