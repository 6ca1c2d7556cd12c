/** What must never leave, in every form it is known to take; and what must stay readable. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { certificatesFor } from "../../tunnel/pki/write-pki.js";
import { redactFile } from "./file.js";

const pems = [
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" }),
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" }),
  generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }),
].map(String);
const token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJzeXN0ZW06c2EifQ.c2lnbmF0dXJlLW9mLWl0";

function kept(text: string, path = "bootstrap/kubernetes/file.yaml"): string {
  const result = redactFile(path, Buffer.from(text));
  if (result.state !== "kept") throw new Error(`left out: ${result.why}`);
  return result.content.toString();
}

/** Any eight characters in a row of a secret would give it away to a search. */
function holds(text: string, secret: string): boolean {
  const body = secret.replace(/-----[^-]*-----/g, "").replace(/\s/g, "");
  return text.includes(body.slice(10, 40)) || text.includes(secret.slice(5, 30));
}

describe("private keys", () => {
  test.each(pems)("as PEM, in a log with prefixes, in JSON, in base64", (pem) => {
    const base64 = Buffer.from(pem).toString("base64");
    const prefixed = pem.replace(/^/gm, "2026-11-16T00:00:00Z stderr F ");
    for (const text of [
      pem,
      `before\n${pem}after\n`,
      prefixed,
      JSON.stringify({ some: pem }),
      `blob: ${base64}\n`,
      JSON.stringify({ blob: base64 }),
      `arg --x=${base64}`,
      `cert and key: ${Buffer.from(`-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${pem}`).toString("base64")}`,
    ]) {
      const clean = kept(text);
      expect(holds(clean, pem) || holds(clean, base64)).toBe(false);
      expect(clean).not.toBe(text);
    }
    expect(kept(`before\n${pem}after\n`)).toMatch(/^before\n.*\nafter\n$/s);
  });

  test("cut in the middle", () => {
    const clean = kept(`line\n${pems[0]!.slice(0, 400)}`);
    expect(holds(clean, pems[0]!)).toBe(false);
    expect(clean).toMatch(/^line\n/);
  });
});

describe("credentials", () => {
  test.each([
    `Authorization: Bearer ${token}`,
    `curl -H "Authorization: Bearer sha256~abcdefghijklmnop"`,
    `token=${token}`,
    stringify({ users: [{ name: "admin", user: { token: "sha256~abcdefghijklmnop" } }] }),
    stringify({ users: [{ user: { "client-key-data": Buffer.from(pems[1]!).toString("base64") } }] }),
    stringify({ users: [{ user: { username: "kubeadmin", password: "abcdefghijklmnop" } }] }),
    `{"auths":{"quay.io":{"auth":"YWJjZGVmZ2hpamtsbW5vcA==","email":"x"}}}`,
    `HTTPS_PROXY=http://user:abcdefghijklmnop@proxy.example.com:3128`,
    `- name: DB_PASSWORD\n  value: abcdefghijklmnop\n`,
    `{"key": "AWS_SECRET_ACCESS_KEY", "value": "abcdefghijklmnop"}`,
    `"env": ["PATH=/bin", "REGISTRY_TOKEN=abcdefghijklmnop"]`,
    `bootstrap-token: abcdef.abcdefghijklmnop`,
    `pullSecret: '{"auths":{"x":{"auth":"YWJjZGVmZ2hpamtsbW5vcA=="}}}'`,
  ])("%s", (text) => {
    expect(kept(text)).not.toMatch(/abcdefghijklmnop|YWJjZGVm|eyJhbGci|LS0tLS1CRUdJTi/);
  });
});

describe("whole files", () => {
  test.each([
    "rendered-assets/openshift/auth/kubeconfig",
    "bootstrap/kubeconfig-loopback",
    "tls/server.key",
    "rendered-assets/openshift/konnectivity-agent-certs-secret.yaml",
    "home/.kube/config",
  ])("%s is left out by its name", (path) => {
    expect(redactFile(path, Buffer.from("x"))).toMatchObject({ state: "left-out" });
  });

  test.each([
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  a: Yg==\n",
    "---\n- kind: Secret\n  data: {a: Yg==}\n",
    `{"apiVersion":"v1","kind":"Secret","data":{"a":"Yg=="}}`,
    `{\n  "kind": "SecretList",\n  "items": [{"data": {"a": "Yg=="}}]\n}`,
    "kind: Secret\ndata:\n  a: Yg==\n  broken: [\n",
  ])("a Secret under another name has no values: %j", (text) => {
    expect(kept(text, "bootstrap/thing.yaml")).toMatch(/removed/);
    expect(kept(text, "bootstrap/thing.yaml")).not.toContain("Yg==");
  });

  test("what is no text is left out", () => {
    expect(redactFile("x.log", Buffer.from([1, 0, 2]))).toMatchObject({ state: "left-out", why: "it is not text" });
  });

  test("a log that mentions one Secret loses that line only", () => {
    const clean = kept(`one\n{"kind":"Secret","data":{"tls.key":"c2VjcmV0"}}\ntwo\n`, "a.log");
    expect(clean).toBe('one\n{"kind":"Secret","data":{"tls.key":"[removed]"}}\ntwo\n');
  });
});

describe("what must stay", () => {
  test("certificates, manifests and logs, byte for byte", async () => {
    const { leaves, signers } = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"] });
    const pem = leaves.get("server")!.certificatePem;
    const manifest = stringify({
      kind: "DaemonSet",
      spec: {
        template: {
          spec: {
            automountServiceAccountToken: false,
            containers: [
              {
                args: [
                  "--ca-cert=/etc/konnectivity/ca.crt",
                  "--agent-key=/etc/konnectivity/tls.key",
                  "--service-account-token-path=/var/run/t",
                ],
              },
            ],
            volumes: [{ name: "certificates", secret: { secretName: "konnectivity-agent-certs" } }],
          },
        },
      },
    });
    const log = [
      `I1116 00:17:43.680000 1] agent connected agentId="a1" identifiers="default-route=true" principal="CN=konnectivity-agent"`,
      `E1116 clientset.go:238] "cannot connect once" err="x509: certificate is valid for 192.0.2.9, not 127.0.0.1"`,
      `W1116 failed calling webhook "x.example.com": No agent available`,
      `digest sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef`,
    ].join("\n");
    for (const text of [
      pem,
      signers.get("ca")!.certificatePem,
      manifest,
      log,
      `caBundle: ${Buffer.from(pem).toString("base64")}`,
    ]) {
      expect(kept(text)).toBe(text);
      expect(redactFile("x", Buffer.from(text))).toMatchObject({ changed: false });
    }
  });
});

test("a file is left out, without an error, when a line in it is too long for any expression", () => {
  const run = Buffer.alloc(12 * 1024 * 1024, "a");
  const files = [run, Buffer.concat([Buffer.from("short\n"), run, Buffer.from("\nshort\n")])];
  for (const content of files) {
    expect(redactFile("etc/some.log", content)).toEqual({
      state: "left-out",
      why: "a line in it is too long to be searched",
    });
  }
  expect(redactFile("etc/some.log", Buffer.from(`${"a".repeat(1_000)}\n`.repeat(2_000)))).toMatchObject({
    state: "kept",
  });
});
