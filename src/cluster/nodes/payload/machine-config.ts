/** MachineConfigs: an Ignition config each, and beside it what only the operating system's own tools can apply. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Config } from "../../ignition/model/config.js";
import { requireConfig } from "../../ignition/parse.js";
import { byBytes } from "../hash/global-config.js";
import { parseKubernetesYaml, splitDocuments } from "../hash/kubernetes-yaml.js";

/** What Ignition cannot do. */
export interface HostSettings {
  readonly fips: boolean;
  readonly kernelArguments: readonly string[];
  readonly kernelType: string;
  readonly extensions: readonly string[];
  readonly osImageURL: string;
}

export interface MachineConfig {
  readonly name: string;
  /** Undefined when it has only settings of the host. */
  readonly config: Config | undefined;
  readonly host: HostSettings;
}

interface Manifest {
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown };
  readonly spec?: Partial<Record<keyof HostSettings | "config", unknown>> | null;
}

/** By name, which is the order in which OpenShift puts them over each other. */
export function readMachineConfigs(text: string, where: string): MachineConfig[] {
  return splitDocuments(text)
    .map((part, index) => readMachineConfig(part, `document ${index + 1} of ${where}`))
    .sort((a, b) => byBytes(a.name, b.name));
}

export function readMachineConfig(text: string, where: string): MachineConfig {
  const manifest = (parseKubernetesYaml(text, where) ?? {}) as Manifest;
  if (manifest.kind !== "MachineConfig") {
    const kind = typeof manifest.kind === "string" ? `a ${manifest.kind}` : "no Kubernetes object";
    throw unusable(
      `${where} is ${kind}, and only a MachineConfig can be used without OpenShift's renderer; put what that makes of it into the rendered MachineConfig`,
    );
  }
  const name = typeof manifest.metadata?.name === "string" ? manifest.metadata.name : "";
  const { config, ...host } = manifest.spec ?? {};
  const isNothing = config === undefined || config === null || Object.keys(config).length === 0;
  return {
    name,
    config: isNothing
      ? undefined
      : requireConfig(JSON.stringify(config), `the Ignition config of MachineConfig ${name}`),
    host: hostSettings(host, `MachineConfig ${name}`),
  };
}

function hostSettings(spec: NonNullable<Manifest["spec"]>, where: string): HostSettings {
  const { fips = false, kernelType, osImageURL } = spec;
  if (typeof fips !== "boolean") throw unusable(`${where} has a spec.fips that is neither true nor false`);
  const texts = (key: "kernelArguments" | "extensions"): readonly string[] => {
    const list = spec[key] ?? [];
    if (!Array.isArray(list) || !list.every((item) => typeof item === "string")) {
      throw unusable(`${where} has a spec.${key} that is no list of texts`);
    }
    return list;
  };
  return {
    fips,
    kernelArguments: texts("kernelArguments"),
    extensions: texts("extensions"),
    kernelType: typeof kernelType === "string" ? kernelType : "",
    osImageURL: typeof osImageURL === "string" ? osImageURL : "",
  };
}

/** As OpenShift does it: FIPS once wanted is wanted, lists add up, of the others the later wins. */
export function mergedSettings(all: readonly HostSettings[]): HostSettings {
  const last = (key: "kernelType" | "osImageURL") => all.map((of) => of[key]).findLast((value) => value !== "") ?? "";
  return {
    fips: all.some(({ fips }) => fips),
    kernelArguments: all.flatMap(({ kernelArguments }) => kernelArguments),
    extensions: [...new Set(all.flatMap(({ extensions }) => extensions))],
    kernelType: last("kernelType"),
    osImageURL: last("osImageURL"),
  };
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_PAYLOAD", sentence);
}
