/** Signer, server and agents: made once, for as long as the bridge may stand. */
import { DrawbridgeError } from "../../../../base/errors/error.js";
import type { PkiManifest } from "../../../../tunnel/pki/manifest.js";
import type { BootstrapOptions } from "../../../../tunnel/pki/profiles/bootstrap.js";
import { pkiFile } from "../../model/paths.js";
import type { AgentCertificates } from "../../render/agent-objects.js";
import type { Site } from "../site.js";
import type { Step } from "../step.js";
import { keptNames } from "./address.js";

export function certificatesStep(site: Site): Step {
  const { host, model } = site;
  const directory = model.paths.pki.host;
  const real = host.files.real(directory);
  const options = async (): Promise<BootstrapOptions> => ({
    ipAddresses: await keptNames(host, model),
    validForMs: model.validForMs,
  });
  return {
    name: "certificates",
    title: "Certificates",
    makes: async () => [{ type: "directory", path: directory }],
    async check() {
      const { comparePki } = await import("../../../../tunnel/pki/compare-pki.js");
      const { readManifest } = await import("../../../../tunnel/pki/manifest.js");
      const manifest = await readManifest(real);
      if (manifest === undefined) return { state: "missing", detail: `none in ${directory}` };
      // As of the day they were made: whether their time is over is asked for apart.
      const comparison = await comparePki(real, "bootstrap", await options(), new Date(manifest.madeAt));
      if (comparison.state === "different") return { state: "wrong", detail: comparison.why.join("; ") };
      const leftMs = endOf(manifest) - host.now();
      if (leftMs <= 0) return { state: "wrong", detail: `they ended ${endText(manifest)}` };
      return { state: "done", detail: `valid until ${endText(manifest)}, ${duration(leftMs)} left` };
    },
    async do() {
      const { state, detail } = await this.check();
      if (state === "wrong") {
        const code = detail.startsWith("they ended") ? "DB_BRIDGE_ENDED" : "DB_BRIDGE_EXISTS";
        throw new DrawbridgeError(code, `The certificates in ${directory} cannot be used: ${detail}.`);
      }
      const [{ certificatesFor }, { writePki }] = await Promise.all([
        import("../../../../tunnel/pki/certificates-for.js"),
        import("../../../../tunnel/pki/write-pki.js"),
      ]);
      await writePki(real, await certificatesFor("bootstrap", await options(), new Date(host.now())));
    },
  };
}

/** When the first of them ends, milliseconds since 1970; undefined without certificates. */
export async function certificatesEnd({ host, model }: Pick<Site, "host" | "model">): Promise<number | undefined> {
  const { readManifest } = await import("../../../../tunnel/pki/manifest.js");
  const manifest = await readManifest(host.files.real(model.paths.pki.host));
  return manifest && endOf(manifest);
}

export async function agentCertificates({ host, model }: Site): Promise<AgentCertificates> {
  const { readCertificateSet } = await import("../../../../tunnel/pki/certificate-set.js");
  const directory = host.files.real(model.paths.pki.host);
  const { cert, key, ca } = readCertificateSet({
    certFile: pkiFile(directory, "agentCert"),
    keyFile: pkiFile(directory, "agentKey"),
    caFile: pkiFile(directory, "ca"),
  });
  return { cert: cert!, key: key!, ca: ca! };
}

function endOf({ signers, leaves }: PkiManifest): number {
  return Math.min(...[...signers, ...leaves].map(({ notAfter }) => Date.parse(notAfter)));
}

function endText(manifest: PkiManifest): string {
  return new Date(endOf(manifest)).toISOString();
}

export function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
