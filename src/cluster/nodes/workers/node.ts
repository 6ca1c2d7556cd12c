/** Nodes: whether they are Ready, and the labels and taints of their pool. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { change } from "../../kube/objects.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { annotation, label, type Node, type Taint } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";

export const NODES_PATH = collectionPath("Node");

export function nodePath(name: string): string {
  return `${NODES_PATH}/${encodeURIComponent(name)}`;
}

/** Of a node, or a pod. */
export function isReady(object: Pick<Node, "status"> | undefined): boolean {
  return readyCondition(object)?.status === "True";
}

/** The reason of the kubelet or of the node controller; empty when the node is Ready. */
export function whyNotReady(node: Node): string {
  const condition = readyCondition(node);
  if (condition?.status === "True") return "";
  if (condition === undefined) return "its kubelet has reported nothing yet";
  return [condition.reason, condition.message].filter(Boolean).join(": ") || `Ready is ${condition.status}`;
}

function readyCondition(object: Pick<Node, "status"> | undefined) {
  return object?.status?.conditions?.find(({ type }) => type === "Ready");
}

const ATTEMPTS = 10;

/** Writes what `make` returns, if anything. Kubelets and controllers write all the time, so conflicts are repeated. */
export async function changeNode(
  api: KubeApi,
  name: string,
  make: (node: Node) => Node | undefined,
): Promise<Node | undefined> {
  return (await change(api, nodePath(name), ATTEMPTS, make))?.object;
}

/** Labels and taints of a pool's nodes. On platform None nobody else puts them there. */
interface NodeSettings {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** A label that HyperShift's own nodes have; a node without it is complete. */
  readonly poolLabels: Readonly<Record<string, string>>;
}

const LONGEST_LABEL = 63;
const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function nodeSettingsOf(pool: NodePool): NodeSettings {
  const { nodeLabels = {}, taints = [] } = pool.spec ?? {};
  const name = pool.metadata?.name ?? "";
  return {
    labels: nodeLabels,
    poolLabels: name.length > LONGEST_LABEL ? {} : { [label.nodePool]: name },
    taints: (taints as readonly Partial<Taint>[]).map((taint) => checked(taint, name)),
  };
}

function checked({ effect = "", key = "", value }: Partial<Taint>, pool: string): Taint {
  if (key === "" || !TAINT_EFFECTS.includes(effect)) {
    throw new DrawbridgeError(
      "DB_NODEPOOL",
      `pool ${pool}: spec.taints needs a key and an effect (${TAINT_EFFECTS.join(", ")})`,
    );
  }
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

/** The missing labels and taints in words; empty when the node has all. */
export function missingSettings(node: Node, { labels, taints }: NodeSettings): string[] {
  return [
    ...missingLabels(node, labels).map(([key, value]) => `label ${key}=${value}`),
    ...taints.filter((taint) => !hasTaint(node, taint)).map((taint) => `taint ${taintText(taint)}`),
  ];
}

/** All else on the node stays, also a hash that it has: that is the one it was made with. */
export async function labelNode(api: KubeApi, name: string, settings: NodeSettings, hash: string): Promise<boolean> {
  let isChanged = false;
  await changeNode(api, name, (node) => {
    const isKnown = node.metadata?.annotations?.[annotation.currentConfigVersion] !== undefined || hash === "";
    const isOurs = missingLabels(node, settings.poolLabels).length === 0;
    isChanged = missingSettings(node, settings).length > 0 || !isKnown || !isOurs;
    return isChanged ? labelledNode(node, settings, hash) : undefined;
  });
  return isChanged;
}

function missingLabels({ metadata }: Node, labels: NodeSettings["labels"]) {
  return Object.entries(labels).filter(([key, value]) => metadata?.labels?.[key] !== value);
}

function labelledNode(node: Node, { poolLabels, labels, taints }: NodeSettings, hash: string): Node {
  const isReplaced = (old: Taint) => taints.some(({ effect, key }) => old.key === key && old.effect === effect);
  const { metadata, spec } = node;
  return {
    ...node,
    metadata: {
      ...metadata,
      labels: { ...metadata?.labels, ...labels, ...poolLabels },
      annotations: {
        ...(hash === "" ? {} : { [annotation.currentConfigVersion]: hash }),
        ...metadata?.annotations,
      },
    },
    spec: { ...spec, taints: [...(spec?.taints ?? []).filter((old) => !isReplaced(old)), ...taints] },
  };
}

const IN_PLACE = "machineconfiguration.openshift.io/currentConfig";

/** The hash of the configuration that a node itself says it runs; undefined when it does not. */
export function hashOfNode({ metadata }: Node): string | undefined {
  const upgraded = metadata?.annotations?.[IN_PLACE] ?? "";
  // After an upgrade in place it is the pool's hash, before that a rendered configuration's name.
  if (/^[0-9a-f]{8}$/.test(upgraded)) return upgraded;
  return metadata?.annotations?.[annotation.currentConfigVersion];
}

function hasTaint({ spec }: Node, { effect, key, value = "" }: Taint): boolean {
  return (spec?.taints ?? []).some(
    (taint) => taint.key === key && taint.effect === effect && (taint.value ?? "") === value,
  );
}

function taintText({ effect, key, value }: Taint): string {
  return `${key}${value === undefined ? "" : `=${value}`}:${effect}`;
}
