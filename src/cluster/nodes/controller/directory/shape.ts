/**
 * Whether the parts of an object are what they should be: lists, texts, numbers. An API server sees to that; in a file a
 * `true` or `4.18` without quotes is easily written where a text belongs.
 */
import type { KubeObject } from "../../../kube/port.js";
import { nodePoolShape } from "../../install/schema.js";

/** As much as is needed of the schemas that Kubernetes has. */
export interface Shape {
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

/** `spec.config must be a list`; undefined when all is well. */
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
