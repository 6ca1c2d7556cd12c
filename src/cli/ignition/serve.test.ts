import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { drawbridge } from "../commands.js";

let dir: string;
let stdout: string;
let stderr: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "db-ignition-serve-"));
  [stdout, stderr] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    stdout += text;
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    stderr += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

const serve = (...flags: readonly string[]) => drawbridge.run("drawbridge", ["ignition", "serve", ...flags]);
const enough = ["--namespace=ns", "--payload=p.yaml"];

describe("drawbridge ignition serve", () => {
  test("explains itself, with HyperShift's defaults where it has HyperShift's flags", async () => {
    expect(await serve("--help")).toBe(0);
    for (const text of ["0.0.0.0:9090", "0.0.0.0:8080", "serving-cert/", "profile: rhcos"]) {
      expect(stdout).toContain(text);
    }
  });

  test("names every right that it uses, in both clusters", async () => {
    await serve("--help");
    const words = stdout.replaceAll(/\s+/g, " ");
    expect(words).toContain(
      "in its namespace: secrets get, list, watch, update, delete; configmaps get; events create;",
    );
    expect(words).toContain("in that namespace: configmaps create; configmaps get, update; workers list, watch.");
  });

  test.each([
    ["no namespace", ["--payload=p.yaml"], "--namespace is missing"],
    ["no payload", ["--namespace=ns"], "--payload is missing"],
    [
      "two places for objects",
      [...enough, "--directory=d", "--kubeconfig=k"],
      "--directory and --kubeconfig (with --context) exclude each other",
    ],
    [
      "two places for the certificate",
      [...enough, "--cert-secret=s", "--cert-file=f"],
      "--cert-secret excludes --cert-file and --key-file",
    ],
    ["an address without a port", [...enough, "--addr=localhost"], "--addr must be host:port"],
    ["an impossible port", [...enough, "--metrics-addr=:70000"], "--metrics-addr must end with a port"],
    [
      "a ConfigMap without a namespace",
      [...enough, "--claims-configmap=claims"],
      "--claims-configmap must be namespace/name",
    ],
    ["a word too many", [...enough, "now"], '"now" belongs to no flag'],
  ])("refuses %s", async (_, flags, sentence) => {
    vi.stubEnv("MY_NAMESPACE", undefined);
    expect(await serve(...flags)).toBe(2);
    expect(stderr).toContain(`Error: ${sentence}`);
  });

  test("takes its namespace from the environment, and says what is wrong with its certificate", async () => {
    vi.stubEnv("MY_NAMESPACE", "ns");
    writeFileSync(join(dir, "tls.crt"), "no certificate");
    const files = [`--cert-file=${join(dir, "tls.crt")}`, `--key-file=${join(dir, "tls.key")}`];
    expect(await serve("--payload=p.yaml", `--directory=${dir}`, "--addr=127.0.0.1:0", ...files)).toBe(1);
    expect(stderr).toMatch(/^Error: .*tls\.(crt|key).* \(DB_\w+: .*\)\n$/);
  });

  test("reads the cluster of the claims from the context of --claims-context", async () => {
    const kubeconfig = join(dir, "claims");
    const contexts = [{ name: "here", context: { cluster: "lab", user: "me" } }];
    const clusters = [{ name: "lab", cluster: { server: "http://127.0.0.1:1" } }];
    writeFileSync(kubeconfig, JSON.stringify({ contexts, clusters, users: [{ name: "me", user: { token: "t" } }] }));
    const claims = [`--directory=${dir}`, "--claims-configmap=ns/claims", `--claims-kubeconfig=${kubeconfig}`];
    expect(await serve(...enough, ...claims, "--claims-context=there")).toBe(1);
    expect(stderr).toMatch(/"there".*DB_KUBECONFIG/);
    stderr = "";
    // The context is good: the next thing that is missing is the certificate.
    expect(await serve(...enough, ...claims, "--claims-context=here", `--cert-file=${dir}/none`)).toBe(1);
    expect(stderr).toContain(`${dir}/none`);
  });

  test("says so when the audit log cannot be written", async () => {
    const audit = `--audit-log=${join(dir, "none", "audit.jsonl")}`;
    expect(await serve(...enough, `--directory=${dir}`, audit)).toBe(1);
    expect(stderr).toContain("DB_IGNITION_AUDIT");
  });
});
