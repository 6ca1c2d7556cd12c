/** What every step of one bridge has to do with. */
import type { KubeApi } from "../../kube/port.js";
import type { BridgeModel } from "../model/model.js";
import { flagValue } from "./api-server/manifest.js";
import type { Host } from "./host.js";
import type { RecordKeeper, SettingWay } from "./record.js";

/** `server`: another kube-apiserver of the same cluster than the kubeconfig names. */
export type OpenApi = (kubeconfig: string, server?: string) => Promise<KubeApi>;

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
  readonly #setting: SettingWay;
  #cluster: Promise<KubeApi> | undefined;
  #local: Promise<KubeApi> | undefined;

  constructor(host: Host, open: OpenApi, kubeconfig: string, setting: SettingWay) {
    this.#host = host;
    this.#open = (server) => open(kubeconfig, server);
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
    return isReady(await this.cluster());
  }

  async localReady(): Promise<boolean> {
    return isReady(await this.local());
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
export async function isReady(api: KubeApi): Promise<boolean> {
  try {
    return (await api.text("/readyz", { timeoutMs: 3_000 })) === "ok";
  } catch {
    return false;
  }
}
