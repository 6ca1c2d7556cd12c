/** A worker's payload with every kind of secret in it, and the words that must never be shown. */
import { gzipSync } from "node:zlib";
import { dataUrlOf } from "../../../base/data-url.js";
import { createAuthority } from "../../../tunnel/pki/issue.js";

export const SECRETS = ["TOKENWORD", "PULLWORD", "KUBEWORD", "HASHWORD", "ENVWORD", "LOGINWORD", "NESTEDWORD"] as const;

export interface Payload {
  /** The config as text; `version` goes into what may change. */
  text(change?: { readonly motd?: string; readonly secret?: string }): string;
  /** A line of the private key that is in it. */
  readonly keyLine: string;
}

/** `now` is when the certificate's 90 days begin. */
export async function makePayload(now: Date): Promise<Payload> {
  const { certificatePem, privateKeyPem } = await createAuthority({
    commonName: "payload-test",
    validForMs: 90 * 24 * 60 * 60_000,
    now,
  });
  const contents = (text: string) => ({ contents: { source: dataUrlOf(text) }, mode: 0o600 });
  const pullSecret = `{"auths":{"a.example":{"auth":"PULLWORD"}}}`;
  const nested = JSON.stringify({ files: [dataUrlOf(`${pullSecret} NESTEDWORD ${"x".repeat(80)}`)] });
  const text: Payload["text"] = ({ motd = "hello\nworld\n", secret = "" } = {}) =>
    JSON.stringify({
      ignition: {
        version: "3.2.0",
        config: {
          merge: [
            {
              source: "https://user:LOGINWORD@ign.example/ignition?sig=LOGINWORD",
              httpHeaders: [
                { name: "Authorization", value: `Bearer TOKENWORD${secret}` },
                { name: "NodePool", value: "clusters/workers" },
              ],
            },
          ],
        },
        proxy: { httpProxy: "http://user:LOGINWORD@proxy.example:3128" },
        security: { tls: { certificateAuthorities: [{ source: dataUrlOf(certificatePem) }] } },
      },
      passwd: { users: [{ name: "core", sshAuthorizedKeys: ["ssh-ed25519 AAAA"], passwordHash: `HASHWORD${secret}` }] },
      storage: {
        files: [
          { path: "/etc/kubernetes/kubeconfig", ...contents(`kind: Config\ncurrent-context: KUBEWORD${secret}\n`) },
          { path: "/var/lib/kubelet/config.json", ...contents(pullSecret + secret) },
          { path: "/etc/pki/tls.pem", ...contents(certificatePem + privateKeyPem) },
          { path: "/etc/pki/ca.crt", ...contents(certificatePem) },
          { path: "/etc/encapsulated.json", ...contents(nested) },
          {
            path: "/etc/motd",
            contents: { source: `data:;base64,${gzipSync(motd).toString("base64")}`, compression: "gzip" },
          },
          { path: "/usr/local/bin/tool", contents: { source: "https://user:LOGINWORD@files.example/tool" } },
        ],
        directories: [{ path: "/etc/kubernetes", mode: 0o700, user: { name: "core" } }],
        links: [{ path: "/etc/issue", target: "/etc/motd" }],
      },
      systemd: {
        units: [
          {
            name: "kubelet.service",
            enabled: true,
            contents: `[Service]\nEnvironment=REGISTRY_PASSWORD=ENVWORD${secret}\n[Install]\nWantedBy=multi-user.target\n`,
            dropins: [{ name: "10-a.conf", contents: "[Service]\nRestart=always\n" }],
          },
          { name: "other.service", mask: true },
        ],
      },
    });
  return { text, keyLine: privateKeyPem.split("\n")[1]! };
}
