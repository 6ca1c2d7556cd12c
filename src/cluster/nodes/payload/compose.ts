/** Composes a pool's payload. Its parts are checked as a machine would check them, and written as spec 3.2. */
import { at } from "../../../base/at.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { type Config, versionOf } from "../../ignition/config.js";
import { emit, merge, USUAL_MINOR } from "../../ignition/render.js";
import { requireValid } from "../../ignition/validate/validate.js";
import { encoded } from "../objects.js";
import { parseKubernetesYaml } from "../yaml.js";
import { apiProxyConfig, BOOTSTRAP_KUBECONFIG, configOf, file, kubeletConfig } from "./parts.js";
import {
  type HostSettings,
  type MachineConfig,
  mergedSettings,
  type PayloadRecipe,
  readMachineConfigs,
} from "./recipe.js";

/** The parts of a payload that come from the cluster. */
export interface PayloadInputs {
  /** Empty: none. */
  readonly pullSecret: string;
  readonly trustBundle: string;
  /** The kubelet asks for its first certificate with it. */
  readonly bootstrapKubeconfig: string;
  /** The pool's own documents, as its token Secret has them. */
  readonly rawConfig: string;
}

export interface ComposedPayload {
  readonly text: string;
  /** The payload for a machine whose name is known: the name and a newline, in base64, go between the two. */
  readonly named: { readonly before: string; readonly after: string };
}

const TRUST_ANCHOR = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt";

/** Throws DrawbridgeErrors whose sentences hold no content of any file. */
export function composePayload(recipe: PayloadRecipe, inputs: PayloadInputs): ComposedPayload {
  const own = readMachineConfigs(inputs.rawConfig, "the pool's configuration");
  const { apiProxy, sshKeys } = recipe;
  const configs = [
    ...(recipe.profile === "rhcos" ? rhcosBase(recipe.machineConfig) : kubeletBase(recipe, inputs, own)),
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

function aroundName(config: Config): ComposedPayload["named"] {
  const named = configOf({ files: [file("/etc/hostname", PLACEHOLDER)] });
  const text = JSON.stringify(merge(config, { ...named, ignition: config.ignition }));
  const [before = "", after = ""] = text.split(encoded(PLACEHOLDER));
  return { before, after };
}

function rhcosBase({ config, name }: MachineConfig): Config[] {
  if (config === undefined) throw unusable(`the rendered MachineConfig ${name} has no Ignition config in spec.config`);
  return [config];
}

function kubeletBase(
  recipe: Extract<PayloadRecipe, { profile: "kubelet" }>,
  { bootstrapKubeconfig: kubeconfig }: PayloadInputs,
  own: readonly MachineConfig[],
): Config[] {
  for (const { host, name } of own) {
    const [setting] =
      Object.entries(host).find(([, value]) => value !== "" && value !== false && value.length !== 0) ?? [];
    if (setting !== undefined) {
      throw unusable(`MachineConfig ${name} sets ${setting}, which nobody applies on a machine of the profile kubelet`);
    }
  }
  return [kubeletConfig(recipe.kubelet, authorityOf(kubeconfig))];
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
    file(place, kubeconfig, 0o600),
    ...(pullSecret === "" ? [] : [file("/var/lib/kubelet/config.json", pullSecret, 0o600)]),
    ...(trustBundle === "" ? [] : [file(TRUST_ANCHOR, trustBundle)]),
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

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_PAYLOAD", sentence);
}

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
      file("/etc/ignition-machine-config-encapsulated.json", JSON.stringify(encapsulated)),
      file("/etc/machine-config-daemon/node-annotations.json", JSON.stringify(state)),
    ],
  });
}
