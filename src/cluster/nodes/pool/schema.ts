/** Schemas as custom resources have them, and what is wrong with a value by its schema. */
import { isRecord } from "../../../base/at.js";

/** An OpenAPI schema: the parts that are checked here, and others. */
export interface Schema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  /** The description says it in words. */
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly [other: string]: unknown;
}

export interface FieldProblem {
  /** `spec.arch`, ... */
  readonly field: string;
  /** The rest of a sentence that begins with the field. */
  readonly message: string;
}

export function problemText({ field, message }: FieldProblem): string {
  return `${field} ${message}`;
}

/** Every part of the value that its schema does not allow. */
export function problemsOf(value: unknown, schema: Schema, field: string): FieldProblem[] {
  const wrongType = typeProblems(value, schema, field);
  return wrongType.length > 0 ? wrongType : walk(value, schema, field, valueProblem);
}

/** Every part of the value that is of another type than its schema says, as in `spec.config must be a list`. */
export function typeProblems(value: unknown, schema: Schema, field: string): FieldProblem[] {
  return walk(value, schema, field, typeProblem);
}

type PartCheck = (value: unknown, schema: Schema) => string | undefined;

function walk(value: unknown, schema: Schema, field: string, check: PartCheck): FieldProblem[] {
  const message = check(value, schema);
  if (message !== undefined) return [{ field, message }];
  if (Array.isArray(value)) return value.flatMap((item, at) => walk(item, schema.items ?? {}, `${field}.${at}`, check));
  if (!isRecord(value)) return [];
  const names = new Set([...Object.keys(value), ...(schema.required ?? [])]);
  return [...names].flatMap((name) => {
    const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const own = known ?? schema.additionalProperties ?? {};
    const isMissing = check === valueProblem && value[name] === undefined && schema.required?.includes(name);
    const path = field === "" ? name : `${field}.${name}`;
    return isMissing ? [{ field: path, message: "is missing" }] : walk(value[name], own, path, check);
  });
}

const TYPES: Readonly<Record<string, readonly [words: string, is: (value: unknown) => boolean]>> = {
  string: ["a text, in quotes if need be", (value) => typeof value === "string"],
  integer: ["a whole number", Number.isInteger],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  array: ["a list", Array.isArray],
  object: ["a map", isRecord],
  "int-or-string": ["a number or a text", (value) => ["number", "string"].includes(typeof value)],
};

function typeProblem(value: unknown, schema: Schema): string | undefined {
  if (value === undefined || (value === null && schema.nullable)) return undefined;
  const type = schema["x-kubernetes-int-or-string"] ? "int-or-string" : schema.type;
  const [words, is] = TYPES[type ?? ""] ?? ["", () => true];
  return is(value) ? undefined : `must be ${words}`;
}

const LARGEST_INT32 = 2 ** 31 - 1;

function valueProblem(value: unknown, schema: Schema): string | undefined {
  const { enum: known, maxItems = Number.POSITIVE_INFINITY, maxLength, minimum, minLength = 0, pattern } = schema;
  if (value === undefined || value === null) return undefined;
  if (known !== undefined && !known.includes(value as string)) {
    return known.length === 1 ? `must be ${known[0]} here` : `must be one of ${known.join(", ")}`;
  }
  if (minimum !== undefined && !((value as number) >= minimum && (value as number) <= LARGEST_INT32)) {
    return `must be a whole number from ${minimum} to ${LARGEST_INT32}`;
  }
  if (Array.isArray(value)) {
    return value.length <= maxItems ? undefined : `may have ${maxItems} entries, not ${value.length}`;
  }
  const { length } = String(value);
  if (length < minLength || length > (maxLength ?? length)) {
    return maxLength === undefined ? "must not be empty" : `must have ${minLength} to ${maxLength} characters`;
  }
  return pattern === undefined || new RegExp(pattern).test(String(value)) ? undefined : `must be ${schema.description}`;
}
