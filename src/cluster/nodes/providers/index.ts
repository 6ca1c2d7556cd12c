/** The providers by their names. */
import { workersError } from "../workers/worker.js";
import { command } from "./command.js";
import { gcloud } from "./gcloud.js";
import { libvirt } from "./libvirt.js";
import { none } from "./none.js";
import type { Machine, MachineStep, Provider, Verb } from "./provider.js";

const providers = { none, command, gcloud, libvirt } satisfies Readonly<Record<string, Provider>>;

export type ProviderName = keyof typeof providers;

export const PROVIDERS = Object.keys(providers) as readonly ProviderName[];

/** What `none` was called before; objects may still have it. */
export const FORMER_NONE = "files";

export function isProvider(name: unknown): boolean {
  return name === FORMER_NONE || PROVIDERS.some((known) => known === name);
}

/** That of an object which may be older than the names of today. */
export function currentProvider(name: ProviderName | typeof FORMER_NONE = "none"): ProviderName {
  return name === FORMER_NONE ? "none" : name;
}

export const providerOf = (name: ProviderName): Provider => providers[name];

/** Throws where a setting is missing. */
export function machineSteps(verb: Verb, worker: Machine, userData: string): readonly MachineStep[] {
  if (verb === "create" && worker.createArguments === undefined && worker.hasCreateArguments === true) {
    const why = "arguments stay on the disk of whoever gave them, and are not in this --state";
    throw workersError(`with which --create-arg is ${worker.name} made? ${why}: give them again`);
  }
  return providers[worker.provider].steps(verb, worker, userData);
}
