/**
 * `drawbridge bootstrap up` and `status` as they are typed, on a bare host and on one that kubeadm made: a real
 * kube-apiserver, real kubelets, agents as the DaemonSet's real pods.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import type { Finding } from "../../src/base/finding.js";
import type { BridgeStatus } from "../../src/cluster/bootstrap/host/status.js";
import type { BridgeUpResult } from "../../src/cluster/bootstrap/host/up.js";
import type { Receipt } from "../../src/cluster/bootstrap/teardown/receipt.js";
import type { KubeadmHost } from "../support/lab/bridge/kubeadm-host.js";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import type { WebhookPod } from "../support/lab/bridge/webhook-pod.js";
import { equipped } from "../support/lab/equipment.js";
import { inNamespace } from "../support/lab/process.js";
import { type Outcome, run } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { applyWebhook, DRAWBRIDGE, isRefused, programFlags } from "./bridge-on-host.js";

const MINUTES = 60_000;
/** Issue 4, "Speed". */
const FIRST_ANSWER_MS = 30_000;

const ready = await equipped({ bridge: true });

describe.skipIf(!ready)("on a bare host", () => {
  let lab: BridgeLab;
  let webhook: WebhookPod;
  let asked: readonly string[];

  const place = (name: string): string => lab.scope.file(`drawbridge-${name}`);
  const drawbridge = (...words: string[]): Promise<Outcome> =>
    lab.bs.run([DRAWBRIDGE, "bootstrap", ...words], { timeoutMs: 4 * MINUTES });
  const up = (...words: string[]): Promise<Outcome> => drawbridge("up", ...asked, ...words);
  const status = (): Promise<Outcome> => drawbridge("status", `--state-dir=${place("state")}`, "--output=json");
  const teardown = (...words: string[]): Promise<Outcome> =>
    drawbridge("teardown", `--state-dir=${place("state")}`, "--output=json", ...words);

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 2 });
    webhook = await lab.startWebhook();
    asked = [
      ...[
        "--for-platform=bare",
        "--server=process",
        `--kubeconfig=${lab.bs.adminConfig}`,
        ...(await programFlags(lab)),
      ],
      ...[`--state-dir=${place("state")}`, `--runtime-directory=${place("run")}`, `--config-directory=${place("etc")}`],
    ];
  });
  afterAll(async () => {
    if (lab !== undefined) {
      await lab.bs.apiServer.start();
      await teardown("--force", "--timeout=20s");
    }
    await lab?.stop();
  });

  test("killed again and again, up completes in the end, and says what is left to its owner", async () => {
    for (const afterMs of [150, 400, 700, 1_000, 1_400])
      await killedAfter(lab, afterMs, [DRAWBRIDGE, "bootstrap", "up", ...asked]);
    const { code, stdout, stderr } = await up("--for=2h", "--output=json");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const result = JSON.parse(stdout) as BridgeUpResult;
    expect(result.leftToYou?.flag).toBe(`--egress-selector-config-file=${place("etc")}/egress-selector-config.yaml`);
    expect(stderr).toContain("Add this flag to the kube-apiserver's command and restart it");
    expect(result.address).toBe(lab.bs.address);
    // One server, however often it was begun.
    const servers = async () => (await run(["pgrep", "-fc", `uds-name=${place("run")}`])).stdout.trim();
    await until("one that came too late to be gone", 30_000, async () => (await servers()) === "1");
  });

  test("S1: the server is up, its socket closed to strangers, its port open, and both nodes have an agent", async () => {
    const socket = `${place("run")}/konnectivity-server.socket`;
    expect(statSync(socket).isSocket()).toBe(true);
    expect(statSync(socket).mode & 0o777).toBe(0o770);
    const listening = await lab.bs.run(["ss", "-Hltn", "sport = :8091"]);
    expect(listening.stdout).toContain(":8091");
    const report = JSON.parse((await status()).stdout) as BridgeStatus;
    expect(report.nodes).toEqual([
      { node: "n1", isReady: true, isConnected: true },
      { node: "n2", isReady: true, isConnected: true },
    ]);
    // Only the kube-apiserver does not use it yet.
    expect(report.lines.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(["kube-apiserver"]);
  });

  test("K1: with the flag the kube-apiserver reaches the webhook, sooner than in 30 s", async () => {
    await applyWebhook(lab);
    await lab.bs.apiServer.start(`${place("etc")}/egress-selector-config.yaml`);
    const start = performance.now();
    await until("the first webhook to answer", FIRST_ANSWER_MS, () => isRefused(lab.bs.admin));
    const tookMs = performance.now() - start;
    process.stdout.write(
      `up: first webhook answered ${(tookMs / 1000).toFixed(1)} s after the kube-apiserver was ready\n`,
    );
    expect(tookMs).toBeLessThan(FIRST_ANSWER_MS);
    expect((await webhook.requests("/validate")).length).toBeGreaterThan(0);
  });

  test("status finds everything in order, and a second up everything done", async () => {
    await until("status to be content", MINUTES, async () => (await status()).code === 0);
    const before = await snapshot(lab);
    const { code, stdout } = await up("--output=json");
    expect(code).toBe(0);
    const { steps, leftToYou } = JSON.parse(stdout) as BridgeUpResult;
    expect(leftToYou).toBeUndefined();
    expect([...new Set(steps.map(({ outcome }) => outcome))]).toEqual(["already so"]);
    expect(await snapshot(lab)).toEqual(before);
  });

  test("verify knows from up's record where everything is, the address that the certificate is for included", async () => {
    const { code, stdout } = await drawbridge("verify", `--state-dir=${place("state")}`, "--output=json");
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    expect({ code, failed: findings.filter(({ state }) => state === "failed") }).toEqual({ code: 0, failed: [] });
    const found = (id: string) => findings.find(({ check }) => check === id);
    expect(found("certificates")?.evidence.join()).toContain(lab.bs.address);
    expect(found("server-reachable")?.message).toBe(
      `the server at ${lab.bs.address}:8091 takes the agent's connection, and the agent trusts it`,
    );
    const doctor = await lab.bs.run([DRAWBRIDGE, "doctor", `--state-dir=${place("state")}`, "--role=server"]);
    expect({ code: doctor.code, stdout: doctor.stdout }).toMatchObject({ code: 0 });
    const archive = lab.scope.file("healthy.tar.gz");
    expect((await drawbridge("gather", `--state-dir=${place("state")}`, `--out=${archive}`)).code).toBe(0);
    const analysis = await drawbridge("analyze", "--output=json", archive);
    expect(JSON.parse(analysis.stdout)).toMatchObject({ kind: "drawbridge", findings: [] });
    expect((await run(["tar", "-tzf", archive])).stdout).toMatch(
      /konnectivity-server-process\.log\n(.*\n)*.*server\.crt/,
    );
    // The same from the two places alone, as somebody without the record would say it.
    const places = [`--pki=${place("etc")}/pki`, `--egress-config=${place("etc")}/egress-selector-config.yaml`];
    const flags = [...places, `--kubeconfig=${lab.bs.adminConfig}`, "--output=json"];
    const without = JSON.parse((await drawbridge("verify", "--for=bare", ...flags)).stdout) as { findings: Finding[] };
    const certificates = without.findings.find(({ check }) => check === "certificates");
    expect(certificates?.evidence.join()).toContain(lab.bs.address);
  });

  test("status says what is wrong, with 1, and up mends it", async () => {
    // An up that was killed may have left no server.pid.
    const { lines: whole } = JSON.parse((await status()).stdout) as BridgeStatus;
    const pid = /process (\d+)/.exec(whole.find(({ name }) => name === "server")?.detail ?? "")?.[1];
    process.kill(Number(pid), "SIGKILL");
    await until("the server to be gone", 30_000, () => !existsSync(`/proc/${pid}`));
    const broken = await status();
    expect(broken.code).toBe(1);
    const lines = (JSON.parse(broken.stdout) as BridgeStatus).lines.filter(({ ok }) => !ok);
    expect(lines.map(({ name }) => name)).toEqual(expect.arrayContaining(["server", "port", "ready"]));
    expect((await up()).code).toBe(0);
    await until("status to be content", MINUTES, async () => (await status()).code === 0);
    await until("the webhook to answer again", MINUTES, () => isRefused(lab.bs.admin));
  });

  test("other options, another address and a wrong kubeconfig are refused in one sentence", async () => {
    const other = (flag: string): string => lab.scope.file(`drawbridge-other-${flag}`);
    const refusals = [
      await up("--protocol=http-connect"),
      await up("--address=192.168.66.99"),
      await drawbridge(
        "up",
        ...["--for-platform=bare", "--kubeconfig=/dev/null"],
        ...["state-dir", "runtime-directory", "config-directory"].map((flag) => `--${flag}=${other(flag)}`),
      ),
    ];
    const codes = ["DB_BRIDGE_EXISTS", "DB_ADDRESS_CHANGED", "DB_KUBECONFIG"];
    for (const [index, { code, stdout, stderr }] of refusals.entries()) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr.trimEnd().split("\n").at(-1)).toMatch(new RegExp(`^Error: .*\\(${codes[index]}: .*\\)$`));
    }
    expect(readdirSync(lab.scope.folder).filter((name) => name.startsWith("drawbridge-other"))).toEqual([]);
  });
});

describe.skipIf(!ready)("on a host that kubeadm made", () => {
  let lab: BridgeLab;
  let host: KubeadmHost;
  let original: string;

  /** With the host's files, network and processes, as somebody with a shell there. */
  const drawbridge = (...words: string[]): Promise<Outcome> => {
    const [nsenter, ...rest] = host.machine.command([DRAWBRIDGE, "bootstrap", ...words]);
    return run([nsenter, "--pid", ...rest], { timeoutMs: 5 * MINUTES });
  };
  const state = () => `--state-dir=${lab.scope.file("drawbridge-state")}`;

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 1, production: true });
    host = await lab.becomeKubeadmHost();
    original = await inKubeadmsManner(host);
    // The rest of /etc is this machine's own.
    await host.machine.run(["mount", "-t", "tmpfs", "tmpfs", "/etc/tmpfiles.d"]);
    // A kube-apiserver makes itself known after it has become ready.
    const known = ["get", "endpoints", "kubernetes", "-ojsonpath={.subsets[*].addresses[*].ip}"];
    await until("both kube-apiservers to be known", MINUTES, async () => {
      return (await lab.production!.admin.run(known)).trim().split(" ").length === 2;
    });
  });
  afterAll(() => lab?.stop());

  test("several kube-apiservers are refused until it is said that the others need no bridge", async () => {
    const { code, stderr } = await drawbridge("up", `--kubeconfig=${lab.bs.adminConfig}`, state(), "--apply");
    expect(code).toBe(1);
    expect(stderr).toMatch(/has 2 kube-apiservers \(192\.168\.66\.10, 192\.168\.66\.11\).*DB_HIGHLY_AVAILABLE/);
    expect(existsSync(lab.scope.file("drawbridge-state"))).toBe(false);
  });

  test("up --apply makes the server a static pod, changes the manifest and sees both run", {
    timeout: 5 * MINUTES,
  }, async () => {
    const flags = [
      "--apply",
      "--only-this-apiserver",
      `--image=${lab.image}`,
      "--for=1h",
      "--timeout=150s",
      "--output=json",
    ];
    const start = performance.now();
    const { code, stdout, stderr } = await drawbridge("up", `--kubeconfig=${lab.bs.adminConfig}`, state(), ...flags);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    process.stdout.write(`up --apply on a kubeadm host: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
    const { steps } = JSON.parse(stdout) as BridgeUpResult;
    expect(steps.map(({ name }) => name)).toContain("tmpfiles");
    expect(new Set(steps.map(({ outcome }) => outcome))).not.toContain("left to you");
    // Nothing but manifests where the kubelet looks; the copy is elsewhere, byte for byte.
    expect(readdirSync(join(host.etc, "manifests")).sort()).toEqual([
      "konnectivity-server-pod.yaml",
      "kube-apiserver.yaml",
    ]);
    expect(readFileSync(lab.scope.file(`drawbridge-state/${basename(host.manifest)}`), "utf8")).toBe(original);
    expect((await host.machine.run(["pgrep", "-f", "^kube-apiserver .*egress-selector-config-file"])).code).toBe(0);
  });

  test("K1: the webhook answers through it, and status is content", async () => {
    await lab.startWebhook();
    await applyWebhook(lab);
    await until("the webhook to answer", MINUTES, () => isRefused(lab.bs.admin));
    const { code, stdout } = await drawbridge("status", state(), "--output=json");
    expect({ code, lines: (JSON.parse(stdout) as BridgeStatus).lines.filter(({ ok }) => !ok) }).toEqual({
      code: 0,
      lines: [],
    });
  });

  test("T1: teardown gives the kube-apiserver its own manifest back, then takes server and agents", async () => {
    const receiptFile = lab.scope.file("receipt.json");
    const { code, stdout, stderr } = await drawbridge(
      "teardown",
      state(),
      "--timeout=3m",
      "--output=json",
      `--receipt=${receiptFile}`,
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const receipt = JSON.parse(stdout) as Receipt;
    expect(receipt).toMatchObject({ clean: true, apiAnswered: true });
    expect(receipt.items.find(({ thing }) => thing.type === "setting")).toMatchObject({ state: "restored" });
    expect(readFileSync(host.manifest, "utf8")).toBe(original);
    expect(readdirSync(join(host.etc, "manifests"))).toEqual(["kube-apiserver.yaml"]);
    expect(existsSync(join(host.etc, "drawbridge-bootstrap"))).toBe(false);
    expect(existsSync(lab.scope.file("drawbridge-state"))).toBe(false);
    expect((await host.machine.run(["ls", "/etc/tmpfiles.d"])).stdout).toBe("");
    expect((await host.machine.run(["pgrep", "-f", "uds-name=/run/drawbridge-bootstrap"])).code).toBe(1);
    await until("the kube-apiserver to be ready", MINUTES, () => lab.bs.apiServer.isReady());
    expect(JSON.parse(readFileSync(receiptFile, "utf8"))).toEqual(receipt);
    expect(readFileSync(receiptFile.replace(".json", ".md"), "utf8")).toContain("**Clean.**");
  });
});

/** The lab writes JSON; kubeadm writes YAML with sorted keys and lists that are not indented. The same pod to a kubelet. */
async function inKubeadmsManner({ etc, manifest }: KubeadmHost): Promise<string> {
  const pod: unknown = JSON.parse(readFileSync(manifest, "utf8"));
  const text = stringify(pod, { sortMapEntries: true, indentSeq: false, lineWidth: 0 });
  writeFileSync(join(etc, "kube-apiserver.yaml"), text, { mode: 0o600 });
  renameSync(join(etc, "kube-apiserver.yaml"), manifest);
  return text;
}

/** Begins the command on the bootstrap host and kills it, whatever it is at. */
async function killedAfter(lab: BridgeLab, ms: number, command: readonly string[]): Promise<void> {
  const [program, ...args] = inNamespace(lab.bs.netns, command);
  const child = spawn(program as string, args, { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  await ended;
  clearTimeout(timer);
}

/** Everything a second run could have changed. */
async function snapshot(lab: BridgeLab): Promise<string> {
  const places = ["state", "run", "etc"].map((name) => lab.scope.file(`drawbridge-${name}`));
  const files = await run(["find", ...places, "-printf", "%p %m %T@ %s\n"]);
  const versions = "-ojsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{'\\n'}{end}";
  const kinds = await lab.kubectl("get", "secrets", "-n", "drawbridge-bootstrap", versions);
  const generation = await lab.kubectl(
    "get",
    "daemonset/konnectivity-agent",
    "-n",
    "drawbridge-bootstrap",
    "-ojsonpath={.metadata.generation}",
  );
  return [
    ...files.stdout
      .split("\n")
      .filter((line) => !line.includes("server.log"))
      .sort(),
    kinds,
    generation,
  ].join("\n");
}
