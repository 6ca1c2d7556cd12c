/** What the bridge needs on its host: directories, the address that agents dial, certificates and files. */
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { roughDuration } from "../../../../base/text.js";
import type { PkiManifest } from "../../../../tunnel/pki/manifest.js";
import { ADDRESS_VARIABLES, type AddressChoice, chooseAddress } from "../../address/choose.js";
import type { BridgeThing } from "../../model/created.js";
import { pkiFile } from "../../model/names.js";
import type { AgentCertificates } from "../../render/objects.js";
import { renderedFiles } from "../../render/render.js";
import { octal } from "../files.js";
import type { Host } from "../host.js";
import type { BridgeRecord } from "../record.js";
import type { BridgeStep, Site } from "../step.js";

export interface GivenAddress {
  /** From the command line. */
  readonly address: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Where agents can dial this host as it is now. What was given the first time need not be given again, and an address that
 * still leads here is still good, also when the host has others by now.
 */
export async function addressNow(host: Host, given: GivenAddress, record?: BridgeRecord): Promise<AddressChoice> {
  const { address, env } = given;
  const isGiven = address !== undefined || ADDRESS_VARIABLES.some((name) => env[name]);
  const value = isGiven || record === undefined ? address : await earlierAddress(host, record);
  const flag = value === undefined ? undefined : { name: "--address", value };
  return chooseAddress({ flag, env, host: host.network });
}

async function earlierAddress(host: Host, { address: kept, options }: BridgeRecord): Promise<string | undefined> {
  const [address] = options.serverAddresses ?? [];
  const wasGiven = kept?.source === "flag" || kept?.source === "environment";
  const isOwn = (await host.network.globalAddresses()).some((own) => own.address === address);
  return wasGiven || isOwn ? address : undefined;
}

/** The address is recorded, and the same at every run. `choose` looks at the host as it is now. */
export function addressStep({ model, keeper }: Site, choose: () => Promise<AddressChoice>): BridgeStep {
  const [given] = model.serverAddresses;
  const changeOf = ({ target, source }: AddressChoice): string | undefined =>
    target === given
      ? undefined
      : `The bridge was made for ${given}, but the address of this host is now ${target} (from ${source})`;
  return {
    name: "address",
    title: "Address that agents dial",
    makes: async () => [],
    async check() {
      const choice = await choose();
      const changed = changeOf(choice);
      if (changed !== undefined) return { state: "wrong", detail: changed };
      const detail = `${choice.target} (from ${choice.source})`;
      return { state: keeper.record.address === undefined ? "missing" : "done", detail };
    },
    async do() {
      const choice = await choose();
      const changed = changeOf(choice);
      if (changed !== undefined) throw new DrawbridgeError("DB_ADDRESS_CHANGED", `${changed}.`);
      const { target, sans, source } = choice;
      await keeper.change({ address: { target, sans, source } });
    },
  };
}

/** Makes the directories that are the bridge's alone. */
export function directoriesStep({ host: { files }, model }: Site): BridgeStep {
  // The certificates' directory appears together with what is in it.
  const own = model.paths.ownDirectories.filter(({ path }) => path !== model.paths.pki.host);
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
        await files.preparePlace(path, "directory");
        const isSockets = path === model.paths.socketDirectory.host;
        await files.makeDirectory(path, mode, isSockets ? model.server.socketGroup : undefined);
      }
    },
  };
}

/** A rendered file in its place on the host; `thing` names it in the record. */
export function placedFile(
  { host: { files }, model }: Site,
  path: string,
  thing: BridgeThing = { type: "file", path },
): Pick<BridgeStep, "makes" | "check" | "do"> {
  const file = renderedFiles(model).find((candidate) => candidate.path === path);
  if (file === undefined) throw new Error(`nothing is rendered for ${path}`);
  const { text, mode } = file;
  return {
    async makes() {
      const parents = await files.missingAbove(path);
      return [...parents.map((parent): BridgeThing => ({ type: "parent", path: parent })), thing];
    },
    async check() {
      const status = await files.status(path);
      if (status === undefined) return { state: "missing", detail: `${path} is not there` };
      if (status.kind !== "file") return { state: "wrong", detail: `${path} is not a file` };
      const same = status.mode === mode && (await files.read(path)) === text;
      return same ? { state: "done", detail: path } : { state: "wrong", detail: `${path} is not as it should be` };
    },
    async do() {
      await files.preparePlace(path, "file");
      await files.write(path, text, mode);
    },
  };
}

/** Makes the certificates of signer, server and agents once, for the whole life of the bridge. */
export function certificatesStep({ host, model, keeper }: Site): BridgeStep {
  const directory = model.paths.pki.host;
  const real = host.files.real(directory);
  /** The names of the server's certificate as they were chosen the first time. */
  const options = () => ({
    ipAddresses: keeper.record.address?.sans ?? model.serverAddresses,
    validForMs: model.validForMs,
  });
  return {
    name: "certificates",
    title: "Certificates",
    makes: async () => [{ type: "directory", path: directory }],
    async check() {
      const { pkiDifferences, readPkiManifest } = await import("../../../../tunnel/pki/manifest.js");
      const manifest = await readPkiManifest(real);
      if (manifest === undefined) return { state: "missing", detail: `none in ${directory}` };
      // As of the day they were made: whether their time is over is asked for apart.
      const asMade = new Date(manifest.madeAt);
      const differences = await pkiDifferences(real, manifest, "bootstrap", options(), asMade);
      if (differences.length > 0) return { state: "wrong", detail: differences.join("; ") };
      const leftMs = endOf(manifest).getTime() - host.date();
      const end = endOf(manifest).toISOString();
      if (leftMs <= 0) return { state: "wrong", detail: `they ended ${end}` };
      return { state: "done", detail: `valid until ${end}, ${roughDuration(leftMs)} left` };
    },
    async do() {
      const { state, detail } = await this.check();
      if (state === "wrong") {
        const code = detail.startsWith("they ended") ? "DB_BRIDGE_ENDED" : "DB_BRIDGE_EXISTS";
        throw new DrawbridgeError(code, `The certificates in ${directory} cannot be used: ${detail}.`);
      }
      const { certificatesFor, writePki } = await import("../../../../tunnel/pki/write-pki.js");
      await writePki(real, await certificatesFor("bootstrap", options(), new Date(host.date())));
    },
  };
}

/** When the first of them ends, ISO 8601; undefined without certificates. */
export async function certificatesEnd({ host, model }: Pick<Site, "host" | "model">): Promise<string | undefined> {
  const { readPkiManifest } = await import("../../../../tunnel/pki/manifest.js");
  const manifest = await readPkiManifest(host.files.real(model.paths.pki.host));
  return manifest && endOf(manifest).toISOString();
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

function endOf({ signers, leaves }: PkiManifest): Date {
  return new Date(Math.min(...[...signers, ...leaves].map(({ notAfter }) => Date.parse(notAfter))));
}
