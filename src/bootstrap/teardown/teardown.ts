/** Takes a bridge down and writes the receipt. Safe to repeat; a second run finds nothing and says so. */
import { DrawbridgeError, messageOf } from "../../errors/error.js";
import { isNotFound } from "../../kube/errors.js";
import type { KubeApi } from "../../kube/port.js";
import { type Host, waitFor } from "../host/host.js";
import { nameOf, type Opened } from "../host/opened.js";
import { RecordKeeper } from "../host/record.js";
import { ApiAccess, type OpenApi } from "../host/site.js";
import { type CreatedObject, createdObjects } from "../model/created.js";
import type { Topology } from "../model/names.js";
import { type FirewallWishes, othersOf } from "./firewall.js";
import { removeHostThing } from "./host-things.js";
import { Limit } from "./limit.js";
import { pathOf, removeObjects } from "./objects.js";
import type { Receipt, ReceiptItem, TeardownExit } from "./receipt.js";
import { releaseApiServer } from "./release.js";
import { remainsOf } from "./remains.js";
import { recordedScope, type TeardownScope, unrecordedScope } from "./scope.js";

export interface TeardownWishes {
  readonly for: Topology | undefined;
  /** Empty: as recorded; without a record, only the host is cleaned. */
  readonly kubeconfig: string;
  readonly stateDirectory: string;
  /** For everything together. */
  readonly timeoutMs: number;
  /** Go on although a kube-apiserver still uses the bridge. */
  readonly force: boolean;
  readonly restoreCommand: string | undefined;
  readonly firewall: FirewallWishes;
}

/** What happens while it happens, one sentence each. */
export type Tell = (sentence: string) => void;

export async function takeDown(host: Host, wishes: TeardownWishes, openApi: OpenApi, tell: Tell): Promise<Receipt> {
  const startedAt = new Date(host.now()).toISOString();
  const limit = new Limit(host, wishes.timeoutMs);
  const keeper = await RecordKeeper.find(host, wishes.stateDirectory);
  const kubeconfig = wishes.kubeconfig || keeper?.record.kubeconfig || "";
  const api =
    kubeconfig === "" ? undefined : new ApiAccess(host, openApi, kubeconfig, keeper?.record.setting ?? { by: "hand" });
  try {
    // A kubeconfig that cannot be used is a mistake to be told at once, an API that is away is not.
    const kube = await openedApi(api, wishes.kubeconfig !== "", tell);
    const scope = withCommand(
      keeper === undefined
        ? await unrecordedScope(host, wishes.for, async () => kube !== undefined && (await isOpenShift(kube)))
        : await recordedScope(keeper),
      wishes.restoreCommand,
    );
    const work = new Teardown({ host, limit, tell, scope, kube, api: kube && api, force: wishes.force });
    const done = await work.run();
    const left = done.items.filter(({ state }) => state === "left");
    const exitCode: TeardownExit = done.isStopped ? 1 : left.length > 0 || done.apiAnswered === false ? 3 : 0;
    if (exitCode === 0) await host.files.remove(wishes.stateDirectory);
    const nothingToDo = keeper === undefined && done.items.every(({ state }) => state === "absent");
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
      others: await othersOf(scope.model, wishes.firewall, done.apiAnswered === true ? kube : undefined, limit),
      warnings: done.warnings,
    };
  } finally {
    await api?.close();
  }
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
  readonly limit: Limit;
  readonly tell: Tell;
  readonly scope: TeardownScope;
  readonly kube: KubeApi | undefined;
  readonly api: ApiAccess | undefined;
  readonly force: boolean;
}

interface Done {
  readonly items: readonly ReceiptItem[];
  readonly warnings: readonly string[];
  readonly apiAnswered: boolean | undefined;
  /** Nothing but the kube-apiserver's own configuration was touched. */
  readonly isStopped: boolean;
}

class Teardown {
  readonly #job: Job;
  readonly #items: ReceiptItem[] = [];
  readonly #warnings: string[] = [];
  #apiAnswered: boolean | undefined;

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
    return { items: this.#items, warnings: this.#warnings, apiAnswered: this.#apiAnswered, isStopped };
  }

  /** False when a kube-apiserver still uses the bridge. */
  async #release(): Promise<boolean> {
    const { host, scope, api, limit, tell } = this.#job;
    const { model, way } = scope;
    const { state, detail, warnings } = await releaseApiServer({ host, model, way, api, limit, tell });
    for (const warning of warnings) this.#warn(warning);
    const [setting] = createdObjects(model).filter(({ type }) => type === "setting");
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
    const share = new Limit(host, limit.leftMs - Math.min(15_000, limit.leftMs / 4));
    const removal = await removeObjects(host, kube, scope.objects, share, (object) => isOfOlderLayout(kube, object));
    this.#apiAnswered = removal.apiAnswered;
    for (const { object, state, detail } of removal.objects) this.#note(object, state, detail);
    if (removal.apiAnswered) return;
    this.#warn(
      `The Kubernetes API did not answer, so the agents' objects stay in namespace ${scope.model.namespace}; run the teardown again when it does.`,
    );
    tell("Going on with this host.");
  }

  async #removeFromHost(): Promise<void> {
    const { host, scope, limit } = this.#job;
    for (const thing of scope.hostThings) {
      const { state, detail } = await removeHostThing(host, scope.model, thing, limit);
      this.#note(thing, state, detail);
    }
  }

  /** Whatever carries the label and stays, wherever it came from. */
  async #verify(): Promise<void> {
    const { host, kube, limit } = this.#job;
    if (kube === undefined || this.#apiAnswered !== true) return;
    let remains = await remainsOf(kube, limit);
    // Pods of a deleted DaemonSet, and of a static pod, go a moment later.
    const isEmpty = async (): Promise<boolean> => {
      remains = await remainsOf(kube, limit);
      return remains.names.length === 0;
    };
    if (remains.names.length > 0) await waitFor(host, Math.min(limit.end, host.now() + 30_000), isEmpty, 500);
    for (const sentence of remains.unknown) this.#warn(sentence);
    for (const name of remains.names) {
      const [kind = "", place = ""] = name.split(" ");
      if (this.#items.some((item) => item.name === name && item.state === "left")) continue;
      const [one = "", two] = place.split("/");
      const where = two === undefined ? { name: one } : { namespace: one, name: two };
      const thing: Opened = { type: "object", apiVersion: "v1", kind, ...where };
      this.#note(thing, "left", "it carries the bridge's label and nobody removes it");
    }
    if (remains.unknown.length > 0) this.#apiAnswered = false;
  }

  #note(thing: Opened, state: ReceiptItem["state"], detail: string): void {
    const name = nameOf(thing);
    this.#items.push({ name, thing, openedAt: this.#openedAt(thing), state, detail });
    if (state === "absent") return;
    this.#job.tell(`${name}: ${state === "going" ? "being removed" : state}${detail === "" ? "" : ` (${detail})`}`);
  }

  #openedAt(thing: Opened): string | undefined {
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
