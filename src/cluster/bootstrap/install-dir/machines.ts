/** The Cluster API machines that the installer saved, one file each, when it had made them. */
import { readdir, readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { parse } from "yaml";
import { missing } from "./missing.js";

type Role = "bootstrap" | "master";

/** A public address first: that is what a workstation can reach. */
const preferred = ["ExternalIP", "InternalIP", "ExternalDNS"];
const PREFIX = "Machine-openshift-cluster-api-guests-";
/** `<infra ID>-bootstrap`, `<infra ID>-master-0`. */
const names: Readonly<Record<Role, RegExp>> = { bootstrap: /^(.+)-bootstrap$/, master: /^(.+)-master-\d+$/ };

/** The best address of each machine of the role; empty when the installer saved none. */
export async function machineAddresses(dir: string, role: Role): Promise<string[]> {
  const folder = join(dir, ".clusterapi_output");
  const files = await readdir(folder).catch(() => []);
  const found = files
    .filter((name) => name.startsWith(PREFIX) && name.endsWith(".yaml"))
    .map((name) => ({ name, infraId: names[role].exec(name.slice(PREFIX.length, -".yaml".length))?.[1] }))
    .filter(({ infraId }) => infraId !== undefined);
  const clusters = new Set(found.map(({ infraId }) => infraId));
  const wanted = clusters.size > 1 ? await infraIdOf(dir) : [...clusters][0];
  if (clusters.size > 1 && !clusters.has(wanted)) {
    throw missing(`${folder} holds machines of several clusters (${[...clusters].sort().join(", ")})`);
  }
  const addresses: string[] = [];
  for (const { name } of found.filter(({ infraId }) => infraId === wanted).sort(byName)) {
    const address = await addressIn(join(folder, name));
    if (address !== undefined) addresses.push(address);
  }
  return addresses;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

async function infraIdOf(dir: string): Promise<string | undefined> {
  try {
    const { infraID } = JSON.parse(await readFile(join(dir, "metadata.json"), "utf8")) as { infraID?: unknown };
    return typeof infraID === "string" ? infraID : undefined;
  } catch {
    return undefined;
  }
}

interface Machine {
  readonly status?: { readonly addresses?: unknown };
}

async function addressIn(file: string): Promise<string | undefined> {
  let machine: Machine | null;
  try {
    machine = parse(await readFile(file, "utf8")) as Machine | null;
  } catch (reason) {
    throw missing(`${file} is not a machine that the installer saved`, reason);
  }
  const list = machine?.status?.addresses;
  const addresses = (Array.isArray(list) ? list : []) as readonly { type?: unknown; address?: unknown }[];
  for (const type of preferred) {
    const usable = addresses.find((entry) => entry?.type === type && isReachable(entry.address));
    if (usable !== undefined) return String(usable.address);
  }
  return undefined;
}

/** These files are handed to ssh: nothing but an address or a name may come out of them. */
function isReachable(address: unknown): boolean {
  if (typeof address !== "string") return false;
  if (isIP(address) === 0) return /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(address);
  return !/^(fe[89ab]|127\.|169\.254\.)|^::1$/i.test(address);
}
