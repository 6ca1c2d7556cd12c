/** Takes a bridge down and writes the receipt. Safe to repeat; a second run finds nothing and says so. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { KubeApi } from "../../kube/port.js";
import { type Host, waitFor } from "../host/host.js";
import { RecordKeeper, thingName } from "../host/record.js";
import { ApiAccess, chosenCluster, type OpenApi } from "../host/step.js";
import { detectTopology } from "../host/up.js";
import type { BridgeThing } from "../model/created.js";
import { createdObjects } from "../model/created.js";
import type { Topology } from "../model/names.js";
import { externalCleanup, type FirewallOptions } from "./firewall.js";
import { type HostSide, type RemoteHost, RemoteHostSide, thisHostSide } from "./host-side.js";
import { remainsOf, removeObjects } from "./objects.js";
import type { Receipt, ReceiptItem, Removal, TeardownExit } from "./receipt.js";
import { TeardownLimit } from "./release.js";
import { recordedScope, type TeardownScope, unrecordedScope } from "./scope.js";

export interface TeardownOptions {
  readonly for: Topology | undefined;
  /** Empty: as recorded; without a record, only the host is cleaned. */
  readonly kubeconfig: string;
  readonly context: string;
  readonly stateDirectory: string;
  /** For everything together. */
  readonly timeoutMs: number;
  /** Go on although a kube-apiserver still uses the bridge. */
  readonly force: boolean;
  readonly restoreCommand: string | undefined;
  readonly firewall: FirewallOptions;
  /** The bridge's host is not this one, which is left alone. */
  readonly elsewhere?: RemoteBridge | undefined;
}

export interface RemoteBridge {
  /** Undefined when nobody knows where it is. */
  readonly bootstrap: RemoteHost | undefined;
}

/** What happens while it happens, one sentence each. */
export type TeardownReporter = (sentence: string) => void;

export async function takeDown(
  host: Host,
  options: TeardownOptions,
  openApi: OpenApi,
  report: TeardownReporter,
): Promise<Receipt> {
  const startedAt = new Date(host.now()).toISOString();
  const limit = new TeardownLimit(host, options.timeoutMs);
  const { elsewhere } = options;
  const keeper = elsewhere === undefined ? await RecordKeeper.find(host, options.stateDirectory) : undefined;
  const cluster = chosenCluster(options, keeper?.record);
  const api =
    cluster.kubeconfig === ""
      ? undefined
      : new ApiAccess(host, openApi, cluster, keeper?.record.setting ?? { by: "hand" });
  try {
    // A kubeconfig that cannot be used is an error at once; an API that does not answer is not.
    const kube = await openedApi(api, options.kubeconfig !== "", report);
    const scope = await scopeOf(host, options, keeper, kube);
    const { model, setting, hostThings } = scope;
    const side =
      elsewhere === undefined
        ? thisHostSide({ host, model, setting: setting, api: kube && api, limit, report }, hostThings)
        : new RemoteHostSide(elsewhere.bootstrap, model, hostThings, limit);
    const work = new Teardown({ host, limit, report, scope, kube, side });
    const isStopped = !(await work.release()) && !options.force;
    if (isStopped) work.leaveAll();
    else await work.removeAll();
    const { items, apiAnswered, warnings } = work;
    const isDirty = items.some(({ state }) => state === "left") || side.isUnknown || apiAnswered === false;
    const exitCode: TeardownExit = isStopped ? 1 : isDirty ? 3 : 0;
    if (exitCode === 0 && elsewhere === undefined) await host.files.remove(options.stateDirectory);
    const others = await externalCleanup(model, options.firewall, apiAnswered === true ? kube : undefined, limit);
    return {
      version: 1,
      bridge: {
        for: model.for,
        namespace: model.namespace,
        address: keeper?.record.options.serverAddresses?.[0],
        port: model.ports.agent,
        madeAt: keeper?.record.madeAt,
      },
      startedAt,
      finishedAt: new Date(host.now()).toISOString(),
      nothingToDo: keeper === undefined && work.isIdle && !side.isUnknown,
      clean: exitCode === 0,
      exitCode,
      apiAnswered,
      items,
      others: { ...others, notes: [...side.notes, ...others.notes] },
      warnings,
    };
  } finally {
    await api?.close();
  }
}

async function scopeOf(
  host: Host,
  { for: topology, elsewhere, restoreCommand }: TeardownOptions,
  keeper: RecordKeeper | undefined,
  kube: KubeApi | undefined,
): Promise<TeardownScope> {
  if (elsewhere !== undefined) return unrecordedScope("openshift");
  const scope =
    keeper === undefined ? unrecordedScope(topology ?? (await topologyHere(host, kube))) : recordedScope(keeper);
  return restoreCommand === undefined
    ? scope
    : { ...scope, setting: { by: "command", apply: "", restore: restoreCommand } };
}

async function topologyHere(host: Host, kube: KubeApi | undefined): Promise<Topology> {
  const local = await detectTopology(host, "/etc/kubernetes/manifests");
  if (local !== "bare" || kube === undefined) return local;
  return kube.get("/apis/security.openshift.io", { timeoutMs: 5_000 }).then(
    () => "openshift",
    () => "bare",
  );
}

async function openedApi(
  api: ApiAccess | undefined,
  isGiven: boolean,
  report: TeardownReporter,
): Promise<KubeApi | undefined> {
  try {
    return await api?.cluster();
  } catch (reason) {
    if (isGiven || !(reason instanceof DrawbridgeError)) throw reason;
    report(`${messageOf(reason)} The recorded kubeconfig is of no use; give another with --kubeconfig.`);
    return undefined;
  }
}

interface TeardownParts {
  readonly host: Host;
  readonly limit: TeardownLimit;
  readonly report: TeardownReporter;
  readonly scope: TeardownScope;
  readonly kube: KubeApi | undefined;
  readonly side: HostSide;
}

class Teardown {
  readonly #parts: TeardownParts;
  readonly items: ReceiptItem[] = [];
  readonly warnings: string[] = [];
  /** Undefined when nobody asked it. */
  apiAnswered: boolean | undefined;
  /** Nothing had to be changed. */
  isIdle = true;

  constructor(parts: TeardownParts) {
    this.#parts = parts;
  }

  /** False when a kube-apiserver still uses the bridge. */
  async release(): Promise<boolean> {
    const { scope, side } = this.#parts;
    const release = await side.release();
    this.warnings.push(...release.warnings);
    const setting = createdObjects(scope.model).find(({ type }) => type === "setting");
    if (setting !== undefined) this.#note(setting, release);
    return release.state !== "left";
  }

  /** Nothing but the kube-apiserver's own configuration is touched. */
  leaveAll(): void {
    const { objects, hostThings } = this.#parts.scope;
    for (const thing of [...objects, ...hostThings]) {
      if (this.#openedAt(thing) !== undefined) this.#left(thing, "the kube-apiserver may still need it");
    }
  }

  async removeAll(): Promise<void> {
    await this.#removeObjects();
    for await (const [thing, removal] of this.#parts.side.remove()) this.#note(thing, removal);
    await this.#verify();
  }

  async #removeObjects(): Promise<void> {
    const { host, kube, scope, limit, report } = this.#parts;
    if (kube === undefined) {
      const known = scope.objects.filter((object) => this.#openedAt(object) !== undefined);
      for (const object of known) this.#left(object, "no usable kubeconfig");
      if (known.length === 0) this.warnings.push("Without a kubeconfig nothing was looked for in the cluster.");
      return;
    }
    // What stays of the limit is for the host.
    const share = new TeardownLimit(host, limit.leftMs - Math.min(15_000, limit.leftMs / 4));
    const { removed, apiAnswered } = await removeObjects(host, kube, scope.objects, share);
    this.apiAnswered = apiAnswered;
    for (const [object, removal] of removed) this.#note(object, removal, removal.isUntouched);
    if (apiAnswered) return;
    this.warnings.push(
      `The Kubernetes API did not answer, so the agents' objects stay in namespace ${scope.model.namespace}; run the teardown again when it does.`,
    );
    report("Going on with the host.");
  }

  /** Whatever carries the label and stays, wherever it came from. */
  async #verify(): Promise<void> {
    const { host, kube, limit } = this.#parts;
    if (kube === undefined || this.apiAnswered !== true) return;
    let remains = await remainsOf(kube, limit);
    // Pods of a deleted DaemonSet, and of a static pod, go a moment later.
    const isEmpty = async (): Promise<boolean> => {
      remains = await remainsOf(kube, limit);
      return remains.objects.length === 0;
    };
    if (remains.objects.length > 0) await waitFor(host, Math.min(limit.end, host.now() + 30_000), isEmpty, 500);
    this.warnings.push(...remains.unknown);
    for (const object of remains.objects) {
      if (this.items.some((item) => item.name === thingName(object) && item.state === "left")) continue;
      this.#left(object, "it carries the bridge's label and nobody removes it");
    }
    if (remains.unknown.length > 0) this.apiAnswered = false;
  }

  #left(thing: BridgeThing, detail: string): void {
    this.#note(thing, { state: "left", detail });
  }

  /** `isUntouched`: as it was found. */
  #note(thing: BridgeThing, { state, detail }: Removal, isUntouched = state === "absent"): void {
    if (!isUntouched) this.isIdle = false;
    const name = thingName(thing);
    this.items.push({ name, thing, openedAt: this.#openedAt(thing), state, detail });
    if (state === "absent") return;
    this.#parts.report(`${name}: ${state === "going" ? "being removed" : state}${detail === "" ? "" : ` (${detail})`}`);
  }

  #openedAt(thing: BridgeThing): string | undefined {
    return this.#parts.scope.opened.get(thingName(thing))?.at;
  }
}
