/** The bridge as an ordered list of small steps, each of which checks whether it is done and does what is missing. */

import type { KubeApi } from "../../kube/port.js";
import type { BridgeThing } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { flagValue } from "./api-server/manifest.js";
import { type Host, waitFor } from "./host.js";
import type { RecordKeeper, SettingMethod } from "./record.js";

export interface StepState {
  /** `done`: nothing to do. `missing`: `do` brings it about. `wrong`: it is there, but not as it should be. */
  readonly state: "done" | "missing" | "wrong";
  /** One sentence without its full stop. */
  readonly detail: string;
  /** Of `done`: only because nobody needs it yet. */
  readonly isEarly?: true;
}

export interface BridgeStep {
  /** Stable, for scripts. */
  readonly name: string;
  readonly title: string;
  /** What `do` may leave behind, however it ends. */
  makes(): Promise<readonly BridgeThing[]>;
  /** Changes nothing. */
  check(): Promise<StepState>;
  /** Returns when the step is done; throws when it cannot be. Safe to repeat, also after it was interrupted anywhere. */
  do(): Promise<void>;
  /** When it is somebody else's to do: what, exactly. */
  readonly byHand?: string;
}

export interface StepResult {
  readonly name: string;
  readonly title: string;
  readonly outcome: "already so" | "done" | "left to you";
  readonly detail: string;
  readonly tookMs: number;
  /** What somebody has to do, when it is left to them. */
  readonly byHand?: string;
}

export interface StepProgress {
  starts(step: BridgeStep): void;
  ends(result: StepResult): void;
}

/** Throws what a step throws; everything up to there stays, and the next run goes on from it. */
export async function runSteps(
  steps: readonly BridgeStep[],
  { keeper, host }: Site,
  progress: StepProgress,
): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) {
    const { name, title, byHand } = step;
    const start = host.now();
    let { state, detail } = await step.check();
    const isDone = state === "done";
    // Also what others do for the bridge has to be undone.
    if (!isDone) await keeper.willOpen(await step.makes());
    if (!isDone && byHand === undefined) {
      progress.starts(step);
      await step.do();
      ({ state, detail } = await step.check());
    }
    const outcome = isDone ? "already so" : byHand === undefined ? "done" : "left to you";
    const left = outcome === "left to you" && byHand !== undefined ? { byHand } : {};
    const result: StepResult = { name, title, outcome, detail, tookMs: Math.round(host.now() - start), ...left };
    results.push(result);
    progress.ends(result);
  }
  return results;
}

/** Waits until the check says done. Returns what it said last when that takes too long, undefined otherwise. */
export async function lackAfter(
  { host, timeoutMs }: Site,
  check: () => Promise<StepState>,
): Promise<string | undefined> {
  let last = "";
  const isDone = async (): Promise<boolean> => {
    const { state, detail } = await check();
    last = detail;
    return state === "done";
  };
  return (await waitFor(host, host.now() + timeoutMs, isDone, 500)) ? undefined : last;
}

/** The cluster that a bridge belongs to. */
export interface BridgeCluster {
  /** One file or, as in KUBECONFIG, several separated by colons. */
  readonly kubeconfig: string;
  /** Empty: the current context of the kubeconfig. */
  readonly context: string;
}

/** What was given wins over what was recorded; a context that is given alone is one of the recorded kubeconfig. */
export function chosenCluster(given: BridgeCluster, recorded: Partial<BridgeCluster> = {}): BridgeCluster {
  if (given.kubeconfig !== "") return given;
  const { context = "", kubeconfig = "" } = recorded;
  return { kubeconfig, context: given.context || context };
}

/** `server`: another kube-apiserver of the same cluster than the kubeconfig names. */
export type OpenApi = (cluster: BridgeCluster, server?: string) => Promise<KubeApi>;

/** What every step of one bridge works on. */
export interface Site {
  readonly host: Host;
  readonly keeper: RecordKeeper;
  readonly model: BridgeModel;
  readonly api: ApiAccess;
  /** How long any one step may wait for others. */
  readonly timeoutMs: number;
}

/** Connections are made when they are first needed. */
export class ApiAccess {
  readonly #host: Host;
  readonly #open: (server?: string) => Promise<KubeApi>;
  readonly #setting: SettingMethod;
  #cluster: Promise<KubeApi> | undefined;
  #local: Promise<KubeApi> | undefined;

  constructor(host: Host, open: OpenApi, cluster: BridgeCluster, setting: SettingMethod) {
    this.#host = host;
    this.#open = (server) => open(cluster, server);
    this.#setting = setting;
  }

  /** As the kubeconfig says. */
  cluster(): Promise<KubeApi> {
    this.#cluster ??= this.#open();
    return this.#cluster;
  }

  /** The kube-apiserver of this host: the kubeconfig may lead to a balancer in front of several. */
  local(): Promise<KubeApi> {
    this.#local ??= this.#openLocal();
    return this.#local;
  }

  async clusterReady(): Promise<boolean> {
    return isApiReady(await this.cluster());
  }

  async localReady(): Promise<boolean> {
    return isApiReady(await this.local());
  }

  async close(): Promise<void> {
    for (const opened of [this.#cluster, this.#local]) (await opened?.catch(() => undefined))?.close();
  }

  async #openLocal(): Promise<KubeApi> {
    const text = this.#setting.by === "manifest" ? await this.#host.files.read(this.#setting.manifest) : undefined;
    const address = text && (flagValue(text, "advertise-address") ?? flagValue(text, "bind-address"));
    if (text === undefined || !address || address === "0.0.0.0" || address === "::") return this.cluster();
    const host = address.includes(":") ? `[${address}]` : address;
    return this.#open(`https://${host}:${flagValue(text, "secure-port") ?? "6443"}`);
  }
}

/** Undisturbed by a kube-apiserver that is away. */
export async function isApiReady(api: KubeApi): Promise<boolean> {
  try {
    return (await api.text("/readyz", { timeoutMs: 3_000 })) === "ok";
  } catch {
    return false;
  }
}

/** Its modules are loaded only by commands that have a kubeconfig to use. */
export const openApi: OpenApi = async ({ kubeconfig, context }, server) => {
  const [{ createKubeApi }, { kubeconfigEndpoint }] = await Promise.all([
    import("../../kube/client.js"),
    import("../../kube/kubeconfig/endpoint.js"),
  ]);
  const endpoint = await kubeconfigEndpoint(kubeconfig, context);
  return createKubeApi(server === undefined ? endpoint : { ...endpoint, server });
};
