/** Applies pools and the objects they refer to from a file. All of them are checked before any is written. */
import { DrawbridgeError, wrapErrors } from "../../../base/errors/error.js";
import { applyObject, type ObjectOutcome } from "../../kube/apply.js";
import { find } from "../../kube/objects.js";
import { apiVersionOf, type Kind, objectPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { nodePoolShape } from "../install/schema.js";
import { nameOf, pathOf } from "../objects.js";
import { type NodePool, problemText, validateNodePool } from "../pool/node-pool.js";
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

/** The parts of a Kubernetes schema that are used here. */
interface Shape {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape;
  readonly items?: Shape;
  readonly nullable?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
}

/** Kubernetes' own types take nothing for an empty one. */
const text: Shape = { type: "string", nullable: true };
const texts: Shape = { type: "object", additionalProperties: text, nullable: true };
const metadata: Shape = {
  type: "object",
  properties: {
    ...{ name: text, namespace: text, labels: texts, annotations: texts },
    finalizers: { type: "array", items: text, nullable: true },
  },
};
const ofKind: Readonly<Record<string, Shape>> = {
  ConfigMap: { properties: { data: texts } },
  Secret: { properties: { data: texts } },
  NodePool: nodePoolShape,
};

/**
 * The first part of an object that is of the wrong type, as in `spec.config must be a list`; undefined when there is none. An
 * API server checks that; in a file `true` or `4.18` is easily written without the quotes that a text needs.
 */
export function shapeProblem(object: KubeObject): string | undefined {
  const { kind = "" } = object;
  const own = Object.hasOwn(ofKind, kind) ? ofKind[kind] : undefined;
  return problemAt(object, { properties: { ...own?.properties, metadata } }, "");
}

const words: Readonly<Record<string, readonly [word: string, is: (value: unknown) => boolean]>> = {
  string: ["a text, in quotes if need be", (value) => typeof value === "string"],
  integer: ["a whole number", Number.isInteger],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  array: ["a list", Array.isArray],
  object: ["a map", (value) => typeof value === "object" && value !== null && !Array.isArray(value)],
};

function problemAt(value: unknown, shape: Shape, path: string): string | undefined {
  if (value === undefined || (value === null && shape.nullable)) return undefined;
  if (shape["x-kubernetes-int-or-string"]) {
    return ["number", "string"].includes(typeof value) ? undefined : `${path} must be a number or a text`;
  }
  const [word, is] = (shape.type && words[shape.type]) || ["", () => true];
  if (!is(value)) return `${path} must be ${word}`;
  if (Array.isArray(value))
    return firstOf(value.map((item, at) => problemAt(item, shape.items ?? {}, `${path}.${at}`)));
  if (typeof value !== "object") return undefined;
  return firstOf(
    Object.entries(value as object).map(([name, member]) => {
      const known = shape.properties && Object.hasOwn(shape.properties, name) ? shape.properties[name] : undefined;
      return problemAt(member, known ?? shape.additionalProperties ?? {}, path === "" ? name : `${path}.${name}`);
    }),
  );
}

const firstOf = (problems: readonly (string | undefined)[]): string | undefined =>
  problems.find((problem) => problem !== undefined);
