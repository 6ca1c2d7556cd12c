/**
 * `drawbridge bootstrap verify` beside a real kube-apiserver, with agents and webhooks as real pods. The tests are one
 * story: they run in order and build on each other.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../src/base/finding.js";
import { serverArguments } from "../../src/cluster/bootstrap/model/created.js";
import { type BridgeModel, type BridgeOptions, bridgeModel } from "../../src/cluster/bootstrap/model/model.js";
import { pkiFile } from "../../src/cluster/bootstrap/model/names.js";
import { renderedFiles } from "../../src/cluster/bootstrap/render/render.js";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import type { WebhookPod } from "../support/lab/bridge/webhook-pod.js";
import { Authority } from "../support/lab/certificates.js";
import { equipped, origin, underTest } from "../support/lab/equipment.js";
import { get } from "../support/lab/http.js";
import { metric } from "../support/lab/metrics.js";
import * as objects from "../support/lab/objects.js";
import { inNamespace, LabProcess } from "../support/lab/process.js";
import { SERVER_METRIC } from "../support/lab/proxy-server.js";
import type { Outcome } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../support/lab/webhook/aggregated.js";

const DRAWBRIDGE = fileURLToPath(new URL("../../dist/bin/drawbridge", import.meta.url));
const AGENTS = ["-n", "drawbridge-bootstrap", "daemonset/konnectivity-agent"];
const CONVERTED = `drawings.${objects.CRD_GROUP}`;
const IN_POD = "webhook:validate-in-pod/validate-in-pod.lab.drawbridge.test";

const ready = await equipped({ bridge: true });

describe.skipIf(!ready)("verify", () => {
  let lab: BridgeLab;
  let model: BridgeModel;
  let webhook: WebhookPod;

  const flags = (): string[] => [
    ...["bootstrap", "verify", "--for=bare", `--kubeconfig=${lab.bs.adminConfig}`, `--address=${lab.bs.address}`],
    ...[`--pki=${model.paths.pki.host}`, `--egress-config=${model.paths.egressConfig.host}`],
  ];
  const verify = (...more: string[]): Promise<Outcome> =>
    lab.bs.run([DRAWBRIDGE, ...flags(), ...more], { timeoutMs: 150_000 });
  const results = async (...more: string[]) => {
    const { code, stdout, stderr } = await verify("--output=json", ...more);
    expect(stderr).toBe("");
    const { findings: list } = JSON.parse(stdout) as { findings: Finding[] };
    return { code, list, byId: Object.fromEntries(list.map((finding) => [finding.check, finding])) };
  };
  /** Only our own image has the webhook's program. */
  const deployed = () => ["--deploy-test-webhook", ...(origin === "ours" ? [] : [`--test-image=${lab.image}`])];
  const failed = (list: readonly Finding[]) => list.filter(({ state }) => state === "failed");
  const serverMetrics = async () =>
    (await get(`http://127.0.0.1:${model.ports.serverHealth}/metrics`, lab.bs.netns)).body;
  const dials = async () => metric(await serverMetrics(), `${SERVER_METRIC}_dial_duration_seconds_count`);
  const backends = async () => metric(await serverMetrics(), `${SERVER_METRIC}_ready_backend_connections`);
  const leftovers = async () => {
    const kinds = "pods,services,secrets,configmaps,mutatingwebhookconfigurations,validatingwebhookconfigurations";
    return (await lab.kubectl("get", kinds, "-A", "-l", "drawbridge-verify", "-oname")).trim();
  };

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 2 });
    model = await raise(lab);
    webhook = await lab.startWebhook();
    await lab.apply(
      objects.validatingWebhook("validate-in-pod", "pod", objects.byService("/validate"), lab.plane.ca.cert),
      objects.mutatingWebhook("mutate-in-pod", "mutate", objects.byService("/mutate"), lab.plane.ca.cert),
      objects.validatingWebhook("by-url", "url", { url: "https://192.168.66.1:8443/validate" }, lab.plane.ca.cert),
      objects.aggregatedApi(lab.plane.ca.cert),
      objects.drawings(lab.plane.ca.cert),
    );
    await until("two agents", 120_000, async () => (await backends()) === 2);
    // What was asked for before there was a way is asked again by and by.
    await lab.kubectl("rollout", "status", ...AGENTS, "--timeout=110s");
    const api = `apiservice/${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;
    for (const [condition, object] of [
      ["Available", api],
      ["Established", `crd/${CONVERTED}`],
    ] as const) {
      await lab.kubectl("wait", `--for=condition=${condition}`, "--timeout=110s", object);
    }
  });
  afterAll(() => lab?.stop());

  test("a bridge that works passes everything, and the webhook was really called, dry run, through the tunnel", async () => {
    const before = { dials: await dials(), asked: (await webhook.requests("/validate")).length };
    const { code, list, byId } = await results();
    expect(failed(list)).toEqual([]);
    expect(code).toBe(0);
    expect(list.filter(({ state }) => state === "skipped").map(({ check }) => check)).toEqual([
      "webhook:by-url/by-url.lab.drawbridge.test",
    ]);
    expect(byId[IN_POD]).toMatchObject({ state: "ok", details: { called: true, allowed: true, blocks: false } });
    expect(byId[`apiservice:${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`]).toMatchObject({ details: { status: 200 } });
    expect(byId[`conversion:${CONVERTED}`]).toMatchObject({
      state: "ok",
      details: { called: true, converted: true, from: "v1", to: "v2", blocks: false },
    });
    expect((await webhook.requests("/convert")).at(-1)?.from).toMatch(/^10\.128\./);
    expect(byId.agents).toMatchObject({ details: { agents: 2, nodes: 2, nodesWithout: [] } });
    expect(byId["api-server-flag"]?.message).toContain("the running kube-apiserver");
    expect(byId["egress-config"]?.evidence.join(" ")).toContain("the running proxy-server: --mode=");
    expect(await dials()).toBeGreaterThanOrEqual(before.dials + 4);
    const asked = (await webhook.requests("/validate")).slice(before.asked);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.from).toMatch(/^10\.128\./);
  });

  test("verify prints a table for people, without any secret", async () => {
    const { code, stdout } = await verify("--webhook=validate-in-pod");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {7}health: The proxy-server is ready\.\n/);
    expect(stdout).toContain("would allow CREATE of a ConfigMap");
    expect(stdout).toMatch(/\n0 failed, 0 warnings, \d+ ok, 0 skipped\.\nThe bridge works\.\n$/);
    expect(stdout).not.toMatch(/PRIVATE KEY|BEGIN CERT/);
  });

  test("a test webhook proves that the kube-apiserver's call takes the tunnel, and is gone afterwards", async () => {
    const { code, byId } = await results("--webhook=validate-in-pod", ...deployed());
    const proof = byId["test-webhook"]!;
    expect(proof, proof.message).toMatchObject({ state: "ok" });
    expect(code).toBe(0);
    const { dialsBefore, dialsAfter, calledFrom } = proof.details as Record<string, number | string>;
    expect(Number(dialsAfter)).toBeGreaterThan(Number(dialsBefore));
    expect(calledFrom).toMatch(/10\.128\./);
    expect(await leftovers()).toBe("");
  });

  test("interrupted, it removes its webhook, too", async () => {
    const [program, ...args] = inNamespace(lab.bs.netns, [DRAWBRIDGE, ...flags(), ...deployed()]);
    const child = spawn(program!, args, { stdio: "pipe" });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk));
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    await until("the test webhook's pod", 60_000, async () => (await leftovers()).includes("pod/"));
    child.kill("SIGINT");
    expect(await ended).toBe(1);
    expect(output).toContain("interrupted (SIGINT)");
    expect(await leftovers()).toBe("");
  });

  test("a webhook with the wrong caBundle is found, and the kube-apiserver agrees", async () => {
    const other = new Authority(lab.scope.folder, "other-ca");
    await lab.apply(objects.validatingWebhook("wrong-ca", "wrong", objects.byService("/validate"), other.cert));
    const { code, list, byId } = await results();
    const id = "webhook:wrong-ca/wrong-ca.lab.drawbridge.test";
    expect(failed(list).map(({ check }) => check)).toEqual([id]);
    expect(code).toBe(1);
    expect(byId[id]).toMatchObject({ details: { blocks: true } });
    expect(byId[id]?.message).toMatch(/was not signed by any of its caBundle/);
    expect(byId[id]?.remedy).toContain("ValidatingWebhookConfiguration wrong-ca webhooks[0].clientConfig.caBundle");
    const config = JSON.stringify(objects.configMap("blocked", "wrong"));
    await until("the webhook to be in force", 60_000, async () => {
      const { stderr } = await lab.bs.admin.try(["create", "--dry-run=server", "-f", "-"], config);
      return /failed calling webhook.*certificate/.test(stderr);
    });
    await lab.kubectl("delete", "validatingwebhookconfiguration", "wrong-ca");
  });

  test("a conversion webhook with the wrong caBundle is found, and the kube-apiserver agrees", async () => {
    const other = new Authority(lab.scope.folder, "another-ca");
    const drawing = {
      ...{ apiVersion: `${objects.CRD_GROUP}/v1`, kind: "Drawing", spec: { width: 7 } },
      metadata: { name: "plan", namespace: objects.NAMESPACE },
    };
    await lab.apply(drawing);
    await lab.apply(objects.drawings(other.cert));
    const { code, list, byId } = await results(`--conversion=${CONVERTED}`);
    const id = `conversion:${CONVERTED}`;
    expect(failed(list).map(({ check }) => check)).toEqual([id]);
    expect(code).toBe(1);
    expect(byId[id]).toMatchObject({ details: { blocks: true } });
    expect(byId[id]?.message).toMatch(/was not signed by any of its caBundle.*in v2 would be refused/);
    expect(byId[id]?.remedy).toContain(`CustomResourceDefinition ${CONVERTED} spec.conversion.webhook.clientConfig`);
    const path = `/apis/${objects.CRD_GROUP}/v2/namespaces/${objects.NAMESPACE}/drawings/plan`;
    await until("the kube-apiserver to have read it", 60_000, async () => {
      const { stderr } = await lab.bs.admin.try(["get", "--raw", path]);
      return /conversion webhook.*failed.*certificate/.test(stderr);
    });
    await lab.apply(objects.drawings(lab.plane.ca.cert));
  });

  test("verify without agents names the nodes and the remedy", async () => {
    const patch = { spec: { template: { spec: { nodeSelector: { nowhere: "yes" } } } } };
    await lab.kubectl("patch", ...AGENTS, "--type=merge", "-p", JSON.stringify(patch));
    const pods = () => lab.kubectl("get", "pods", "-n", "drawbridge-bootstrap", "-oname");
    await until("no agent", 60_000, async () => (await backends()) === 0 && (await pods()).trim() === "");
    const { code, byId } = await results("--webhook=validate-in-pod");
    expect(code).toBe(1);
    expect(byId.health).toMatchObject({ state: "failed", remedy: expect.stringContaining("8091") });
    expect(byId.agents).toMatchObject({ state: "failed", details: { agents: 0, nodesWithout: ["n1", "n2"] } });
    expect(byId.agents?.message).toContain("n1 (no agent's pod there), n2");
    expect(byId.agents?.remedy).toContain(`${lab.bs.address}:8091 (drawbridge firewall plan)`);
    expect(byId[IN_POD]).toMatchObject({ state: "failed", details: { blocks: true } });
    expect(byId[IN_POD]?.message).toMatch(
      /No agent available.*failurePolicy Fail: matching requests would be refused/i,
    );
    const create = ["create", "--dry-run=server", "-f", "-"];
    const refused = await lab.bs.admin.try(create, JSON.stringify(objects.configMap("no-agent", "pod")));
    expect(refused.stderr).toContain("failed calling webhook");
  });
});

/** What `up` does on a bare host: certificates, server, egress configuration, agents. */
async function raise(lab: BridgeLab): Promise<BridgeModel> {
  const { scope, bs } = lab;
  const model = bridgeModel({
    ...{ for: "bare", serverForm: "process", serverAddresses: [bs.address], ...(await programs(lab)) },
    ...{ runtimeDirectory: scope.file("drawbridge-run"), configDirectory: scope.file("drawbridge-etc") },
  });
  const { paths } = model;
  const pki = await bs.run([
    DRAWBRIDGE,
    "pki",
    "init",
    "--profile=bootstrap",
    `--dir=${paths.pki.host}`,
    `--ip=${bs.address}`,
  ]);
  expect(pki).toMatchObject({ code: 0, stderr: "" });
  for (const { path, mode } of paths.ownDirectories) mkdirSync(path, { recursive: true, mode });
  const text = (file: Parameters<typeof pkiFile>[1]) => readFileSync(pkiFile(paths.pki.host, file), "utf8");
  const files = renderedFiles(model, { cert: text("agentCert"), key: text("agentKey"), ca: text("ca") });
  for (const { part, path, text: content } of files) if (part === "host" && path) writeFileSync(path, content);
  const server = LabProcess.start(scope, {
    ...{ name: "bridge-server", netns: bs.netns },
    command: [underTest("proxy-server"), ...serverArguments(model)],
  });
  const health = `http://127.0.0.1:${model.ports.serverHealth}/healthz`;
  await server.ready("healthy", 60_000, async () => (await get(health, bs.netns)).status === 200);
  await bs.apiServer.start(paths.egressConfig.host);
  const documents = files.filter(({ part }) => part === "cluster").flatMap(({ document }) => document ?? []);
  const [namespace, ...rest] = documents;
  await lab.apply(namespace!);
  await lab.apply(...rest);
  return model;
}

/** Ours, or the original's on both sides. */
async function programs(lab: BridgeLab): Promise<Pick<BridgeOptions, "imageKind" | "image" | "agentImage">> {
  if (origin === "ours") return { image: lab.image };
  return { imageKind: "upstream", agentImage: await lab.importUpstreamImage() };
}
