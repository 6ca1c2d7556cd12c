/** What there is to look for: what the record names, or, without one, every place where a bridge may have left something. */
import type { Host } from "../host/host.js";
import { type RecordKeeper, type SettingMethod, thingName } from "../host/record.js";
import type { ApiAccess } from "../host/step.js";
import { type BridgeThing, type CreatedObject, clusterObjects, createdObjects, olderLayout } from "../model/created.js";
import { type BridgeModel, bridgeModel } from "../model/model.js";
import { KUBEADM_MANIFEST, openshiftShipped, openshiftStageMarks, type Topology } from "../model/names.js";

export interface TeardownScope {
  readonly model: BridgeModel;
  readonly setting: SettingMethod;
  /** In the order in which they go: first those of the cluster. */
  readonly objects: readonly CreatedObject[];
  /** Server first, directories after what is in them. */
  readonly hostThings: readonly HostThing[];
  /** When `up` was about to make a thing, by its name. */
  readonly openedAt: ReadonlyMap<string, string>;
}

/** What every part of one teardown works on. */
export interface TeardownSite extends TeardownScope {
  readonly host: Host;
  /** Undefined without a kubeconfig that can be used. */
  readonly api: ApiAccess | undefined;
  readonly limit: TeardownLimit;
  /** Says what happens while it happens, one sentence each: somebody may have to act while we wait. */
  readonly report: (sentence: string) => void;
}

/** The time limit of a whole teardown, whatever does not answer. */
export class TeardownLimit {
  readonly #host: Pick<Host, "now">;
  readonly end: number;

  constructor(host: Pick<Host, "now">, ms: number) {
    this.#host = host;
    this.end = host.now() + ms;
  }

  get leftMs(): number {
    return Math.max(0, this.end - this.#host.now());
  }

  /** For one request: no longer than usual, no longer than is left, but long enough to be answered at all. */
  requestMs(usual = 10_000): number {
    return Math.min(usual, Math.max(1_000, this.leftMs));
  }
}

export type HostThing = Exclude<BridgeThing, { type: "object" | "setting" }>;

export function recordedScope({ record, model, directory }: RecordKeeper): TeardownScope {
  const recorded = onHost(record.opened.map(({ thing }) => thing));
  const isParent = ({ type }: HostThing) => type === "parent";
  // From the inside out.
  const parents = recorded.filter(isParent).sort((a, b) => thingName(b).length - thingName(a).length);
  return {
    model,
    setting: record.setting,
    objects: distinct([...clusterObjects(model), ...olderLayout]),
    hostThings: distinct([
      ...onHost(createdObjects(model)),
      ...recorded.filter((thing) => !isParent(thing)),
      ...parents,
      // Pid file, log and backups; the record itself goes last of all, when nothing is left.
      { type: "file", path: `${directory}/server.pid` },
      { type: "file", path: `${directory}/server.log` },
    ]),
    openedAt: new Map(record.opened.map(({ thing, at }) => [thingName(thing), at])),
  };
}

/**
 * After the record was lost or the machine is gone, from a workstation, or a second time: every place where such a
 * bridge may have left something. An object is the bridge's by its label, whatever made it.
 */
export function unrecordedScope(topology: Topology): TeardownScope {
  const model = bridgeModel({ for: topology });
  const forms = topology === "openshift" ? (["static-pod"] as const) : (["static-pod", "systemd"] as const);
  const made = forms.flatMap((serverForm) => onHost(createdObjects(bridgeModel({ for: topology, serverForm }))));
  const onHostNetwork = (["openshift", "kubeadm"] as const).map((each) =>
    bridgeModel({ for: each, agentNetwork: "host" }),
  );
  const manifest = `/etc/kubernetes/manifests/${KUBEADM_MANIFEST}`;
  return {
    model,
    setting: topology === "kubeadm" ? { by: "manifest", manifest } : { by: "hand" },
    objects: distinct([...[model, ...onHostNetwork].flatMap(clusterObjects), ...olderLayout]),
    hostThings: distinct([...made.filter(isServer), { type: "process", socket: model.paths.socket.server }, ...made]),
    openedAt: new Map(),
  };
}

/** Whether bootkube.sh reads it as long as it is at work; all such files go with the machine anyway. */
export function isNeededByBootkube(thing: HostThing): boolean {
  return "path" in thing && [...openshiftShipped, ...openshiftStageMarks].includes(thing.path);
}

function onHost(things: readonly BridgeThing[]): HostThing[] {
  return things.filter((thing): thing is HostThing => thing.type !== "object" && thing.type !== "setting");
}

function isServer({ type }: HostThing): boolean {
  return type === "static-pod" || type === "unit" || type === "process";
}

function distinct<T extends BridgeThing>(things: readonly T[]): T[] {
  return [...new Map(things.map((thing) => [thingName(thing), thing])).values()];
}
