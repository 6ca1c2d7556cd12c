/** Takes a bridge down and writes the receipt. Safe to repeat; a second run finds nothing and says so. */
import { causeFields, DrawbridgeError, messageOf, reasonOf } from "../../../base/errors/error.js";
import type { KubeApi } from "../../kube/port.js";
import type { ClusterNetwork } from "../firewall/plan.js";
import { type Host, waitFor } from "../host/host.js";
import { RecordKeeper, thingName } from "../host/record.js";
import { ApiAccess, chosenCluster, type OpenApi } from "../host/step.js";
import { detectTopology } from "../host/up.js";
import { type BridgeThing, createdObjects } from "../model/created.js";
import type { Topology } from "../model/names.js";
import { externalCleanup } from "./firewall.js";
import { type RemoteHost, remoteHostSide, thisHostSide } from "./host-side.js";
import { remainsOf, removeObjects } from "./objects.js";
import type { Receipt, ReceiptItem, Removal } from "./receipt.js";
import { recordedScope, TeardownLimit, type TeardownScope, type TeardownSite, unrecordedScope } from "./scope.js";

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
  /** Of the cluster, for the rules of its firewall. */
  readonly network: ClusterNetwork;
  /** The bridge's host is not this one, which is left alone; undefined inside when nobody knows where it is. */
  readonly elsewhere?: { readonly bootstrap: RemoteHost | undefined } | undefined;
}

export async function takeDown(
  host: Host,
  options: TeardownOptions,
  openApi: OpenApi,
  report: (sentence: string) => void,
): Promise<Receipt> {
  const startedAt = new Date(host.date()).toISOString();
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
    const kube = await api?.cluster().catch((reason: unknown) => {
      if (options.kubeconfig !== "" || !(reason instanceof DrawbridgeError)) throw reason;
      report(`${messageOf(reason)} The recorded kubeconfig is of no use; give another with --kubeconfig.`);
      return undefined;
    });
    const scope = await scopeOf(host, options, keeper, kube);
    const site: TeardownSite = { ...scope, host, api: kube && api, limit, report };
    const { model } = site;
    const side = elsewhere === undefined ? thisHostSide(site) : remoteHostSide(elsewhere.bootstrap, site);
    const log = new RemovalLog(site);
    const release = await side.release();
    log.warnings.push(...(release.warnings ?? []));
    const setting = createdObjects(model).find(({ type }) => type === "setting");
    if (setting !== undefined) log.add(setting, release);
    const isStopped = release.state === "left" && !options.force;
    if (isStopped) {
      // Nothing but the kube-apiserver's own configuration is touched.
      for (const thing of log.opened([...site.objects, ...site.hostThings]))
        log.left(thing, "the kube-apiserver may still need it");
    } else {
      await removeFromCluster(site, kube, log);
      for await (const [thing, removal] of side.remove()) log.add(thing, removal);
      await findRemains(site, kube, log);
    }
    const { items, apiAnswered, warnings } = log;
    const { isUnknown = false, notes = [] } = release;
    const isDirty = items.some(({ state }) => state === "left") || isUnknown || apiAnswered === false;
    const exitCode = isStopped ? 1 : isDirty ? 3 : 0;
    if (exitCode === 0 && elsewhere === undefined) await host.files.remove(options.stateDirectory);
    const others = await externalCleanup(model, options.network, apiAnswered === true ? kube : undefined, limit);
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
      finishedAt: new Date(host.date()).toISOString(),
      nothingToDo: keeper === undefined && log.isIdle && !isUnknown && !isStopped,
      clean: exitCode === 0,
      exitCode,
      apiAnswered,
      items,
      others: { ...others, notes: [...notes, ...others.notes] },
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

/** What became of each thing so far. */
class RemovalLog {
  readonly #site: TeardownSite;
  readonly items: ReceiptItem[] = [];
  readonly warnings: string[] = [];
  /** Undefined when nobody asked it. */
  apiAnswered: boolean | undefined;
  /** Nothing had to be changed. */
  isIdle = true;

  constructor(site: TeardownSite) {
    this.#site = site;
  }

  add(thing: BridgeThing, { state, detail, isUntouched = state === "absent" }: Removal): void {
    if (!isUntouched) this.isIdle = false;
    const name = thingName(thing);
    this.items.push({ name, thing, openedAt: this.#site.openedAt.get(name), state, detail });
    if (state === "absent") return;
    const became = state === "going" ? "being removed" : state === "unknown" ? "not known" : state;
    this.#site.report(`${name}: ${became}${detail === "" ? "" : ` (${detail})`}`);
  }

  left(thing: BridgeThing, detail: string): void {
    this.add(thing, { state: "left", detail });
  }

  /** Those that the record names. */
  opened(things: readonly BridgeThing[]): BridgeThing[] {
    return things.filter((thing) => this.#site.openedAt.has(thingName(thing)));
  }
}

async function removeFromCluster(site: TeardownSite, kube: KubeApi | undefined, log: RemovalLog): Promise<void> {
  const { host, objects, limit, report } = site;
  if (kube === undefined) {
    const known = log.opened(objects);
    for (const object of known) log.left(object, "no usable kubeconfig");
    if (known.length === 0) log.warnings.push("Without a kubeconfig nothing was looked for in the cluster.");
    return;
  }
  // What stays of the limit is for the host.
  const share = new TeardownLimit(host, limit.leftMs - Math.min(15_000, limit.leftMs / 4));
  const { removed, failure } = await removeObjects(host, kube, objects, share);
  log.apiAnswered = failure === undefined;
  for (const [object, removal] of removed) {
    // What `up` made is there until somebody removes it.
    const isMade = removal.state === "unknown" && log.opened([object]).length > 0;
    log.add(object, isMade ? { ...removal, state: "left" } : removal);
  }
  if (log.apiAnswered) return;
  const stays = log.opened(objects).length > 0;
  const so = stays
    ? `the agents' objects stay in namespace ${site.model.namespace}`
    : "whether a bridge has left objects in the cluster is not known";
  const { remedy = "" } = causeFields(failure);
  log.warnings.push(
    `The Kubernetes API did not answer, so ${so} (${reasonOf(failure)}). ${remedy} Run the teardown again when it answers.`.replace(
      "  ",
      " ",
    ),
  );
  report("Going on with the host.");
}

/** Whatever carries the label and stays, wherever it came from. */
async function findRemains({ host, limit }: TeardownSite, kube: KubeApi | undefined, log: RemovalLog): Promise<void> {
  if (kube === undefined || log.apiAnswered !== true) return;
  let remains = await remainsOf(kube, limit);
  // Pods of a deleted DaemonSet, and of a static pod, go a moment later.
  const isEmpty = async (): Promise<boolean> => {
    remains = await remainsOf(kube, limit);
    return remains.objects.length === 0;
  };
  if (remains.objects.length > 0) await waitFor(host, Math.min(limit.end, host.now() + 30_000), isEmpty, 500);
  log.warnings.push(...remains.unknown);
  for (const object of remains.objects) {
    const isKnown = log.items.some(({ name, state }) => name === thingName(object) && state === "left");
    if (!isKnown) log.left(object, "it carries the bridge's label and nobody removes it");
  }
  if (remains.unknown.length > 0) log.apiAnswered = false;
}
