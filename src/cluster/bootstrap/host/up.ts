/** Brings a bridge up on this host, or what is missing of it. */

import { isDeepStrictEqual } from "node:util";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { AddressChoice } from "../address/choose.js";
import { type BridgeOptions, bridgeModel } from "../model/model.js";
import { KUBEADM_MANIFEST, type Topology } from "../model/names.js";
import { apiServerStep, type Instructions, instructionsFor } from "./api-server.js";
import type { Host } from "./host.js";
import { type BridgeRecord, RecordKeeper, type SettingMethod } from "./record.js";
import {
  ApiAccess,
  type BridgeCluster,
  chosenCluster,
  type OpenApi,
  type Progress,
  runSteps,
  type Site,
  type Step,
  type StepResult,
} from "./step.js";
import { agentsStep, connectedStep } from "./steps/agents.js";
import {
  addressNow,
  addressStep,
  certificatesEnd,
  certificatesStep,
  directoriesStep,
  fileStep,
  placedFile,
} from "./steps/host.js";
import { serverStep } from "./steps/server.js";

export interface UpResult {
  readonly for: string;
  readonly address: string;
  /** ISO 8601: when the certificates end, and with them the bridge. */
  readonly until: string | undefined;
  readonly namespace: string;
  readonly stateDirectory: string;
  readonly steps: readonly StepResult[];
  /** Undefined when the kube-apiserver uses the bridge already. */
  readonly leftToYou: Instructions | undefined;
  readonly warnings: readonly string[];
}

export async function bringUp(host: Host, wishes: UpOptions, openApi: OpenApi, progress: Progress): Promise<UpResult> {
  let isUp = false;
  const object = async ({ options, kubeconfig, context = "", setting }: Draft): Promise<void> => {
    const api = new ApiAccess(host, openApi, { kubeconfig, context }, setting);
    try {
      isUp = await api.clusterReady();
      if (options.for !== "kubeadm" || !isUp || wishes.onlyThisApiServer) return;
      refuseSeveral(await announcedApiServers(await api.cluster()));
    } finally {
      await api.close();
    }
  };
  const { keeper, cluster, choose, choice } = await makePlan(host, wishes, object);
  const { setting } = keeper.record;
  const api = new ApiAccess(host, openApi, cluster, setting);
  try {
    const site: Site = { host, keeper, model: keeper.model, api, timeoutMs: wishes.timeoutMs };
    const steps = stepsOf(site, { apply: wishes.apply || setting.by === "command", isUp, choose });
    const results = await runSteps(steps, keeper, () => host.now(), progress);
    return await resultOf(site, results, choice.warnings);
  } finally {
    await api.close();
  }
}

interface Circumstances {
  readonly apply: boolean;
  readonly isUp: boolean;
  readonly choose: Parameters<typeof addressStep>[1];
}

/** In the order in which they are taken; `status` looks at the same ones. */
export function stepsOf(site: Site, { apply, isUp, choose }: Circumstances): Step[] {
  const { paths } = site.model;
  const egress = fileStep(site, "egress-config", "Egress configuration", placedFile(site, paths.egressConfig.host));
  const tmpfiles =
    paths.tmpfiles === undefined
      ? []
      : [fileStep(site, "tmpfiles", "Socket directory after a reboot", placedFile(site, paths.tmpfiles))];
  const [agents, setting] = [agentsStep(site), apiServerStep(site, apply)];
  return [
    directoriesStep(site),
    addressStep(site, choose),
    certificatesStep(site),
    egress,
    ...tmpfiles,
    serverStep(site),
    // From the moment of the change on all calls into the cluster need agents, so these come first where they can.
    ...(isUp ? [agents, setting] : [setting, agents]),
    connectedStep(site),
  ];
}

async function resultOf(site: Site, steps: readonly StepResult[], warnings: readonly string[]): Promise<UpResult> {
  const { model, keeper } = site;
  const end = await certificatesEnd(site);
  const isLeft = steps.some(({ outcome }) => outcome === "left to you");
  return {
    for: model.for,
    address: model.serverAddresses[0],
    until: end === undefined ? undefined : new Date(end).toISOString(),
    namespace: model.namespace,
    stateDirectory: keeper.directory,
    steps,
    leftToYou: isLeft ? instructionsFor(model, keeper.record.setting) : undefined,
    warnings,
  };
}

/** From what was asked for, and what was asked for before, to the bridge that is to stand. */

/** What `up` may be told. Undefined or empty: as before, or the default. */
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

export interface Plan {
  readonly keeper: RecordKeeper;
  /** The one to use now; the recorded one is for those who name none. */
  readonly cluster: BridgeCluster;
  /** The host's address as it is now. */
  readonly choose: () => Promise<AddressChoice>;
  readonly choice: AddressChoice;
}

/** Before anything is made: throws when it should not be. */
export type Objection = (draft: Draft) => Promise<void>;

export type Draft = Pick<BridgeRecord, "options" | "kubeconfig" | "context" | "setting">;

/** Finds the record of the bridge that is to stand, or begins one. */
export async function makePlan(host: Host, wishes: UpOptions, object: Objection): Promise<Plan> {
  const earlier = await RecordKeeper.find(host, wishes.stateDirectory);
  const choose = () => addressNow(host, wishes, earlier?.model);
  if (earlier !== undefined) {
    refuseOtherOptions(earlier, wishes);
    const setting = settingOf(earlier.record.options, wishes);
    // How it is told may change from one run to the next, as long as nothing was changed yet.
    if (setting.by === "command") await earlier.willChange(setting);
    const cluster = chosenCluster(wishes, earlier.record);
    await object({ ...earlier.record, ...cluster });
    return { keeper: earlier, cluster, choose, choice: await choose() };
  }
  const choice = await choose();
  const options = await freshOptions(host, wishes, choice.target);
  const model = bridgeModel(options);
  await refuseForeignDirectories(host, model.paths.ownDirectories);
  const kubeconfig = await chooseKubeconfig(host, wishes.kubeconfig, wishes.env.KUBECONFIG);
  const cluster = { kubeconfig, context: wishes.context };
  const draft = { options, ...cluster, setting: settingOf(options, wishes) };
  await object(draft);
  const keeper = await RecordKeeper.begin(host, wishes.stateDirectory, draft);
  return { keeper, cluster, choose, choice };
}

const DEFAULT_MANIFESTS = "/etc/kubernetes/manifests";

async function freshOptions(host: Host, wishes: UpOptions, address: string): Promise<BridgeOptions> {
  const topology = wishes.for ?? (await detectTopology(host, wishes.manifestsDirectory ?? DEFAULT_MANIFESTS));
  if (topology === "openshift") {
    const sentence = "On OpenShift the bridge comes with the host's own scripts: use drawbridge bootstrap inject.";
    throw new DrawbridgeError("DB_BRIDGE_OPTIONS", sentence);
  }
  const program = wishes.ownProgram === undefined ? {} : { serverProgram: wishes.ownProgram };
  return { ...program, ...bridgeOptions(wishes), for: topology, serverAddresses: [address] };
}

/** What was told of the bridge itself. */
function bridgeOptions(wishes: UpOptions): Partial<BridgeOptions> {
  const { for: _, address, kubeconfig, context, apply, applyCommand, restoreCommand, ...others } = wishes;
  const { onlyThisApiServer, ownProgram, stateDirectory, timeoutMs, env, ...told } = others;
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
}

/**
 * A second run may say less than the first, never something else: half a bridge of one kind and half of another is none.
 * How long it stands was decided when its certificates were made, and a newer drawbridge leaves its image alone.
 */
function refuseOtherOptions({ record }: RecordKeeper, wishes: UpOptions): void {
  const before = record.options as unknown as Readonly<Record<string, unknown>>;
  const now: Record<string, unknown> = { ...bridgeOptions(wishes), ...(wishes.for && { for: wishes.for }) };
  const fixed = ["validForMs", "version"];
  const different = Object.entries(now).filter(
    ([name, value]) => !fixed.includes(name) && !isDeepStrictEqual(before[name], value),
  );
  if (different.length === 0) return;
  const words = different.map(([name, value]) => `${name} ${shown(before[name])} instead of ${shown(value)}`);
  const sentence = `The bridge that stands here was made with ${words.join(", ")}.`;
  throw new DrawbridgeError("DB_BRIDGE_EXISTS", sentence);
}

const shown = (value: unknown): string => (value === undefined ? "the default" : JSON.stringify(value));

/** Teardown empties these, so nothing may lie in them that a bridge did not put there. */
async function refuseForeignDirectories(host: Host, own: readonly { readonly path: string }[]): Promise<void> {
  for (const { path } of own) {
    if (!(await host.files.holdsAnything(path))) continue;
    const sentence = `${path} holds files, but no bridge is recorded on this host.`;
    throw new DrawbridgeError("DB_BRIDGE_EXISTS", sentence);
  }
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

// What kind of host this is, and which kube-apiservers there are besides its own.

const ADMIN_CONFIG = "/etc/kubernetes/admin.conf";

/** By what lies on the host; the cluster need not be there yet. */
export async function detectTopology({ files }: Host, manifestsDirectory: string): Promise<Topology> {
  if ((await files.status("/opt/openshift")) !== undefined) return "openshift";
  const marks = [`${manifestsDirectory}/${KUBEADM_MANIFEST}`, "/etc/kubernetes/pki/apiserver.crt"];
  for (const mark of marks) if ((await files.status(mark)) !== undefined) return "kubeadm";
  return "bare";
}

/** kubeadm's own where nobody says another. */
export async function chooseKubeconfig(host: Host, told: string, env: string | undefined): Promise<string> {
  if (told !== "") return told;
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
