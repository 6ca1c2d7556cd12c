/** The command as a process. */
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Finding } from "../../base/finding.js";
import { startTunnelFixture, type TunnelFixture } from "../../tunnel/client/testing/fixture.js";

/** A process takes its time to start where others work, too. */
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

const executable = fileURLToPath(new URL("../drawbridge.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "drawbridge-verify-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

const env = { ...process.env, KUBECONFIG: "" };
const command = (argv: readonly string[]) => ["--import", "tsx", executable, ...argv];

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Not spawnSync: the servers it asks live in this process. */
function drawbridge(...argv: string[]): Promise<Ended> {
  const child = spawn(process.execPath, command(argv), { env, timeout: 60_000 });
  const texts = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.stderr += text));
  return new Promise((resolve) => child.once("close", (status) => resolve({ status, ...texts })));
}
const verify = (...argv: string[]) => drawbridge("bootstrap", "verify", "--for=bare", ...argv);

describe("drawbridge bootstrap verify as a process", () => {
  let tunnel: TunnelFixture;
  let health: string;
  let socket: string;
  const server = createServer((request, response) => {
    const metrics = "konnectivity_network_proxy_server_ready_backend_connections 1\n";
    response.end(request.url === "/metrics" ? metrics : "ok");
  });

  beforeAll(async () => {
    tunnel = await startTunnelFixture();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    health = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    socket = (tunnel.frontends["grpc-uds"] as { uds: string }).uds;
    chmodSync(socket, 0o770);
  });
  afterAll(async () => {
    await tunnel.close();
    server.close();
  });

  const good = () => {
    const egress = join(folder, "egress.json");
    const transport = { uds: { udsName: socket } };
    const selection = { name: "cluster", connection: { proxyProtocol: "GRPC", transport } };
    const kind = { apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration" };
    writeFileSync(egress, JSON.stringify({ ...kind, egressSelections: [selection] }));
    const { port } = tunnel.frontends["grpc-tcp"] as { port: number };
    return [`--health=${health}`, `--uds=${socket}`, `--egress-config=${egress}`, `--agent-port=${port}`];
  };

  test("a working bridge without a kubeconfig ends with 0, and the checks of the cluster are skipped", async () => {
    const { status, stdout, stderr } = await verify(...good(), "--output=json");
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
    const failures = findings.filter((one) => one.state === "failed");
    // Another kube-apiserver may run on this machine, without the flag for this bridge.
    expect(failures.filter(({ check }) => check !== "api-server-flag")).toEqual([]);
    const isGood = failures.length === 0;
    expect({ status, ok, stderr }).toEqual({ status: isGood ? 0 : 1, ok: isGood, stderr: "" });
    expect(findings.find(({ check }) => check === "kubeconfig")?.state).toBe("skipped");
  });

  test("an unusable kubeconfig and a closed health port end with 1 and name the flag", async () => {
    const missing = await verify(...good(), `--kubeconfig=${join(folder, "none")}`);
    expect(missing.status).toBe(1);
    expect(missing.stdout).toContain("FAILED   kubeconfig: ");
    expect(missing.stdout).toContain("--kubeconfig");
    const closed = await verify(...good().slice(1), "--health=http://127.0.0.1:1", "--output=junit");
    expect(closed.status).toBe(1);
    expect(closed.stdout).toContain("<failure message=");
  });

  test.each([
    [["word"], "belongs to no flag"],
    [["--uds=/x", "--frontend=y:1"], "exclude each other"],
    [["--frontend=nowhere"], "is not host:port"],
    [["--frontend-ca=/x"], "--frontend, which is missing"],
    [["--health=ftp://x"], "--health must be a URL"],
    [["--health=http://u:p@x"], "--health must be a URL"],
    [["--test-image=x"], "--deploy-test-webhook"],
    [["--deploy-test-webhook"], "need --kubeconfig"],
    [["--conversion=x.y"], "need --kubeconfig"],
    [["--timeout=0s"], "--timeout"],
    [["--output=xml"], "must be one of text, json, junit"],
    [["--dir=/x", "--deploy-test-webhook"], "without --dir"],
    [["--user=core"], "--user is for --dir, which is missing"],
  ])("verify %j is refused as misuse", async (argv, sentence) => {
    const { status, stdout, stderr } = await verify(...argv);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain(sentence);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("a given state directory without a record ends with 1", async () => {
    const { status, stderr } = await drawbridge("bootstrap", "verify", `--state-dir=${folder}`);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Error: No bridge is recorded in .*\(DB_BRIDGE_RECORD: /);
  });

  test("the command test-webhook runs but is not listed by --help", async () => {
    expect((await drawbridge("--help")).stdout).not.toContain("test-webhook");
    const { status, stderr } = await drawbridge("test-webhook");
    expect(status).toBe(2);
    expect(stderr).toContain("--cert and --key are required");
    const missing = await drawbridge("test-webhook", "--cert=/nonexistent", "--key=/nonexistent");
    expect(missing.status).toBe(1);
    expect(missing.stderr).toContain("DB_CERT_MISSING");
  });
});
