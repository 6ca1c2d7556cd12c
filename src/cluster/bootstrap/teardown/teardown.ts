/** Takes a bridge down and writes the receipt. Safe to repeat; a second run finds nothing and says so. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isNotFound } from "../../kube/errors.js";
import type { KubeApi } from "../../kube/port.js";
import { type Host, waitFor } from "../host/host.js";
import { type BridgeThing, nameOf, RecordKeeper } from "../host/record.js";
import { ApiAccess, chosenCluster, type OpenApi } from "../host/step.js";
import { type CreatedObject, createdObjects } from "../model/created.js";
import type { Topology } from "../model/names.js";
import { externalCleanup, type FirewallOptions } from "./firewall.js";
import { type HostSide, type RemoteHost, RemoteHostSide, thisHostSide } from "./host-side.js";
import { leftConfigurations, pathOf, remainsOf, removeObjects } from "./objects.js";
import type { Receipt, ReceiptItem, TeardownExit } from "./receipt.js";
import { TeardownLimit } from "./release.js";
import { farScope, recordedScope, type TeardownScope, unrecordedScope } from "./scope.js";

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
  readonly elsewhere?: Elsewhere | undefined;
}

export interface Elsewhere {
  /** Undefined when nobody knows where it is. */
  readonly bootstrap: RemoteHost | undefined;
}

/** What happens while it happens, one sentence each. */
export type Tell = (sentence: string) => void;

export async function takeDown(host: Host, wishes: TeardownOptions, openApi: OpenApi, tell: Tell): Promise<Receipt> {
  const startedAt = new Date(host.now()).toISOString();
  const limit = new TeardownLimit(host, wishes.timeoutMs);
  const { elsewhere } = wishes;
  const keeper = elsewhere === undefined ? await RecordKeeper.find(host, wishes.stateDirectory) : undefined;
  const cluster = chosenCluster(wishes, keeper?.record);
  const api =
    cluster.kubeconfig === ""
      ? undefined
      : new ApiAccess(host, openApi, cluster, keeper?.record.setting ?? { by: "hand" });
  try {
    // A kubeconfig that cannot be used is a mistake to be told at once, an API that is away is not.
    const kube = await openedApi(api, wishes.kubeconfig !== "", tell);
    const scope = await scopeOf(host, wishes, keeper, kube);
    const { model, way, hostThings } = scope;
    const side =
      elsewhere === undefined
        ? thisHostSide({ host, model, way, api: kube && api, limit, tell }, hostThings)
        : new RemoteHostSide(elsewhere.bootstrap, model, hostThings, limit);
    const work = new Teardown({ host, limit, tell, scope, kube, side, force: wishes.force });
    const done = await work.run();
    const isDirty = done.items.some(({ state }) => state === "left") || side.isUnknown || done.apiAnswered === false;
    const exitCode: TeardownExit = done.isStopped ? 1 : isDirty ? 3 : 0;
    if (exitCode === 0 && elsewhere === undefined) await host.files.remove(wishes.stateDirectory);
    const nothingToDo = keeper === undefined && done.isIdle && !side.isUnknown;
    const others = await externalCleanup(model, wishes.firewall, done.apiAnswered === true ? kube : undefined, limit);
    return {
      version: 1,
      bridge: {
        for: scope.model.for,
        namespace: scope.model.namespace,
        address: keeper?.record.options.serverAddresses?.[0],
        port: scope.model.ports.agent,
        madeAt: keeper?.record.madeAt,
      },
      startedAt,
      finishedAt: new Date(host.now()).toISOString(),
      nothingToDo,
      clean: exitCode === 0,
      exitCode,
      apiAnswered: done.apiAnswered,
      items: done.items,
      others: { ...others, notes: [...side.notes, ...others.notes] },
      warnings: done.warnings,
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
  if (elsewhere !== undefined) return farScope();
  const scope =
    keeper === undefined
      ? await unrecordedScope(host, topology, async () => kube !== undefined && (await isOpenShift(kube)))
      : await recordedScope(keeper);
  return withCommand(scope, restoreCommand);
}

async function openedApi(api: ApiAccess | undefined, isTold: boolean, tell: Tell): Promise<KubeApi | undefined> {
  try {
    return await api?.cluster();
  } catch (reason) {
    if (isTold || !(reason instanceof DrawbridgeError)) throw reason;
    tell(`${messageOf(reason)} The recorded kubeconfig is of no use; give another with --kubeconfig.`);
    return undefined;
  }
}

function withCommand(scope: TeardownScope, restore: string | undefined): TeardownScope {
  return restore === undefined ? scope : { ...scope, way: { by: "command", apply: "", restore } };
}

async function isOpenShift(kube: KubeApi): Promise<boolean> {
  try {
    await kube.get("/apis/security.openshift.io", { timeoutMs: 5_000 });
    return true;
  } catch {
    return false;
  }
}

interface Job {
  readonly host: Host;
  readonly limit: TeardownLimit;
  readonly tell: Tell;
  readonly scope: TeardownScope;
  readonly kube: KubeApi | undefined;
  readonly side: HostSide;
  readonly force: boolean;
}

interface Done {
  readonly items: readonly ReceiptItem[];
  readonly warnings: readonly string[];
  readonly apiAnswered: boolean | undefined;
  /** Nothing but the kube-apiserver's own configuration was touched. */
  readonly isStopped: boolean;
  /** Nothing had to be changed. */
  readonly isIdle: boolean;
}

class Teardown {
  readonly #job: Job;
  readonly #items: ReceiptItem[] = [];
  readonly #warnings: string[] = [];
  #apiAnswered: boolean | undefined;
  #isIdle = true;

  constructor(job: Job) {
    this.#job = job;
  }

  async run(): Promise<Done> {
    const isStopped = !(await this.#release()) && !this.#job.force;
    if (isStopped) this.#leaveAll();
    else {
      await this.#removeObjects();
      await this.#removeFromHost();
      await this.#verify();
    }
    return {
      ...{ items: this.#items, warnings: this.#warnings, apiAnswered: this.#apiAnswered, isStopped },
      isIdle: this.#isIdle,
    };
  }

  /** False when a kube-apiserver still uses the bridge. */
  async #release(): Promise<boolean> {
    const { scope, side } = this.#job;
    const { state, detail, warnings } = await side.release();
    for (const warning of warnings) this.#warn(warning);
    const [setting] = createdObjects(scope.model).filter(({ type }) => type === "setting");
    if (setting !== undefined) this.#note(setting, state, detail);
    return state !== "left";
  }

  #leaveAll(): void {
    const { objects, hostThings } = this.#job.scope;
    for (const thing of [...objects, ...hostThings]) {
      if (this.#openedAt(thing) !== undefined) this.#note(thing, "left", "the kube-apiserver may still need it");
    }
  }

  async #removeObjects(): Promise<void> {
    const { host, kube, scope, limit, tell } = this.#job;
    if (kube === undefined) {
      const known = scope.objects.filter((object) => this.#openedAt(object) !== undefined);
      for (const object of known) this.#note(object, "left", "no usable kubeconfig");
      if (known.length === 0) this.#warn("Without a kubeconfig nothing was looked for in the cluster.");
      return;
    }
    // What stays of the limit is for the host.
    const share = new TeardownLimit(host, limit.leftMs - Math.min(15_000, limit.leftMs / 4));
    const objects = [...((await leftConfigurations(host, kube, share)) ?? []), ...scope.objects];
    const removal = await removeObjects(host, kube, objects, share, (object) => isOfOlderLayout(kube, object));
    this.#apiAnswered = removal.apiAnswered;
    for (const { object, state, detail, toldBefore } of removal.objects)
      this.#note(object, state, detail, toldBefore ?? state === "absent");
    if (removal.apiAnswered) return;
    this.#warn(
      `The Kubernetes API did not answer, so the agents' objects stay in namespace ${scope.model.namespace}; run the teardown again when it does.`,
    );
    tell("Going on with the host.");
  }

  async #removeFromHost(): Promise<void> {
    for await (const { thing, state, detail } of this.#job.side.remove()) this.#note(thing, state, detail);
  }

  /** Whatever carries the label and stays, wherever it came from. */
  async #verify(): Promise<void> {
    const { host, kube, limit } = this.#job;
    if (kube === undefined || this.#apiAnswered !== true) return;
    let remains = await remainsOf(kube, limit);
    // Pods of a deleted DaemonSet, and of a static pod, go a moment later.
    const isEmpty = async (): Promise<boolean> => {
      remains = await remainsOf(kube, limit);
      return remains.objects.length === 0;
    };
    if (remains.objects.length > 0) await waitFor(host, Math.min(limit.end, host.now() + 30_000), isEmpty, 500);
    for (const sentence of remains.unknown) this.#warn(sentence);
    for (const object of remains.objects) {
      if (this.#items.some((item) => item.name === nameOf(object) && item.state === "left")) continue;
      this.#note(object, "left", "it carries the bridge's label and nobody removes it");
    }
    if (remains.unknown.length > 0) this.#apiAnswered = false;
  }

  /** `isUntouched`: as it was found. */
  #note(thing: BridgeThing, state: ReceiptItem["state"], detail: string, isUntouched = state === "absent"): void {
    if (!isUntouched) this.#isIdle = false;
    const name = nameOf(thing);
    this.#items.push({ name, thing, openedAt: this.#openedAt(thing), state, detail });
    if (state === "absent") return;
    this.#job.tell(`${name}: ${state === "going" ? "being removed" : state}${detail === "" ? "" : ` (${detail})`}`);
  }

  #openedAt(thing: BridgeThing): string | undefined {
    return this.#job.scope.opened.get(nameOf(thing))?.at;
  }

  #warn(sentence: string): void {
    this.#warnings.push(sentence);
  }
}

/**
 * The older layout's Secret may have no label. A DaemonSet of that name without one belongs to somebody's permanent
 * Konnectivity, and so does a Secret beside it.
 */
async function isOfOlderLayout(kube: KubeApi, object: CreatedObject): Promise<boolean> {
  if (object.kind !== "Secret" || object.namespace !== "kube-system") return false;
  try {
    await kube.get(pathOf({ ...object, apiVersion: "apps/v1", kind: "DaemonSet", name: "konnectivity-agent" }));
    return false;
  } catch (reason) {
    return isNotFound(reason);
  }
}
