/** Where agents dial: kept beside the certificates, and the same at every run. */
import { dirname } from "node:path";
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { roughDuration } from "../../../../base/text.js";
import type { PkiManifest } from "../../../../tunnel/pki/manifest.js";
import type { BootstrapOptions } from "../../../../tunnel/pki/profiles.js";
import { ADDRESS_VARIABLES, type AddressChoice, chooseAddress } from "../../address/choose.js";
import { keepAddress, readAddressRecord } from "../../address/record.js";
import type { BridgeThing } from "../../model/created.js";
import type { BridgeModel } from "../../model/model.js";
import { pkiFile } from "../../model/names.js";
import type { AgentCertificates } from "../../render/objects.js";
import { type RenderedFile, renderedFiles } from "../../render/render.js";
import type { Host } from "../host.js";
import type { BridgeStep, Site, StepState } from "../step.js";

export interface GivenAddress {
  /** From the command line. */
  readonly address: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Where agents can dial this host as it is now. What was given the first time need not be given again, and an address that
 * still leads here is still good, also when the host has others by now.
 */
export async function addressNow(host: Host, given: GivenAddress, model?: BridgeModel): Promise<AddressChoice> {
  const { address, env } = given;
  const isGiven = address !== undefined || ADDRESS_VARIABLES.some((name) => env[name]);
  const earlier = isGiven || model === undefined ? undefined : await earlierAddress(host, model);
  const value = address ?? earlier;
  const flag = value === undefined ? undefined : { name: "--address", value };
  return chooseAddress({ flag, env, host: host.network });
}

async function earlierAddress(host: Host, model: BridgeModel): Promise<string | undefined> {
  const [address] = model.serverAddresses;
  const kept = await readAddressRecord(host.files.real(addressDirectory(model)));
  const wasGiven = kept?.source === "flag" || kept?.source === "environment";
  const isOwn = (await host.network.globalAddresses()).some((own) => own.address === address);
  return wasGiven || isOwn ? address : undefined;
}

/** `choose` looks at the host as it is now. */
export function addressStep({ host, model }: Site, choose: () => Promise<AddressChoice>): BridgeStep {
  return {
    name: "address",
    title: "Address that agents dial",
    makes: async () => [],
    async check() {
      const choice = await choose();
      const changed = changeOf(model, choice);
      if (changed !== undefined) return { state: "wrong", detail: changed };
      const detail = `${choice.target} (from ${choice.source})`;
      const kept = await readAddressRecord(host.files.real(addressDirectory(model)));
      return { state: kept === undefined ? "missing" : "done", detail };
    },
    async do() {
      const choice = await choose();
      const changed = changeOf(model, choice);
      if (changed !== undefined) throw new DrawbridgeError("DB_ADDRESS_CHANGED", `${changed}.`);
      await keepAddress(host.files.real(addressDirectory(model)), choice);
    },
  };
}

function changeOf({ serverAddresses: [given] }: BridgeModel, { target, source }: AddressChoice): string | undefined {
  if (target === given) return undefined;
  return `The bridge was made for ${given}, but the address of this host is now ${target} (from ${source})`;
}

export function addressDirectory({ paths }: BridgeModel): string {
  return dirname(paths.egressConfig.host);
}

/** The names of the server's certificate as they were chosen the first time. */
export async function keptNames(host: Host, model: BridgeModel): Promise<readonly string[]> {
  const kept = await readAddressRecord(host.files.real(addressDirectory(model)));
  return kept?.sans ?? model.serverAddresses;
}

/** Makes the directories that are the bridge's alone. */
export function directoriesStep({ host, model }: Site): BridgeStep {
  // The certificates' directory appears together with what is in it.
  const own = model.paths.ownDirectories.filter(({ path }) => path !== model.paths.pki.host);
  const { files } = host;
  return {
    name: "directories",
    title: "Directories",
    async makes() {
      const parents = await Promise.all(own.map(({ path }) => files.missingAbove(path)));
      return [
        ...parents.flat().map((path): BridgeThing => ({ type: "parent", path })),
        ...own.map(({ path }): BridgeThing => ({ type: "directory", path })),
      ];
    },
    async check() {
      for (const { path, mode } of own) {
        const status = await files.status(path);
        if (status === undefined) return { state: "missing", detail: `${path} is not there` };
        if (status.kind !== "directory") return { state: "wrong", detail: `${path} is not a directory` };
        if (status.mode !== mode)
          return { state: "wrong", detail: `${path} has mode ${octal(status.mode)}, not ${octal(mode)}` };
      }
      return { state: "done", detail: own.map(({ path }) => path).join(", ") };
    },
    async do() {
      for (const { path, mode } of own) {
        const status = await files.status(path);
        if (status !== undefined && status.kind !== "directory") {
          throw new DrawbridgeError("DB_BRIDGE_EXISTS", `${path} is there already and is not a directory.`);
        }
        for (const parent of await files.missingAbove(path)) await files.makeDirectory(parent, 0o755);
        const isSockets = path === model.paths.socketDirectory.host;
        await files.makeDirectory(path, mode, isSockets ? model.server.socketGroup : undefined);
      }
    },
  };
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

/** A rendered file in its place on the host. */
export function fileStep(site: Site, name: string, title: string, path: string): BridgeStep {
  const { host } = site;
  const file = placedFile(site, path);
  return {
    name,
    title,
    makes: async () => [...(await parentsOf(host, file)), { type: "file", path }],
    check: () => checkFile(host, file),
    do: () => putFile(host, file),
  };
}

type PlacedFile = RenderedFile & { readonly path: string };

/** The rendered file that belongs at that path of the host. */
export function placedFile({ model }: Site, path: string): PlacedFile {
  const file = renderedFiles(model).find((candidate) => candidate.path === path);
  if (file === undefined) throw new Error(`nothing is rendered for ${path}`);
  return { ...file, path };
}

export async function parentsOf(host: Host, { path }: PlacedFile): Promise<BridgeThing[]> {
  return (await host.files.missingAbove(path)).map((parent) => ({ type: "parent", path: parent }));
}

export async function checkFile(host: Host, { path, text, mode }: PlacedFile): Promise<StepState> {
  const status = await host.files.status(path);
  if (status === undefined) return { state: "missing", detail: `${path} is not there` };
  if (status.kind !== "file") return { state: "wrong", detail: `${path} is not a file` };
  const same = status.mode === mode && (await host.files.read(path)) === text;
  return same ? { state: "done", detail: path } : { state: "wrong", detail: `${path} is not as it should be` };
}

export async function putFile(host: Host, { path, text, mode }: PlacedFile): Promise<void> {
  const status = await host.files.status(path);
  if (status !== undefined && status.kind !== "file") {
    throw new DrawbridgeError("DB_BRIDGE_EXISTS", `${path} is there already and is not a file.`);
  }
  for (const parent of await host.files.missingAbove(path)) await host.files.makeDirectory(parent, 0o755);
  await host.files.write(path, text, mode);
}

/** Makes the certificates of signer, server and agents once, for the whole life of the bridge. */
export function certificatesStep(site: Site): BridgeStep {
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
      const { pkiDifferences, readPkiManifest: readManifest } = await import("../../../../tunnel/pki/manifest.js");
      const manifest = await readManifest(real);
      if (manifest === undefined) return { state: "missing", detail: `none in ${directory}` };
      // As of the day they were made: whether their time is over is asked for apart.
      const asMade = new Date(manifest.madeAt);
      const differences = await pkiDifferences(real, manifest, "bootstrap", await options(), asMade);
      if (differences.length > 0) return { state: "wrong", detail: differences.join("; ") };
      const leftMs = endOf(manifest) - host.now();
      if (leftMs <= 0) return { state: "wrong", detail: `they ended ${endText(manifest)}` };
      return { state: "done", detail: `valid until ${endText(manifest)}, ${roughDuration(leftMs)} left` };
    },
    async do() {
      const { state, detail } = await this.check();
      if (state === "wrong") {
        const code = detail.startsWith("they ended") ? "DB_BRIDGE_ENDED" : "DB_BRIDGE_EXISTS";
        throw new DrawbridgeError(code, `The certificates in ${directory} cannot be used: ${detail}.`);
      }
      const { certificatesFor, writePki } = await import("../../../../tunnel/pki/write-pki.js");
      await writePki(real, await certificatesFor("bootstrap", await options(), new Date(host.now())));
    },
  };
}

/** When the first of them ends, ISO 8601; undefined without certificates. */
export async function certificatesEnd({ host, model }: Pick<Site, "host" | "model">): Promise<string | undefined> {
  const { readPkiManifest: readManifest } = await import("../../../../tunnel/pki/manifest.js");
  const manifest = await readManifest(host.files.real(model.paths.pki.host));
  return manifest && endText(manifest);
}

/** The agents' part of a PKI directory; the pair is checked before it is used anywhere. */
export async function readAgentCertificates(directory: string): Promise<AgentCertificates> {
  const { readCertificateSet } = await import("../../../../tunnel/pki/certificate-set.js");
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
