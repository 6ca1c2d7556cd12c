/** Composes a pool's payload by its recipe, the file of --payload. Its parts are checked as a machine would check them, and written as spec 3.2. */

import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { at } from "../../../base/at.js";
import { errorOf, wrapErrors } from "../../../base/errors/error.js";
import { type Config, versionOf } from "../../ignition/config.js";
import { requireConfig } from "../../ignition/parse.js";
import { emit, merge, USUAL_MINOR } from "../../ignition/render.js";
import { requireValid } from "../../ignition/validate/validate.js";
import { byBytes } from "../hash/pool-hash.js";
import { BOOTSTRAP_SECRET, encoded } from "../objects.js";
import { fieldsOf, parseKubernetesYaml, readYaml, splitDocuments, textsOf } from "../yaml.js";
import {
  type ApiProxy,
  apiProxyConfig,
  apiProxyForms,
  BOOTSTRAP_KUBECONFIG,
  configOf,
  fileEntry,
  isOneLine,
  type KubeletOptions,
  kubeletConfig,
  type PoolsKubeletConfig,
  readForms,
  readKubelet,
  withPoolsFields,
  withPoolsRegistration,
} from "./parts.js";

/** The parts of a payload that come from the cluster. */
export interface PayloadInputs {
  /** Empty: none. */
  readonly pullSecret: string;
  readonly trustBundle: string;
  /** The kubelet asks for its first certificate with it. */
  readonly bootstrapKubeconfig: string;
  /** The pool's own documents, as its token Secret has them. */
  readonly rawConfig: string;
  /** The labels and taints of the pool, as its token Secret has them. Empty: none. */
  readonly registration: string;
}

export type ComposedPayload = ReturnType<typeof composePayload>;

const TRUST_ANCHOR = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt";

/** Throws DrawbridgeErrors whose sentences hold no content of any file. */
export function composePayload(recipe: PayloadRecipe, inputs: PayloadInputs) {
  const documents = readDocuments(inputs.rawConfig, "the pool's configuration");
  const own = documents.flatMap((one) => ("host" in one ? [one] : []));
  const kubeletConfigs = documents.flatMap((one) => ("fields" in one ? [one] : []));
  const { apiProxy, sshKeys } = recipe;
  const configs = [
    ...(recipe.profile === "rhcos"
      ? rhcosBase(recipe.machineConfig, kubeletConfigs)
      : kubeletBase(recipe, inputs, own, kubeletConfigs)),
    ...(apiProxy === undefined ? [] : [apiProxyConfig(apiProxy)]),
    ...own.flatMap(({ config }) => (config === undefined ? [] : [config])),
    configOf({ sshKeys, files: credentials(recipe.profile, inputs) }),
    ...(recipe.profile === "rhcos" ? [firstBoot(recipe, own)] : []),
  ];
  const merged = configs.reduce(merge);
  requireValid(merged, "together the parts of the payload are not valid");
  const written = emit(merged) as unknown as Config;
  return { text: JSON.stringify(written), named: aroundName(written) };
}

/** A name no payload has by chance. */
const PLACEHOLDER = "drawbridge.worker.name.placeholder";

/** The payload for a machine whose name is known: the name and a newline, in base64, go between the two. */
function aroundName(config: Config) {
  const named = configOf({ files: [fileEntry("/etc/hostname", PLACEHOLDER)] });
  const text = JSON.stringify(merge(config, { ...named, ignition: config.ignition }));
  const [before = "", after = ""] = text.split(encoded(PLACEHOLDER));
  return { before, after };
}

function rhcosBase({ config, name }: MachineConfig, [kubeletConfig]: readonly PoolsKubeletConfig[]): Config[] {
  if (kubeletConfig !== undefined) throw needsRenderer(`KubeletConfig ${kubeletConfig.name}`, "a KubeletConfig");
  if (config === undefined) throw unusable(`the rendered MachineConfig ${name} has no Ignition config in spec.config`);
  return [config];
}

function kubeletBase(
  recipe: Extract<PayloadRecipe, { profile: "kubelet" }>,
  { bootstrapKubeconfig: kubeconfig, registration }: PayloadInputs,
  own: readonly MachineConfig[],
  kubeletConfigs: readonly PoolsKubeletConfig[],
): Config[] {
  for (const { host, name } of own) {
    const [setting] =
      Object.entries(host).find(([, value]) => value !== "" && value !== false && value.length !== 0) ?? [];
    if (setting !== undefined) {
      throw unusable(`MachineConfig ${name} sets ${setting}, which nobody applies on a machine of the profile kubelet`);
    }
  }
  const options = withPoolsRegistration(withPoolsFields(recipe.kubelet, kubeletConfigs), registration);
  return [kubeletConfig(options, authorityOf(kubeconfig))];
}

function firstBoot(recipe: Extract<PayloadRecipe, { profile: "rhcos" }>, own: readonly MachineConfig[]): Config {
  const { fips, machineConfig } = recipe;
  const wanted: HostSettings = { fips, kernelArguments: [], extensions: [], kernelType: "", osImageURL: "" };
  return firstBootConfig(
    machineConfig.name,
    mergedSettings([machineConfig.host, ...own.map(({ host }) => host), wanted]),
  );
}

function credentials(
  profile: PayloadRecipe["profile"],
  { bootstrapKubeconfig: kubeconfig, pullSecret, trustBundle }: PayloadInputs,
) {
  const place = profile === "rhcos" ? "/etc/kubernetes/kubeconfig" : BOOTSTRAP_KUBECONFIG;
  return [
    fileEntry(place, kubeconfig, 0o600),
    ...(pullSecret === "" ? [] : [fileEntry("/var/lib/kubelet/config.json", pullSecret, 0o600)]),
    ...(trustBundle === "" ? [] : [fileEntry(TRUST_ANCHOR, trustBundle)]),
  ];
}

/** The API's authority, whose clients the kubelet admits. */
function authorityOf(kubeconfig: string): string {
  const config = parseKubernetesYaml(kubeconfig, "the bootstrap kubeconfig");
  const data = at(config, "clusters", 0, "cluster", "certificate-authority-data");
  if (typeof data !== "string" || data === "")
    throw unusable("the bootstrap kubeconfig has no certificate-authority-data, so a machine could trust nobody");
  return Buffer.from(data, "base64").toString("utf8");
}

const unusable = errorOf("DB_PAYLOAD");

const MCO = "machineconfiguration.openshift.io";

/**
 * What OpenShift's machine config server adds to a rendered MachineConfig. At first boot the operating system's own service
 * reads it, applies it and usually reboots.
 */
function firstBootConfig(name: string, host: HostSettings): Config {
  const encapsulated = {
    apiVersion: `${MCO}/v1`,
    kind: "MachineConfig",
    metadata: { name, creationTimestamp: null },
    spec: { ...host, config: { ignition: { version: versionOf(USUAL_MINOR) } } },
  };
  const state = {
    [`${MCO}/currentConfig`]: name,
    [`${MCO}/desiredConfig`]: name,
    [`${MCO}/state`]: "Done",
  };
  return configOf({
    files: [
      fileEntry("/etc/ignition-machine-config-encapsulated.json", JSON.stringify(encapsulated)),
      fileEntry("/etc/machine-config-daemon/node-annotations.json", JSON.stringify(state)),
    ],
  });
}

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
  bootstrapKubeconfig: BOOTSTRAP_SECRET,
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
  if (profile === "kubelet") return { ...common, profile, kubelet: readKubelet(of.kubelet) };
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

export type MachineConfig = ReturnType<typeof readMachineConfig>;

interface Manifest {
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown };
  readonly spec?: Partial<Record<keyof HostSettings | "config", unknown>> | null;
}

/** Sorted by name, which is the order in which OpenShift merges them. */
function readDocuments(text: string, where: string): (MachineConfig | PoolsKubeletConfig)[] {
  return splitDocuments(text)
    .map((part, index) => readDocument(part, `document ${index + 1} of ${where}`))
    .sort((a, b) => byBytes(a.name, b.name));
}

function readDocument(text: string, where: string): MachineConfig | PoolsKubeletConfig {
  const manifest = (parseKubernetesYaml(text, where) ?? {}) as Manifest;
  return manifest.kind === "KubeletConfig" ? readKubeletConfig(manifest) : readMachineConfig(text, where);
}

/** Its selector says which pools it is for; here it is this one's. */
function readKubeletConfig({ metadata, spec }: Manifest): PoolsKubeletConfig {
  const name = nameIn(metadata);
  const { kubeletConfig = {}, machineConfigPoolSelector: _, ...others } = (spec ?? {}) as Record<string, unknown>;
  const [other] = Object.keys(others);
  if (other === undefined) return { name, fields: kubeletConfig };
  throw needsRenderer(`spec.${other} of KubeletConfig ${name}`, "a setting of the machine");
}

const nameIn = (metadata: Manifest["metadata"]) => (typeof metadata?.name === "string" ? metadata.name : "");

function needsRenderer(where: string, what: string) {
  return unusable(
    `${where} is ${what}, which needs OpenShift's renderer; put what that makes of it into the rendered MachineConfig`,
  );
}

function readMachineConfig(text: string, where: string) {
  const manifest = (parseKubernetesYaml(text, where) ?? {}) as Manifest;
  if (manifest.kind !== "MachineConfig") {
    throw needsRenderer(where, typeof manifest.kind === "string" ? `a ${manifest.kind}` : "no Kubernetes object");
  }
  const name = nameIn(manifest.metadata);
  const { config, ...host } = manifest.spec ?? {};
  const isNothing = config === undefined || config === null || Object.keys(config).length === 0;
  return {
    name,
    /** Undefined when it has only settings of the host. */
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
