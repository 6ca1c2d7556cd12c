import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { certificatesFor, writePki } from "../../../src/tunnel/pki/write-pki.js";
import type { Pair } from "./certificates.js";
import type { ServerCertificates } from "./proxy-server.js";
import { must } from "./run.js";
import type { Scope } from "./scope.js";

export const drawbridge = fileURLToPath(new URL("../../../dist/bin/drawbridge", import.meta.url));

/** A set of the hosted profile, made and changed by the command an operator runs. */
export class HostedPki {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async make(scope: Scope, name: string, address: string, flags: readonly string[] = []): Promise<HostedPki> {
    const pki = new HostedPki(scope.file(name));
    const where = ["--namespace", "clusters-lab", "--ip", address];
    await pki.#run("init", ["--profile", "hosted", ...where, "--keep-signer-key", ...flags]);
    return pki;
  }

  /** A set as it is some time after `pki init --for`, without the wait. */
  static async aged(scope: Scope, name: string, address: string, livesMs: number, ageMs: number): Promise<HostedPki> {
    const pki = new HostedPki(scope.file(name));
    const options = { namespace: "clusters-lab", externalAddresses: [address], validForMs: livesMs };
    const issued = await certificatesFor("hosted", options, new Date(Date.now() - ageMs));
    await writePki(pki.dir, issued, { keepSignerKeys: true });
    return pki;
  }

  /** `drawbridge pki renew`; gives what `--output json` says. */
  async renew(...flags: readonly string[]): Promise<Record<"renewed" | "replaced" | "dropped" | "former", string[]>> {
    return JSON.parse(await this.#run("renew", ["--output", "json", ...flags]));
  }

  #run(command: string, flags: readonly string[]): Promise<string> {
    return must([drawbridge, "pki", command, "--dir", this.dir, ...flags]);
  }

  file(name: string): string {
    return join(this.dir, name);
  }

  pair(name: string): Pair {
    return { cert: this.file(`${name}.crt`), key: this.file(`${name}.key`) };
  }

  serial(name: string): string {
    return new X509Certificate(readFileSync(this.file(`${name}.crt`))).serialNumber;
  }

  /** What agents check the server against. */
  get serverCa(): string {
    return this.file("konnectivity-ca-bundle.crt");
  }

  /** What the server checks agents against. */
  get agentsCa(): string {
    return this.file("konnectivity-agent-ca-bundle.crt");
  }

  get serverCertificates(): ServerCertificates {
    return {
      ca: { cert: this.serverCa },
      server: this.pair("konnectivity-server"),
      cluster: this.pair("konnectivity-cluster"),
      callersCa: this.file("konnectivity-client-ca-bundle.crt"),
      frontendClient: this.pair("konnectivity-client"),
    };
  }
}
