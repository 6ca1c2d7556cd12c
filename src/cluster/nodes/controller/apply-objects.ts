/** Brings pools, and what they stand on, from a file into a cluster or a directory: all of it is checked before any is written. */
import { parseAllDocuments } from "yaml";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { find } from "../../kube/find.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { nameOf, pathOf } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { problemText, validateNodePool } from "../pool/validate.js";
import { shapeProblem } from "./directory/shape.js";
import { type Kind, objectPath, versions } from "./paths.js";

export interface AppliedObject {
  readonly object: string;
  readonly action: "created" | "changed" | "unchanged";
}

export interface ApplyWishes {
  /** For objects that name none. */
  readonly namespace: string;
  readonly dryRun: boolean;
  readonly force: boolean;
}

/** First what pools refer to, so that they find it. */
const order: readonly Kind[] = ["Secret", "ConfigMap", "NodePool"];

export function readObjects(where: string, text: string, namespace: string): KubeObject[] {
  const objects = parseAllDocuments(text).flatMap((document): KubeObject[] => {
    const [error] = document.errors;
    // The parser's own words may repeat a line of a Secret.
    if (error !== undefined) throw unusable(where, `line ${error.linePos?.[0].line ?? 1} is not YAML`);
    const value = parsed(where, () => document.toJS({ maxAliasCount: 100 }) as KubeObject | null);
    return value === null ? [] : [checked(where, value, namespace)];
  });
  if (objects.length === 0) throw unusable(where, "it holds no object");
  return objects.sort((a, b) => order.indexOf(a.kind as Kind) - order.indexOf(b.kind as Kind));
}

export async function applyObjects(
  api: KubeApi,
  objects: readonly KubeObject[],
  { dryRun, force }: ApplyWishes,
): Promise<AppliedObject[]> {
  const before = new Map<KubeObject, KubeObject | undefined>();
  for (const object of objects) {
    const found = await find(api, objectPath(object));
    before.set(object, found);
    if (object.kind === "NodePool") requireValid(object, found);
  }
  const applied: AppliedObject[] = [];
  for (const object of objects) {
    const after = await api.apply(objectPath(object), object, { fieldManager: "drawbridge-cli", force, dryRun });
    const old = before.get(object);
    const isSame = old?.metadata?.resourceVersion === after.metadata?.resourceVersion;
    const action = old === undefined ? "created" : isSame ? "unchanged" : "changed";
    applied.push({ object: `${object.kind} ${pathOf(nameOf(object))}`, action });
  }
  return applied;
}

function requireValid(pool: NodePool, before: NodePool | undefined): void {
  const problems = validateNodePool(pool, before);
  if (problems.length === 0) return;
  const sentence = `NodePool ${pathOf(nameOf(pool))}: ${problems.map(problemText).join("; ")}`;
  throw new DrawbridgeError("DB_NODEPOOL", sentence);
}

function checked(where: string, object: KubeObject, namespace: string): KubeObject {
  const { apiVersion, kind = "", metadata } = object;
  if (!Object.hasOwn(versions, kind) || versions[kind as Kind] !== apiVersion) {
    const known = order.map((each) => `${each} (${versions[each]})`).join(", ");
    throw unusable(where, `it holds a ${kind || "nameless kind"} of ${apiVersion}; known are ${known}`);
  }
  if (!metadata?.name) throw unusable(where, `a ${kind} has no metadata.name`);
  const problem = shapeProblem(object);
  if (problem !== undefined) throw unusable(where, `${kind} ${metadata.name}: ${problem}`);
  return { ...object, metadata: { ...metadata, namespace: metadata.namespace ?? namespace } };
}

function parsed<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (reason) {
    throw unusable(where, messageOf(reason));
  }
}

function unusable(where: string, why: string): DrawbridgeError {
  return new DrawbridgeError("DB_NODEPOOL", `${where} cannot be applied: ${why}`);
}
