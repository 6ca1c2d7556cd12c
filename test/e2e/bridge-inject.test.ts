/**
 * The injected functions, executed: bootkube.sh of an injected bootstrap.ign runs on a host of its own (real bash, openssl,
 * ip and kubectl; only the containers are played), is killed before each of their commands, and what it writes brings up
 * the tunnel to a real kube-apiserver. The tests of one story run in order and build on each other.
 */
import { chmodSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { inject } from "../../src/cluster/bootstrap/inject/inject.js";
import { readCleanupState } from "../../src/cluster/bootstrap/model/cleanup.js";
import { flagsOf } from "../support/ignition-fixtures/apiserver-config.js";
import { BootstrapHost } from "../support/ignition-fixtures/host/bootstrap-host.js";
import { AgentPod, StaticPod } from "../support/ignition-fixtures/host/pods.js";
import { bootstrapIgnition } from "../support/ignition-fixtures/ignition.js";
import { shapes } from "../support/ignition-fixtures/releases.js";
import { hasTools } from "../support/ignition-fixtures/tools.js";
import { type ControlPlane, makeControlPlane } from "../support/lab/control-plane.js";
import { controlPlaneExecutables, equipped } from "../support/lab/equipment.js";
import { get } from "../support/lab/http.js";
import { metric } from "../support/lab/metrics.js";
import * as objects from "../support/lab/objects.js";
import type { LabProcess } from "../support/lab/process.js";
import { SERVER_METRIC } from "../support/lab/proxy-server.js";
import { run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { address, makeTopology, type Topology } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";
import { Webhook } from "../support/lab/webhook-process.js";

const ready = (await equipped({ controlPlane: true, namespaces: true })) && hasTools("bash", "ip", "jq", "openssl");

const NAMESPACE = "openshift-bootstrap-konnectivity";
const POD = "konnectivity-server-pod.yaml";
const UNIT = "konnectivity-cleanup.service";
const BOOTKUBE = "/usr/local/bin/bootkube.sh";
const networks = { service: ["172.30.0.0/16"], machine: ["192.168.66.0/24"] };
const modern = () => inject(bootstrapIgnition(shapes["4.18"], { networks }), {}).text;
const STAGES = [
  "konnectivity-certs",
  "konnectivity-server-bootstrap",
  "konnectivity-agent-manifest",
  "konnectivity-cleanup",
];

// Killed before each command means some dozens of runs, each as long as a busy machine makes it.
describe.skipIf(!ready)("an injected bootstrap host", { timeout: 600_000 }, () => {
  const scope = new Scope("inject");
  let topology: Topology;
  let host: BootstrapHost;
  let plane: ControlPlane;
  let bootkube: LabProcess;
  let server: StaticPod;
  let webhook: Webhook;
  let killAt = 0;

  beforeAll(async () => {
    topology = await makeTopology(scope);
    host = new BootstrapHost(scope, "bootstrap-host", topology.bs, modern());
    const executables = controlPlaneExecutables();
    const kubeApiServer = scope.file("kube-apiserver.sh");
    // As the rendered pod mounts it: one directory of the host under another name.
    const mounts = [["/etc/kubernetes/bootstrap-configs", "/etc/kubernetes/config"]] as const;
    const words = host.entered([executables.kubeApiServer], mounts).map((word) => `'${word}'`);
    writeFileSync(kubeApiServer, `#!/usr/bin/env bash\nexec ${words.join(" ")} "$@"\n`);
    chmodSync(kubeApiServer, 0o755);
    plane = await makeControlPlane(scope, {
      executables: { ...executables, kubeApiServer },
      netns: topology.bs,
      host: address.bs,
    });
    host.giveKubeconfig(plane.adminConfig);
  });
  afterAll(() => scope.close());

  const cleanup = () => readCleanupState(host.read("opt/openshift/konnectivity-cleanup.json"))!;
  const done = (stage: string) => host.exists(`opt/openshift/${stage}.done`);

  /** Starts bootkube.sh so that it dies one command later than the last time. */
  const startDoomed = () => {
    killAt += 1;
    bootkube = host.startBootkube({ KILL_AT: String(killAt), KILL_SCRIPT: BOOTKUBE });
  };

  /** What must hold whenever the host could be looked at. */
  const nothingIsHalf = () => {
    const shown = host.list("etc/kubernetes/manifests").filter((name) => !name.startsWith("."));
    for (const name of shown) {
      const text = host.read(join("etc/kubernetes/manifests", name));
      expect(text).not.toContain("${");
      expect(parse(text)).toMatchObject({ kind: "Pod" });
    }
    if (host.exists("opt/openshift/tls/konnectivity")) {
      const made = host.list("opt/openshift/tls/konnectivity");
      expect(made).toEqual(expect.arrayContaining(["agent.crt", "agent.key", "ca.crt", "server.crt", "server.key"]));
      expect(made).not.toContain("ca.key");
    }
  };

  test("killed before every command of setup and manifests, bootkube.sh gets through in the end", async () => {
    for (;;) {
      startDoomed();
      const started = () => host.exists("opt/openshift/test/cluster-bootstrap-started");
      await until(`run ${killAt} to die or to get on`, 60_000, () => !bootkube.alive || started());
      nothingIsHalf();
      if (done("konnectivity-server-bootstrap")) expect(host.list("etc/kubernetes/manifests")).toContain(POD);
      if (started()) break;
      expect(killAt).toBeLessThan(250);
    }
    expect(killAt).toBeGreaterThan(20);
    expect(bootkube.alive).toBe(true);
    for (const stage of STAGES.slice(0, 3)) expect(done(stage)).toBe(true);
    expect(host.list("etc/kubernetes/manifests")).toEqual([POD]);
    expect(host.list("opt/openshift/tls").filter((name) => name.includes(".new."))).toEqual([]);
    expect(host.list("opt/openshift/manifests").filter((name) => name.includes("konnectivity"))).toEqual([
      ...["konnectivity-agent-certs.yaml", "konnectivity-agent-daemonset.yaml", "konnectivity-namespace.yaml"],
    ]);
  });

  test("S1: the static pod it wrote starts the server", async () => {
    server = new StaticPod(scope, host, POD);
    expect(server.image).toMatch(/^quay.io\/lab\/apiserver-network-proxy@sha256:/);
    const healthy = async () => (await get("http://127.0.0.1:2041/healthz", topology.bs)).status === 200;
    await server.process.ready("healthy", 60_000, healthy);
    const socket = host.at("etc/kubernetes/bootstrap-configs/konnectivity-server.socket");
    expect(statSync(socket).isSocket()).toBe(true);
    expect((statSync(socket).mode & 0o777).toString(8)).toBe("770");
  });

  test("G4: the rendered configuration starts a real kube-apiserver with the egress flag, once", async () => {
    const config = parse(host.read("etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml"));
    const [flag, ...more] = flagsOf(config).filter((word) => word.startsWith("--egress-selector-config-file="));
    expect(more).toEqual([]);
    await plane.apiServer.start(flag!.split("=")[1]);
  });

  test("A1: the agents it had created connect", async () => {
    const created = () => host.exists("opt/openshift/test/cluster-bootstrap-created");
    await until("cluster-bootstrap to have created the objects", 60_000, created);
    const pods = [topology.ag, topology.wh];
    const agents = await Promise.all(
      pods.map((netns) => AgentPod.start(scope, plane.admin, NAMESPACE, "konnectivity-agent", netns)),
    );
    for (const agent of agents)
      await agent.process.ready("connected", 60_000, async () => (await agent.health("/readyz")).status === 200);
    // The server greets an agent before it counts it.
    await until("the server to have both", 30_000, async () => {
      const { body } = await get("http://127.0.0.1:8095/metrics", topology.bs);
      return metric(body, `${SERVER_METRIC}_ready_backend_connections`) === 2;
    });
  });

  test("K1: a webhook in the pod network is asked, through the tunnel", async () => {
    webhook = await Webhook.start(scope, objects.SERVICE, plane.ca, address.wh, topology.wh);
    await plane.admin.apply(objects.namespace);
    const hook = objects.validatingWebhook("validate-in-pod", "pod", objects.byService("/validate"), plane.ca.cert);
    await plane.admin.apply(objects.service, objects.endpoints, hook);
    let made = 0;
    await until("the webhook to be asked", 60_000, async () => {
      made += 1;
      const object = objects.configMap(`made-${made}`, "pod");
      const { code, stderr } = await plane.admin.try(["create", "-f", "-"], JSON.stringify(object));
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return webhook.requests("/validate").length > 0;
    });
    const sources = new Set(webhook.requests("/validate").map(({ from }) => from));
    for (const from of sources) expect([address.ag, address.wh]).toContain(from);
    const direct = ["curl", "-skS", "--max-time", "5", `https://${address.wh}:8443/`];
    expect((await run(direct, { netns: topology.bs })).code).toBe(7);
  });

  test("T1, L1: killed before every command of the cleanup, it leaves nothing and ends", async () => {
    host.toggle("control-plane-ready");
    // In the middle of cluster-bootstrap, as a reboot would; from here on before each command again.
    await bootkube.kill();
    killAt = 0;
    for (;;) {
      startDoomed();
      await until(`run ${killAt} to end`, 60_000, () => !bootkube.alive);
      nothingIsHalf();
      if (host.exists("opt/openshift/.bootkube.done")) break;
      expect(killAt).toBeLessThan(150);
    }
    expect(killAt).toBeGreaterThan(10);
    expect(host.list("etc/kubernetes/manifests")).toEqual([]);
    expect(host.list("etc/kubernetes/bootstrap-configs")).toEqual(["kube-apiserver-config.yaml"]);
    expect(host.list("opt/openshift/tls")).toEqual([]);
    expect(host.exists("opt/openshift/manifests/konnectivity-agent-certs.yaml")).toBe(false);
    await server.process.stop();
    const { metadata } = await plane.admin.json<{ metadata: { deletionTimestamp?: string } }>([
      "get",
      "namespace",
      NAMESPACE,
    ]);
    expect(metadata.deletionTimestamp).toBeDefined();
    expect(await plane.admin.run(["get", "daemonset,secret", "-n", NAMESPACE, "-o", "name"])).toBe("");
    expect(host.recorded().filter((line) => line.endsWith("failure"))).toEqual([]);
    await finalize(plane);
  });

  test("inject on a file that was injected before changes nothing", async () => {
    const before = host.recorded().length;
    expect(await host.bootkube()).toMatchObject({ code: 0 });
    expect(host.recorded()).toHaveLength(before);
  });

  test("L1: a payload without the programs fails its stage with one sentence; with them all four succeed", async () => {
    const other = new BootstrapHost(scope, "other-host", topology.bs, modern());
    other.giveKubeconfig(plane.adminConfig);
    other.toggle("no-image");
    other.toggle("control-plane-ready");
    const { code, stderr } = await other.bootkube();
    expect(code).toBe(1);
    expect(stderr.trim().split("\n").at(-1)).toMatch(
      /^konnectivity: this release has no image apiserver-network-proxy; /,
    );
    other.toggle("no-image", false);
    expect(await other.bootkube()).toMatchObject({ code: 0 });
    expect(other.recorded().filter((line) => line.startsWith("konnectivity"))).toEqual([
      "konnectivity-certs success",
      "konnectivity-server-bootstrap failure",
      ...STAGES.slice(1).map((stage) => `${stage} success`),
    ]);
    await finalize(plane);
  });

  test.each([
    ["4.6", { image: "quay.io/lab/tunnel:1" }],
    ["4.11", {}],
    ["4.23 off", { protocol: "HTTPConnect" }],
  ] as const)("bootkube.sh of %s runs from end to end as well", async (name, options) => {
    const ignition = inject(bootstrapIgnition(shapes[name], { networks }), options).text;
    const other = new BootstrapHost(scope, `host-${name.replace(" ", "-")}`, topology.bs, ignition);
    other.giveKubeconfig(plane.adminConfig);
    other.toggle("control-plane-ready");
    expect(await other.bootkube()).toMatchObject({ code: 0 });
    for (const stage of STAGES) expect(other.exists(`opt/openshift/${stage}.done`)).toBe(true);
    const config = parse(other.read("opt/openshift/kube-apiserver-bootstrap/config"));
    expect(flagsOf(config)).toContain(
      "--egress-selector-config-file=/etc/kubernetes/config/egress-selector-config.yaml",
    );
    expect(other.list("etc/kubernetes/manifests")).toEqual([]);
    await finalize(plane);
  });

  test("T2: with the API gone bootkube.sh still ends in bounded time, and hands the clean-up to its unit", async () => {
    await plane.admin.run(["create", "namespace", NAMESPACE]);
    await plane.admin.run(["create", "secret", "generic", "konnectivity-agent-certs", "-n", NAMESPACE]);
    await plane.apiServer.stop();
    for (const marker of [".bootkube.done", "konnectivity-cleanup.done"]) rmSync(host.at("opt/openshift", marker));
    const began = performance.now();
    const { code, stderr } = await host.bootkube({ KONNECTIVITY_CLEANUP_SECONDS: "3" });
    expect(code).toBe(0);
    expect(performance.now() - began).toBeLessThan(45_000);
    expect(stderr).toContain("konnectivity: warning: the agents could not be removed within 3 s: ");
    expect(host.exists("opt/openshift/.bootkube.done")).toBe(true);
    expect(host.recorded().at(-1)).toBe("konnectivity-cleanup failure");
    expect(host.isEnabled(UNIT)).toBe(true);
    expect(cleanup()).toMatchObject({ state: "pending", namespace: NAMESPACE });
    expect(cleanup().lastError).toMatch(/refused|connect/);
  });

  test("T2: the unit fails and is started again while the API is away; when it is back, nothing is left", async () => {
    const { attempts } = cleanup();
    expect(await host.runUnit(UNIT, { KONNECTIVITY_RETRY_SECONDS: "0" })).toMatchObject({ code: 1 });
    expect(cleanup()).toMatchObject({ state: "pending", attempts: attempts + 1 });
    expect(host.recorded("konnectivity-cleanup")).toEqual(["konnectivity-cleanup failure"]);
    // In the middle of a run, as a control plane comes back.
    const running = host.runUnit(UNIT, { KONNECTIVITY_RETRY_SECONDS: "50" });
    await plane.apiServer.start();
    expect(await running).toMatchObject({ code: 0 });
    expect(cleanup().state).toBe("removed");
    expect(host.isEnabled(UNIT)).toBe(false);
    expect(host.recorded("konnectivity-cleanup").at(-1)).toBe("konnectivity-cleanup success");
    expect(await plane.admin.run(["get", "secret", "-n", NAMESPACE, "-o", "name"])).toBe("");
    const { metadata } = await plane.admin.json<{ metadata: { deletionTimestamp?: string } }>([
      ...["get", "namespace", NAMESPACE],
    ]);
    expect(metadata.deletionTimestamp).toBeDefined();
  });

  test.each([3, 25, 60, 90])("certificates whose making is killed (%i) are made by the next run", async (at) => {
    const other = new BootstrapHost(scope, `killed-${at}`, topology.bs, modern());
    const script = `cd /opt/openshift; . <(sed '/^if .*kube-apiserver-bootstrap.done/,$d' ${BOOTKUBE})`;
    const kill = { KILL_AT: String(at), KILL_SCRIPT: "/usr/local/bin/konnectivity-certs.sh", KILL_FUNCTIONS: "*" };
    const { code, stderr } = await other.bash(script, { env: kill });
    expect(code).toBe(1);
    expect(stderr.trim().split("\n").at(-1)).toMatch(
      /^konnectivity: the certificates for 192.168.66.10 could not be made/,
    );
    expect(other.recorded().at(-1)).toBe("konnectivity-certs failure");
    expect(other.exists("opt/openshift/tls/konnectivity")).toBe(false);
    expect(await other.bash(script)).toMatchObject({ code: 0 });
    expect(other.list("opt/openshift/tls")).toEqual(["konnectivity"]);
  });
});

/** What the namespace controller does when nothing is left inside. */
async function finalize({ admin }: ControlPlane): Promise<void> {
  const left = await admin.json<{ spec: object }>(["get", "namespace", NAMESPACE]);
  const body = JSON.stringify({ ...left, spec: {} });
  await admin.run(["replace", "--raw", `/api/v1/namespaces/${NAMESPACE}/finalize`, "-f", "-"], body);
}
