/** The kube-apiserver's static pod as text: the flag and its volumes put in, and taken out again. */
import { type Document, isMap, isScalar, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from "yaml";
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { EGRESS_FLAG, egressFlag, egressVolumes } from "../../model/created.js";
import type { BridgeModel } from "../../model/model.js";
import { apiServerVolumes } from "../../render/render.js";
import { commandLine } from "../../settings/programs.js";

/** The value of the egress flag, whosever it is; undefined without one. Throws when the text is no such manifest. */
export function egressFileIn(text: string): string | undefined {
  return flagValue(text, EGRESS_FLAG);
}

/** The value of a flag of the kube-apiserver in the manifest. */
export function flagValue(text: string, flag: string): string | undefined {
  const words = parts(text).words.items.map(scalarText);
  return commandLine("", words).flags.get(flag);
}

/** Everything else, comments included, stays as it is. Throws DB_BRIDGE_EXISTS when it names another file already. */
export function withEgress(text: string, model: BridgeModel): string {
  const { name, value } = egressFlag(model);
  const present = egressFileIn(text);
  if (present !== undefined && present !== value) {
    const sentence = `The kube-apiserver has an egress configuration of its own, ${present}, which the bridge would put out of force.`;
    throw new DrawbridgeError("DB_BRIDGE_EXISTS", sentence);
  }
  const { document, words, container, spec } = parts(text);
  if (present === undefined) words.add(document.createNode(`--${name}=${value}`));
  const { volumeMounts, volumes } = apiServerVolumes(model);
  for (const mount of volumeMounts) ensure(document, container, "volumeMounts", mount);
  for (const volume of volumes) ensure(document, spec, "volumes", volume);
  return textOf(document, text);
}

/** Takes out the flag, if it names this bridge's file, and this bridge's volumes. */
export function withoutEgress(text: string, model: BridgeModel): string {
  const { name, value } = egressFlag(model);
  const { document, words, container, spec } = parts(text);
  const items = words.items.map(scalarText);
  const ours = (word: string | undefined, index: number): boolean =>
    word === `--${name}=${value}` ||
    (word === `--${name}` && items[index + 1] === value) ||
    (word === value && items[index - 1] === `--${name}`);
  words.items = words.items.filter((_, index) => !ours(items[index], index));
  for (const [owner, key] of [
    [container, "volumeMounts"],
    [spec, "volumes"],
  ] as const) {
    const list = owner.get(key);
    if (!isSeq(list)) continue;
    list.items = list.items.filter((item) => !isMap(item) || !ownVolumes.includes(String(item.get("name"))));
    if (list.items.length === 0) owner.delete(key);
  }
  return textOf(document, text);
}

const ownVolumes: readonly string[] = Object.values(egressVolumes);

interface Parts {
  readonly document: Document;
  readonly spec: YAMLMap;
  readonly container: YAMLMap;
  /** The list that holds the flags. */
  readonly words: YAMLSeq;
}

function parts(text: string): Parts {
  const document: Document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw unusable(`it is not valid YAML (${error.message.split("\n")[0]})`);
  const spec = document.get("spec");
  const containers = isMap(spec) ? spec.get("containers") : undefined;
  if (document.get("kind") !== "Pod" || !isMap(spec) || !isSeq(containers)) throw unusable("it is no pod");
  const container = containers.items.find((item) => isMap(item) && item.get("name") === "kube-apiserver");
  if (!isMap(container)) throw unusable("it has no container named kube-apiserver");
  // kubeadm has program and flags in one list; others keep the flags apart.
  const [args, command] = [container.get("args"), container.get("command")];
  const words = isSeq(args) ? args : command;
  if (!isSeq(words)) throw unusable("the kube-apiserver in it has no command");
  return { document, spec, container, words };
}

function ensure(document: Document, owner: YAMLMap, key: string, entry: Readonly<Record<string, unknown>>): void {
  let list = owner.get(key);
  if (!isSeq(list)) {
    owner.set(key, document.createNode([]));
    list = owner.get(key);
  }
  const seq = list as YAMLSeq;
  if (seq.items.some((item) => isMap(item) && item.get("name") === entry.name)) return;
  seq.add(document.createNode(entry));
}

/**
 * In the manner of the original, so that a comparison shows the change and nothing else. A kubelet takes whatever begins
 * with a brace for JSON, so JSON stays JSON.
 */
function textOf(document: Document, original: string): string {
  if (original.trimStart().startsWith("{")) {
    const indent = /^\s*\{\n( +)"/.exec(original)?.[1];
    return `${JSON.stringify(document.toJS(), undefined, indent)}${original.endsWith("\n") ? "\n" : ""}`;
  }
  const indentSeq = !/^( *)[\w-]+:\n\1- /m.test(original);
  return document.toString({ lineWidth: 0, indentSeq });
}

function scalarText(node: unknown): string {
  return isScalar(node) ? String(node.value) : "";
}

function unusable(why: string): DrawbridgeError {
  return new DrawbridgeError(
    "DB_API_SERVER_CHANGE",
    `The kube-apiserver's manifest is not one that kubeadm wrote: ${why}.`,
  );
}
