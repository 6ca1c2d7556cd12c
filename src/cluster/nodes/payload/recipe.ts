/** The recipe of payloads without HyperShift: the file of --payload. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { DrawbridgeError, wrapErrors } from "../../../base/errors/error.js";
import type { Config } from "../../ignition/config.js";
import { requireConfig } from "../../ignition/parse.js";
import { byBytes } from "../hash/pool-hash.js";
import { fieldsOf, parseKubernetesYaml, readYaml, splitDocuments, textsOf } from "../yaml.js";
import { type ApiProxy, apiProxyForms, isOneLine, type KubeletOptions, kubeletForms, readForms } from "./parts.js";

interface Common {
  readonly apiProxy: ApiProxy | undefined;
  readonly sshKeys: readonly string[];
  /** Names of the objects with credentials and authorities in the server's namespace. */
  readonly names: { readonly bootstrapKubeconfig: string; readonly pullSecret: string; readonly trustBundle: string };
}

export type PayloadRecipe =
  | (Common & { readonly profile: "rhcos"; readonly machineConfig: MachineConfig; readonly fips: boolean })
  | (Common & { readonly profile: "kubelet"; readonly kubelet: KubeletOptions });

/** HyperShift's. */
const usualNames = {
  bootstrapKubeconfig: "bootstrap-kubeconfig",
  pullSecret: "pull-secret",
  trustBundle: "user-ca-bundle",
} as const;

/** It is read for each payload, so that a change of the file needs no restart. Throws DB_PAYLOAD. */
export async function readRecipe(path: string): Promise<PayloadRecipe> {
  return wrapErrors("DB_PAYLOAD", `${path} cannot be used`, async () =>
    recipeOf(await readFile(path, "utf8"), dirname(path)),
  );
}

async function recipeOf(text: string, directory: string): Promise<PayloadRecipe> {
  const document = readYaml(text, 0);
  const all = ["profile", "apiProxy", "sshKeys", ...Object.keys(usualNames)];
  const { profile } = fieldsOf(document, "it");
  const known = { rhcos: ["machineConfig", "fips"], kubelet: ["kubelet"] };
  if (profile !== "rhcos" && profile !== "kubelet") throw new Error("profile must be rhcos or kubelet");
  const of = fieldsOf(document, "it", [...all, ...known[profile]]);
  const nameOf = (key: keyof typeof usualNames) =>
    textOf(of[key] ?? usualNames[key], key, /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
  const common = {
    apiProxy: of.apiProxy === undefined ? undefined : readForms(of.apiProxy, "apiProxy", apiProxyForms),
    sshKeys: sshKeys(of.sshKeys),
    names: {
      bootstrapKubeconfig: nameOf("bootstrapKubeconfig"),
      pullSecret: nameOf("pullSecret"),
      trustBundle: nameOf("trustBundle"),
    },
  };
  if (profile === "kubelet") return { ...common, profile, kubelet: readForms(of.kubelet, "kubelet", kubeletForms) };
  const file = resolve(directory, textOf(of.machineConfig, "machineConfig"));
  const machineConfig = readMachineConfig(await readFile(file, "utf8"), file);
  return { ...common, profile, machineConfig, fips: truth(of.fips, "fips") };
}

function textOf(value: unknown, what: string, form = /./): string {
  if (typeof value !== "string" || !form.test(value)) throw new Error(`${what} is missing or is not what it should be`);
  return value;
}

function sshKeys(value: unknown): readonly string[] {
  const keys = textsOf(value, "sshKeys");
  const wrong = keys.find((key) => !isOneLine(key));
  if (wrong !== undefined) throw new Error(`sshKeys must have one key in one line each, not ${JSON.stringify(wrong)}`);
  return keys;
}

function truth(value: unknown, what: string): boolean {
  if (value !== undefined && typeof value !== "boolean") throw new Error(`${what} must be true or false`);
  return value === true;
}

/** Settings of a MachineConfig that only the operating system's own tools can apply. */
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

/** Sorted by name, which is the order in which OpenShift merges them. */
export function readMachineConfigs(text: string, where: string): MachineConfig[] {
  return splitDocuments(text)
    .map((part, index) => readMachineConfig(part, `document ${index + 1} of ${where}`))
    .sort((a, b) => byBytes(a.name, b.name));
}

function readMachineConfig(text: string, where: string): MachineConfig {
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

/** Merges settings as OpenShift does: FIPS is on if any asks for it, lists are joined, and of the others the last wins. */
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
