/** What there is to look for: what the record names, or, without one, every place where a bridge may have left something. */
import { type RecordEntry, type RecordKeeper, type SettingMethod, thingName } from "../host/record.js";
import type { BridgeThing } from "../model/created.js";
import { type CreatedObject, clusterObjects, createdObjects, olderLayout } from "../model/created.js";
import { type BridgeModel, bridgeModel } from "../model/model.js";
import { KUBEADM_MANIFEST, openshiftShipped, openshiftStageMarks, type Topology } from "../model/names.js";

export interface TeardownScope {
  readonly model: BridgeModel;
  readonly setting: SettingMethod;
  /** In the order in which they go: first those of the cluster. */
  readonly objects: readonly CreatedObject[];
  /** Server first, directories after what is in them. */
  readonly hostThings: readonly BridgeThing[];
  readonly opened: ReadonlyMap<string, RecordEntry>;
}

type HostThing = Exclude<BridgeThing, { type: "object" | "setting" }>;

export function recordedScope({ record, model, directory }: RecordKeeper): TeardownScope {
  const opened = new Map(record.opened.map((entry) => [thingName(entry.thing), entry]));
  const recorded = onHost(record.opened.map(({ thing }) => thing));
  // From the inside out.
  const parents = recorded
    .flatMap((thing) => (thing.type === "parent" ? [thing] : []))
    .sort((a, b) => b.path.length - a.path.length);
  const others = recorded.filter(({ type }) => type !== "parent");
  return {
    model,
    setting: record.setting,
    objects: distinct([...clusterObjects(model), ...olderLayout]),
    hostThings: distinct([
      ...others.filter(isServer),
      ...onHost(createdObjects(model)),
      ...others,
      ...parents,
      // Pid file, log and backups; the record itself goes last of all, when nothing is left.
      { type: "file", path: `${directory}/server.pid` },
      { type: "file", path: `${directory}/server.log` },
    ]),
    opened,
  };
}

/**
 * After the record was lost or the machine is gone, from a workstation, or a second time: every place where such a
 * bridge may have left something.
 */
export function unrecordedScope(topology: Topology): TeardownScope {
  const model = bridgeModel({ for: topology });
  const forms = topology === "openshift" ? (["static-pod"] as const) : (["static-pod", "systemd"] as const);
  const made = forms.flatMap((serverForm) => onHost(createdObjects(bridgeModel({ for: topology, serverForm }))));
  const manifest = `/etc/kubernetes/manifests/${KUBEADM_MANIFEST}`;
  return {
    model,
    setting: topology === "kubeadm" ? { by: "manifest", manifest } : { by: "hand" },
    objects: anyObjects(model),
    hostThings: distinct([...made.filter(isServer), { type: "process", socket: model.paths.socket.server }, ...made]),
    opened: new Map(),
  };
}

/** Whether bootkube.sh reads it as long as it is at work; all such files go with the machine anyway. */
export function isNeededByBootkube(thing: BridgeThing): boolean {
  return "path" in thing && [...openshiftShipped, ...openshiftStageMarks].includes(thing.path);
}

/** An object is the bridge's by its label, whatever made it. */
function anyObjects(model: BridgeModel): CreatedObject[] {
  const kinds: readonly Topology[] = ["openshift", "kubeadm"];
  return distinct([
    ...clusterObjects(model),
    ...kinds.flatMap((each) => clusterObjects(bridgeModel({ for: each, agentNetwork: "host" }))),
    ...olderLayout,
  ]);
}

function onHost(things: readonly BridgeThing[]): HostThing[] {
  return things.filter((thing): thing is HostThing => thing.type !== "object" && thing.type !== "setting");
}

function isServer({ type }: BridgeThing): boolean {
  return type === "static-pod" || type === "unit" || type === "process";
}

function distinct<T extends BridgeThing>(things: readonly T[]): T[] {
  return [...new Map(things.map((thing) => [thingName(thing), thing])).values()];
}
