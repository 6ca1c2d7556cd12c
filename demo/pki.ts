import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Authority, createAuthority, issueCertificate } from "../src/tunnel/pki/issue.js";
import type { CertificateRequest } from "../src/tunnel/pki/request.js";
import { writePem } from "../src/tunnel/pki/write-pki.js";
import type { CertFiles } from "../test/support/processes/certs.js";

export const WEBHOOK_NAME = "webhook.demo.svc";
export const AGENTS = ["agent-1", "agent-2"] as const;
export type AgentName = (typeof AGENTS)[number];

interface Authorities {
  readonly callers: Authority;
  readonly agents: Authority;
  readonly webhook: Authority;
}

/** One-day certificates in three circles of trust: what opens the callers' frontend opens nothing on the agents' side. */
export class Pki {
  readonly #folder: string;
  readonly #authorities: Authorities;
  readonly #serverHost: string;

  private constructor(folder: string, authorities: Authorities, serverHost: string) {
    this.#folder = folder;
    this.#authorities = authorities;
    this.#serverHost = serverHost;
  }

  static async make(folder: string, serverHost: string): Promise<Pki> {
    const [callers, agents, webhook] = await Promise.all([
      createAuthority({ commonName: "demo callers" }),
      createAuthority({ commonName: "demo agents" }),
      createAuthority({ commonName: "demo webhook" }),
    ]);
    const pki = new Pki(folder, { callers, agents, webhook }, serverHost);
    await pki.#write();
    return pki;
  }

  /** The TCP frontend of the server, and what callers need to pass it. */
  readonly frontend = () => this.#files("frontend", "callers");
  readonly caller = () => this.#files("caller", "callers");
  /** The server's side towards agents, and what an agent needs to pass it. */
  readonly agentListener = () => this.#files("agent-listener", "agents");
  readonly agent = (name: AgentName) => this.#files(name, "agents");
  readonly webhook = () => this.#files("webhook", "webhook");

  /** Replaces every certificate and key between callers, server and agents; the authorities stay. */
  async rotate(): Promise<void> {
    const { callers, agents } = this.#authorities;
    const address = [...new Set(["127.0.0.1", this.#serverHost])];
    await Promise.all([
      this.#issue(callers, "frontend", { use: "server", commonName: "proxy-server", ipAddresses: address }),
      this.#issue(callers, "caller", { use: "client", commonName: "kube-apiserver" }),
      this.#issue(agents, "agent-listener", { use: "server", commonName: "proxy-server", ipAddresses: address }),
      ...AGENTS.map((name) => this.#issue(agents, name, { use: "client", commonName: name })),
    ]);
  }

  async #write(): Promise<void> {
    const { webhook } = this.#authorities;
    await Promise.all(
      Object.entries(this.#authorities).map(([name, { certificatePem }]) =>
        writePem(this.#folder, `${name}-ca`, { certificatePem }),
      ),
    );
    await this.#issue(webhook, "webhook", { use: "server", commonName: "webhook", dnsNames: [WEBHOOK_NAME] });
    await this.rotate();
  }

  async #issue(authority: Authority, name: string, request: CertificateRequest): Promise<void> {
    await writePem(this.#folder, name, await issueCertificate(authority, request));
  }

  #files(name: string, authority: keyof Authorities): CertFiles {
    const at = (file: string) => join(this.#folder, file);
    return { ca: at(`${authority}-ca.crt`), cert: at(`${name}.crt`), key: at(`${name}.key`) };
  }
}

/** The serial number in a certificate file, spelled as TLS peers report it. */
export function serialOf({ cert }: CertFiles): string {
  return new X509Certificate(readFileSync(cert)).serialNumber;
}
