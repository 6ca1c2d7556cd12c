/** Brings a bridge up on this host, or what is missing of it. */

import { isDeepStrictEqual } from "node:util";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { AddressChoice } from "../address/choose.js";
import { type BridgeOptions, bridgeModel } from "../model/model.js";
import { KUBEADM_MANIFEST, type Topology } from "../model/names.js";
import { apiServerStep, instructionsFor } from "./api-server.js";
import type { Host } from "./host.js";
import { type BridgeRecord, RecordKeeper, type SettingMethod } from "./record.js";
import {
  ApiAccess,
  type BridgeStep,
  chosenCluster,
  type OpenApi,
  runSteps,
  type Site,
  type StepProgress,
} from "./step.js";
import { agentsStep, connectedStep } from "./steps/agents.js";
import {
  addressNow,
  addressStep,
  certificatesEnd,
  certificatesStep,
  directoriesStep,
  placedFile,
} from "./steps/host.js";
import { serverStep } from "./steps/server.js";

/** Options of `up`. Undefined or empty: as before, or the default. */
export interface UpOptions extends Omit<BridgeOptions, "for" | "serverAddresses"> {
  readonly for: Topology | undefined;
  readonly address: string | undefined;
  readonly kubeconfig: string;
  readonly context: string;
  /** Change the kube-apiserver, too. */
  readonly apply: boolean;
  /** Shell commands that (re)start a bare kube-apiserver with and without the flag. */
  readonly applyCommand: string | undefined;
  readonly restoreCommand: string | undefined;
  readonly onlyThisApiServer: boolean;
  /** The server's executable where nobody names one. */
  readonly ownProgram: string | undefined;
  readonly stateDirectory: string;
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type BridgeUpResult = Awaited<ReturnType<typeof bringBridgeUp>>;

export async function bringBridgeUp(host: Host, wanted: UpOptions, openApi: OpenApi, progress: StepProgress) {
  const earlier = await RecordKeeper.find(host, wanted.stateDirectory);
  const choose = () => addressNow(host, wanted, earlier?.record);
  const draft = earlier === undefined ? await newDraft(host, wanted, await choose()) : draftAgain(earlier, wanted);
  const { options, kubeconfig, context, setting } = draft;
  const api = new ApiAccess(host, openApi, { kubeconfig, context }, setting);
  try {
    const isApiReady = await api.clusterReady();
    if (options.for === "kubeadm" && isApiReady && !wanted.onlyThisApiServer)
      refuseSeveral(await announcedApiServers(await api.cluster()));
    const keeper = earlier ?? (await RecordKeeper.begin(host, wanted.stateDirectory, draft));
    // The method may change from one run to the next, as long as nothing was changed yet.
    if (earlier !== undefined && setting.by === "command") await earlier.change({ setting });
    const { model } = keeper;
    const { warnings } = await choose();
    const site: Site = { host, keeper, model, api, timeoutMs: wanted.timeoutMs };
    const apply = wanted.apply || keeper.record.setting.by === "command";
    const steps = await runSteps(stepsOf(site, { apply, isApiReady, choose }), site, progress);
    const isLeft = steps.some(({ outcome }) => outcome === "left to you");
    return {
      for: model.for,
      address: model.serverAddresses[0],
      /** ISO 8601: when the certificates end, and with them the bridge. */
      until: await certificatesEnd(site),
      namespace: model.namespace,
      stateDirectory: keeper.directory,
      steps,
      /** Undefined when the kube-apiserver uses the bridge already. */
      leftToYou: isLeft ? instructionsFor(model, keeper.record.setting) : undefined,
      warnings,
    };
  } finally {
    await api.close();
  }
}

interface Circumstances {
  readonly apply: boolean;
  readonly isApiReady: boolean;
  readonly choose: Parameters<typeof addressStep>[1];
}

/** In the order in which they are taken; `status` looks at the same ones. */
export function stepsOf(site: Site, { apply, isApiReady, choose }: Circumstances): BridgeStep[] {
  const { egressConfig, tmpfiles } = site.model.paths;
  const [agents, setting] = [agentsStep(site), apiServerStep(site, apply)];
  return [
    directoriesStep(site),
    addressStep(site, choose),
    certificatesStep(site),
    { name: "egress-config", title: "Egress configuration", ...placedFile(site, egressConfig.host) },
    ...(tmpfiles === undefined
      ? []
      : [{ name: "tmpfiles", title: "Socket directory after a reboot", ...placedFile(site, tmpfiles) }]),
    serverStep(site),
    // From the moment of the change on all calls into the cluster need agents, so these come first where they can.
    ...(isApiReady ? [agents, setting] : [setting, agents]),
    connectedStep(site),
  ];
}

type RecordDraft = Required<Pick<BridgeRecord, "options" | "kubeconfig" | "context" | "setting">>;

/**
 * Of a bridge that was begun before. A second run may say less than the first, never something else: half a bridge of one
 * kind and half of another is none. How long it lasts was decided when its certificates were made, and a newer drawbridge
 * leaves its image alone.
 */
function draftAgain({ record }: RecordKeeper, wanted: UpOptions): RecordDraft {
  const { options } = record;
  const before = options as unknown as Readonly<Record<string, unknown>>;
  const now: Record<string, unknown> = { ...bridgeOptions(wanted), ...(wanted.for && { for: wanted.for }) };
  const fixed = ["validForMs", "version"];
  const different = Object.entries(now).filter(
    ([name, value]) => !fixed.includes(name) && !isDeepStrictEqual(before[name], value),
  );
  if (different.length > 0) {
    const shown = (value: unknown): string => (value === undefined ? "the default" : JSON.stringify(value));
    const words = different.map(([name, value]) => `${name} ${shown(before[name])} instead of ${shown(value)}`);
    throw new DrawbridgeError("DB_BRIDGE_EXISTS", `The bridge on this host was made with ${words.join(", ")}.`);
  }
  return { options, ...chosenCluster(wanted, record), setting: settingOf(options, wanted) };
}

const DEFAULT_MANIFESTS = "/etc/kubernetes/manifests";

/** Of a bridge that is begun now. */
async function newDraft(host: Host, wanted: UpOptions, { target }: AddressChoice): Promise<RecordDraft> {
  const topology = wanted.for ?? (await detectTopology(host, wanted.manifestsDirectory ?? DEFAULT_MANIFESTS));
  if (topology === "openshift") {
    const sentence = "On OpenShift the bridge comes with the host's own scripts: use drawbridge bootstrap inject.";
    throw new DrawbridgeError("DB_BRIDGE_OPTIONS", sentence);
  }
  const program = wanted.ownProgram === undefined ? {} : { serverProgram: wanted.ownProgram };
  const options = { ...program, ...bridgeOptions(wanted), for: topology, serverAddresses: [target] };
  // Teardown empties these, so nothing may lie in them that a bridge did not put there.
  for (const { path } of bridgeModel(options).paths.ownDirectories) {
    if (await host.files.holdsAnything(path))
      throw new DrawbridgeError("DB_BRIDGE_EXISTS", `${path} holds files, but no bridge is recorded on this host.`);
  }
  const kubeconfig = await chooseKubeconfig(host, wanted.kubeconfig, wanted.env.KUBECONFIG);
  return { options, kubeconfig, context: wanted.context, setting: settingOf(options, wanted) };
}

/** The options that describe the bridge itself. */
function bridgeOptions(wanted: UpOptions): Partial<BridgeOptions> {
  const { for: _, address, kubeconfig, context, apply, applyCommand, restoreCommand, ...others } = wanted;
  const { onlyThisApiServer, ownProgram, stateDirectory, timeoutMs, env, ...named } = others;
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function settingOf(options: BridgeOptions, { apply, applyCommand, restoreCommand }: UpOptions): SettingMethod {
  if (apply && applyCommand === undefined && options.for === "bare") {
    const sentence = "--apply needs --apply-command here: only you know how this kube-apiserver is started";
    throw new DrawbridgeError("DB_FLAG_VALUE", sentence);
  }
  if (applyCommand !== undefined) return { by: "command", apply: applyCommand, restore: restoreCommand };
  if (options.for !== "kubeadm") return { by: "hand" };
  return { by: "manifest", manifest: `${options.manifestsDirectory ?? DEFAULT_MANIFESTS}/${KUBEADM_MANIFEST}` };
}

const ADMIN_CONFIG = "/etc/kubernetes/admin.conf";

/** By what lies on the host; the cluster need not be there yet. */
export async function detectTopology({ files }: Host, manifestsDirectory: string): Promise<Topology> {
  if ((await files.status("/opt/openshift")) !== undefined) return "openshift";
  const marks = [`${manifestsDirectory}/${KUBEADM_MANIFEST}`, "/etc/kubernetes/pki/apiserver.crt"];
  for (const mark of marks) if ((await files.status(mark)) !== undefined) return "kubeadm";
  return "bare";
}

/** kubeadm's own unless another is named. */
export async function chooseKubeconfig(host: Host, named: string, env: string | undefined): Promise<string> {
  if (named !== "") return named;
  if (env !== undefined && env !== "") return env;
  if ((await host.files.status(ADMIN_CONFIG)) !== undefined) return host.files.real(ADMIN_CONFIG);
  throw new DrawbridgeError("DB_FLAG_VALUE", "--kubeconfig is missing: a file with an administrator's access.");
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] | null;
}

/** Addresses of the cluster's kube-apiservers, as they announce themselves; none when the API does not answer. */
export async function announcedApiServers(kube: KubeApi): Promise<string[]> {
  try {
    const { items } = await kube.list<EndpointSlice>(collectionPath("EndpointSlice", "default"), {
      labelSelector: "kubernetes.io/service-name=kubernetes",
      timeoutMs: 5_000,
    });
    const addresses = items.flatMap(({ endpoints }) => endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? []);
    return [...new Set(addresses)].sort();
  } catch (reason) {
    if (reason instanceof KubeApiError) return [];
    throw reason;
  }
}

export function refuseSeveral(addresses: readonly string[]): void {
  if (addresses.length < 2) return;
  const sentence =
    `This control plane has ${addresses.length} kube-apiservers (${addresses.join(", ")}), each of which would need a ` +
    "server of its own on its host, and up makes one.";
  throw new DrawbridgeError("DB_HIGHLY_AVAILABLE", sentence);
}
