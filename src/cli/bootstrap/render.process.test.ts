/** The command as a process: what it prints, where, what it writes, and the code it ends with. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { createAuthority, issueCertificate } from "../../tunnel/pki/issue.js";

/** A process takes its time to start where others work, too. */
vi.setConfig({ testTimeout: 90_000 });

const executable = fileURLToPath(new URL("../drawbridge.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "drawbridge-render-"));
afterAll(() => rmSync(folder, { recursive: true }));

function render(...argv: string[]) {
  const command = ["--import", "tsx", executable, "bootstrap", "render", ...argv];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", timeout: 60_000 });
  return { status, stdout, stderr };
}

test("prints every file as YAML and says what is left to fill in", () => {
  const { status, stdout, stderr } = render("--for", "openshift");
  expect(status).toBe(0);
  const kinds = parseAllDocuments(stdout).map((document) => (document.toJS() as { kind: string }).kind);
  expect(kinds).toEqual([
    ...["EgressSelectorConfiguration", "KubeAPIServerConfig", "Pod", "Namespace", "Secret", "DaemonSet"],
  ]);
  expect(stderr).toMatch(/^Left open .*\$\{KONNECTIVITY_IMAGE\}.*\$\{KONNECTIVITY_AGENT_KEY_BASE64\}.*--pki.*\n$/);
});

test("what is no YAML is printed as a comment, and the whole can be read as YAML", () => {
  const { stdout } = render("--for=bare", "--part=host");
  const documents = parseAllDocuments(stdout);
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  expect(documents.map((document) => document.toJS() as object | null)).toEqual([
    expect.objectContaining({ kind: "EgressSelectorConfiguration" }),
    null,
  ]);
  expect(stdout).toContain("#   ExecStart=/usr/local/bin/proxy-server");
});

test("--output json names the files, what teardown removes and the firewall's rule", () => {
  const { stdout } = render("--for=kubeadm", "--output=json", "--protocol=http-connect", "--server-address=10.0.0.1");
  const { files, created, firewall, open } = JSON.parse(stdout);
  expect(files.find(({ name }: { name: string }) => name === "konnectivity-server-pod.yaml")).toMatchObject({
    part: "host",
    path: "/etc/kubernetes/manifests/konnectivity-server-pod.yaml",
    mode: "0600",
    text: expect.stringContaining("--mode=http-connect"),
  });
  expect(created[0]).toMatchObject({ type: "setting", flag: "egress-selector-config-file" });
  expect(firewall).toMatchObject({ port: 8091 });
  expect(open).not.toContain("BOOTSTRAP_NODE_IP");
});

describe("certificates", () => {
  const pki = join(folder, "pki");
  let key: string;

  beforeAll(async () => {
    const { writePem } = await import("../../tunnel/pki/write-pki.js");
    const ca = await createAuthority({ commonName: "konnectivity-signer" });
    const agent = await issueCertificate(ca, { use: "client", commonName: "konnectivity-agent" });
    await writePem(pki, "ca", { certificatePem: ca.certificatePem });
    await writePem(pki, "agent", agent);
    key = Buffer.from(agent.privateKeyPem).toString("base64");
  });

  test("fill the Secret in a directory, which nobody else can read", () => {
    const out = join(folder, "out");
    const result = render("--for=kubeadm", `--out=${out}`, `--pki=${pki}`, "--server-address=10.0.0.1");
    expect(result).toMatchObject({ status: 0, stderr: "" });
    expect(result.stdout).not.toContain(key);
    const secret = join(out, "agent-certs-secret.yaml");
    expect(readFileSync(secret, "utf8")).toContain(`tls.key: ${key}`);
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect(readdirSync(out, { recursive: true }).filter((name) => String(name).endsWith(".tmp"))).toEqual([]);
    expect(readdirSync(join(out, "patches"))).toEqual(["kube-apiserver+json.yaml", "kube-apiserver+strategic.yaml"]);
  });

  test("are missed by name", () => {
    const { status, stderr } = render("--for=kubeadm", `--pki=${folder}/nowhere`);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^Error: .*nowhere\/agent\.crt cannot be used: it does not exist\. \(DB_CERT_MISSING: .*\)\n$/,
    );
  });
});

test("a directory that cannot be written is one sentence", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const { status, stderr } = render("--for=bare", `--out=${file}`);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^Error: .*namespace\.yaml cannot be written: .*\(DB_RENDER_WRITE: .*\)\n$/);
});

test.each([
  [[], "--for-platform is missing"],
  [["--for=k3s"], "must be one of openshift, kubeadm, bare"],
  [["--for=bare", "again"], '"again" belongs to no flag'],
  [["--for=bare", "--server-address=api.example"], "is not an IP address"],
])("%j is misuse", (argv, sentence) => {
  const { status, stdout, stderr } = render(...argv);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(sentence);
});
