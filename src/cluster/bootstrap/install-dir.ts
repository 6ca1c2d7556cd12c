/**
 * What a real install directory of openshift-install knows about the machines it made: where the bootstrap host is, the
 * key that opens it, and the administrator's kubeconfig. Each is read by itself, so that only what is missing and needed
 * is refused.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { at, isRecord, jsonOf, listOf } from "../../base/at.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { type FoundNetwork, type Platform, platforms } from "./firewall/plan.js";
import { textAt, yamlOf } from "./settings/programs.js";

export type InstallDirectory = Awaited<ReturnType<typeof openInstallDirectory>>;

/** Throws DB_INSTALL_DIR when there is no such directory. */
export async function openInstallDirectory(dir: string) {
  const path = resolve(dir);
  const status = await stat(path).catch((reason: unknown) => {
    throw missing(`${path} cannot be used as an install directory: ${messageOf(reason)}`, reason);
  });
  if (!status.isDirectory()) throw missing(`${path} is not a directory`);
  return {
    path,
    /** False where the installer made no machines. */
    isHostKnown: async () => (await machineAddresses(path, "bootstrap")).length > 0,
    /** Where the bootstrap machine answers, its public address first. */
    async bootstrapHost(): Promise<string> {
      const [first] = await machineAddresses(path, "bootstrap");
      if (first !== undefined) return first;
      throw missing(
        `${path} does not say where the bootstrap machine is (no address in .clusterapi_output/Machine-*-bootstrap.yaml)`,
      );
    },
    /** The control-plane machines; none where the installer did not make them. */
    controlPlaneHosts: () => machineAddresses(path, "master"),
    /** The private key the installer generated for user core, as PEM. Keep it out of logs and arguments. */
    sshKey: () => bootstrapKey(path),
    /** The administrator's kubeconfig. */
    async kubeconfig(): Promise<string> {
      const file = join(path, "auth", "kubeconfig");
      const found = await stat(file).catch(() => undefined);
      if (found?.isFile()) return file;
      throw missing(`${path} has no auth/kubeconfig`);
    },
    /** Where host keys seen once are remembered for the next command. */
    knownHostsFile: join(path, ".drawbridge_known_hosts"),
  };
}

/** Of the Cluster API machines that the installer saved, one file each, when it had made them. */
type Role = "bootstrap" | "master";

/** A public address first: that is what a workstation can reach. */
const preferred = ["ExternalIP", "InternalIP", "ExternalDNS"];
const PREFIX = "Machine-openshift-cluster-api-guests-";
/** `<infra ID>-bootstrap`, `<infra ID>-master-0`. */
const names: Readonly<Record<Role, RegExp>> = { bootstrap: /^(.+)-bootstrap$/, master: /^(.+)-master-\d+$/ };

/** The best address of each machine of the role; empty when the installer saved none. */
async function machineAddresses(dir: string, role: Role): Promise<string[]> {
  const folder = join(dir, ".clusterapi_output");
  const files = await readdir(folder).catch(() => []);
  const found = files
    .filter((name) => name.startsWith(PREFIX) && name.endsWith(".yaml"))
    .map((name) => ({ name, infraId: names[role].exec(name.slice(PREFIX.length, -".yaml".length))?.[1] }))
    .filter(({ infraId }) => infraId !== undefined);
  const clusters = new Set(found.map(({ infraId }) => infraId));
  const wanted = clusters.size > 1 ? textIn(await json(join(dir, "metadata.json")), "infraID") : [...clusters][0];
  if (clusters.size > 1 && !clusters.has(wanted)) {
    throw missing(`${folder} holds machines of several clusters (${[...clusters].sort().join(", ")})`);
  }
  const addresses: string[] = [];
  for (const { name } of found.filter(({ infraId }) => infraId === wanted).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const address = await addressIn(join(folder, name));
    if (address !== undefined) addresses.push(address);
  }
  return addresses;
}

async function addressIn(file: string): Promise<string | undefined> {
  const machine: unknown = await readFile(file, "utf8")
    .then((text) => parse(text))
    .catch((reason: unknown) => {
      throw missing(`${file} is not a machine that the installer saved`, reason);
    });
  const addresses = listOf(at(machine, "status", "addresses"));
  for (const type of preferred) {
    const usable = addresses.find((entry) => at(entry, "type") === type && isReachable(at(entry, "address")));
    if (usable !== undefined) return String(at(usable, "address"));
  }
  return undefined;
}

/** These files are handed to ssh: nothing but an address or a name may come out of them. */
function isReachable(address: unknown): boolean {
  if (typeof address !== "string") return false;
  if (isIP(address) === 0) return /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(address);
  return !/^(fe[89ab]|127\.|169\.254\.)|^::1$/i.test(address);
}

function missing(what: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_INSTALL_DIR", `${what}.`, { cause });
}

/** The Go type by which the installer's state file names the asset. */
const KEY_PAIR = "*tls.BootstrapSSHKeyPair";
/** A real one is a few megabytes. */
const LARGEST = 256 * 1024 * 1024;

/** The generated private key; nothing else of the file is used. */
async function bootstrapKey(dir: string): Promise<string> {
  const file = join(dir, ".openshift_install_state.json");
  const unreadable = (why: string) => missing(`${file} cannot be read: ${why}`);
  const { size } = await stat(file).catch((reason: unknown) => {
    throw unreadable(messageOf(reason));
  });
  if (size > LARGEST) throw unreadable("it is too large");
  const text = await readFile(file, "utf8").catch((reason: unknown) => {
    throw unreadable(messageOf(reason));
  });
  const state = jsonOf(text);
  // Without the parser's message, which may quote the file: it holds keys.
  if (!isRecord(state)) throw unreadable("it is not JSON");
  const key = Buffer.from(textIn(state, KEY_PAIR, "Priv") ?? "", "base64").toString("utf8");
  if (/^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key.trimStart())) return key;
  throw missing(`${file} holds no SSH key for the bootstrap host (${KEY_PAIR})`);
}

/**
 * The facts about a cluster that a firewall plan needs. Files that are missing or not readable as what they should be
 * are skipped: each is one source of several.
 */
export async function readInstallDir(dir: string): Promise<FoundNetwork> {
  const metadata = await json(join(dir, "metadata.json"));
  const state = await json(join(dir, ".openshift_install_state.json"));
  // Between create manifests and create ignition-configs the install-config is also in a ConfigMap.
  const map = yamlOf(await readFile(join(dir, "manifests", "cluster-config.yaml"), "utf8").catch(() => ""));
  const config = at(state, "*installconfig.InstallConfig", "config") ?? yamlOf(at(map, "data", "install-config"));
  return {
    infraId: textIn(metadata, "infraID") ?? textIn(state, "*installconfig.ClusterID", "InfraID"),
    platform: platformIn(metadata) ?? platformIn(at(config, "platform")),
    machineNetworks: machineNetworksIn(config),
  };
}

/** The CIDRs of the machine networks in an install-config. */
export function machineNetworksIn(installConfig: unknown): string[] {
  const cidrs = listOf(at(installConfig, "networking", "machineNetwork")).map((entry) => at(entry, "cidr"));
  return cidrs.filter((cidr) => typeof cidr === "string");
}

function platformIn(sections: unknown): Platform | undefined {
  const named = (platform: Platform): boolean =>
    platform !== "host" && isRecord(sections) && Object.hasOwn(sections, platform);
  // A cluster of PowerVC has OpenStack's section as well.
  const name = named("powervc") ? "powervc" : platforms.find(named);
  return name === "azure" && at(sections, "azure", "cloudName") === "AzureStackCloud" ? "azurestack" : name;
}

const json = async (path: string): Promise<unknown> => jsonOf((await textAt(path)) ?? "");

function textIn(value: unknown, ...path: readonly string[]): string | undefined {
  const text = at(value, ...path);
  return typeof text === "string" && text !== "" ? text : undefined;
}
