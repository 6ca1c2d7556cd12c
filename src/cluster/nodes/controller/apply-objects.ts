/** Applies pools and the objects they refer to from a file. All of them are checked before any is written. */
import { DrawbridgeError, wrapErrors } from "../../../base/errors/error.js";
import { applyObject, type ObjectOutcome } from "../../kube/apply.js";
import { find } from "../../kube/objects.js";
import { apiVersionOf, type Kind, objectPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { nameOf, pathOf } from "../objects.js";
import { type NodePool, nodePoolSchema, validateNodePool } from "../pool/node-pool.js";
import { problemText, type Schema, typeProblems } from "../pool/schema.js";
import { readYamlStream } from "../yaml.js";

/** First what pools refer to, so that they find it. */
const order: readonly Kind[] = ["Secret", "ConfigMap", "NodePool"];

export function readObjects(where: string, text: string, namespace: string): KubeObject[] {
  const values = wrapErrors("DB_NODEPOOL", `${where} cannot be applied`, () => readYamlStream(text)).filter(
    (value) => value !== null,
  );
  const objects = values.map((value) => checked(where, value as KubeObject, namespace));
  if (objects.length === 0) throw unusable(where, "it holds no object");
  return objects.sort((a, b) => order.indexOf(a.kind as Kind) - order.indexOf(b.kind as Kind));
}

export async function applyObjects(
  api: KubeApi,
  objects: readonly KubeObject[],
  { dryRun, force }: { readonly dryRun: boolean; readonly force: boolean },
): Promise<ObjectOutcome[]> {
  for (const object of objects) {
    if (object.kind === "NodePool") requireValid(object, await find(api, objectPath(object)));
  }
  const outcomes: ObjectOutcome[] = [];
  for (const object of objects) {
    outcomes.push(await applyObject(api, object, { fieldManager: "drawbridge-cli", force, dryRun }));
  }
  return outcomes;
}

function requireValid(pool: NodePool, before: NodePool | undefined): void {
  const problems = validateNodePool(pool, before);
  if (problems.length === 0) return;
  const sentence = `NodePool ${pathOf(nameOf(pool))}: ${problems.map(problemText).join("; ")}`;
  throw new DrawbridgeError("DB_NODEPOOL", sentence);
}

function checked(where: string, object: KubeObject, namespace: string): KubeObject {
  const { apiVersion, kind = "", metadata } = object;
  if (!order.includes(kind as Kind) || apiVersionOf(kind as Kind) !== apiVersion) {
    const known = order.map((each) => `${each} (${apiVersionOf(each)})`).join(", ");
    throw unusable(where, `it holds a ${kind || "nameless kind"} of ${apiVersion}; known are ${known}`);
  }
  if (!metadata?.name) throw unusable(where, `a ${kind} has no metadata.name`);
  const problem = shapeProblem(object);
  if (problem !== undefined) throw unusable(where, `${kind} ${metadata.name}: ${problem}`);
  return { ...object, metadata: { ...metadata, namespace: metadata.namespace ?? namespace } };
}

function unusable(where: string, why: string): DrawbridgeError {
  return new DrawbridgeError("DB_NODEPOOL", `${where} cannot be applied: ${why}`);
}

/** Kubernetes' own types take nothing for an empty one. */
const text: Schema = { type: "string", nullable: true };
const texts: Schema = { type: "object", additionalProperties: text, nullable: true };
const metadata: Schema = {
  type: "object",
  properties: {
    ...{ name: text, namespace: text, labels: texts, annotations: texts },
    finalizers: { type: "array", items: text, nullable: true },
  },
};
const schemas = new Map<string | undefined, Schema>([
  ["ConfigMap", { properties: { data: texts } }],
  ["Secret", { properties: { data: texts } }],
  ["NodePool", nodePoolSchema],
]);

/**
 * The first part of an object that is of the wrong type, as in `spec.config must be a list`; undefined when there is none. An
 * API server checks that; in a file `true` or `4.18` is easily written without the quotes that a text needs.
 */
export function shapeProblem(object: KubeObject): string | undefined {
  const schema = { properties: { ...schemas.get(object.kind)?.properties, metadata } };
  const [first] = typeProblems(object, schema, "");
  return first && problemText(first);
}
