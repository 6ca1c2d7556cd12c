/** The NodePool resource, as far as machines that users manage themselves (platform None) need it. */

import type { KubeObject } from "../../kube/port.js";
import type { Metadata } from "../objects.js";
import { type FieldProblem, problemsOf, type Schema } from "./schema.js";

export const NODE_POOL_VERSION = "hypershift.openshift.io/v1beta1";

/** Names the provider by which `drawbridge workers controller` makes and removes the pool's machines. */
export const MACHINES_ANNOTATION = "drawbridge.dev/machines";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

export interface NodePoolSpec {
  readonly clusterName?: string;
  readonly release?: { readonly image?: string };
  readonly platform?: { readonly type?: string };
  readonly arch?: string;
  readonly replicas?: number;
  readonly autoScaling?: { readonly min?: number; readonly max?: number };
  readonly management?: {
    readonly upgradeType?: string;
    readonly replace?: {
      readonly strategy?: string;
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
    readonly inPlace?: { readonly maxUnavailable?: number | string };
    readonly autoRepair?: boolean;
  };
  readonly config?: readonly { readonly name?: string }[];
  readonly tuningConfig?: readonly { readonly name?: string }[];
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly taints?: readonly object[];
  readonly pausedUntil?: string;
  readonly osImageStream?: { readonly name?: string };
}

export interface NodePoolStatus {
  readonly replicas?: number;
  readonly version?: string;
  readonly conditions?: readonly Condition[];
}

export interface NodePool extends KubeObject {
  readonly metadata?: Metadata;
  readonly spec?: NodePoolSpec;
  readonly status?: NodePoolStatus;
}

export const DEFAULT_ARCHITECTURE = "amd64";

/** A rule about several fields, or about a change: as an API server evaluates it, and as it is evaluated here. */
interface FieldRule {
  /** The part of the schema that has the rule. */
  readonly on: string;
  readonly field: string;
  /** In CEL. If empty, the rule is evaluated only here. */
  readonly cel: string;
  readonly message: string;
  readonly holds: (spec: NodePoolSpec, before: NodePoolSpec) => boolean;
}

const isNothing = (count: number | string) => Number.parseInt(String(count), 10) === 0;

const immutable = (field: string, read: (spec: NodePoolSpec) => unknown): FieldRule => ({
  ...{ on: field, field: `spec.${field}`, cel: "self == oldSelf" },
  message: "must not change; make another pool instead",
  holds: (spec, before) => read(spec) === read(before),
});

const rules: readonly FieldRule[] = [
  // HyperShift's API refuses these changes, too.
  immutable("clusterName", ({ clusterName }) => clusterName),
  immutable("platform.type", ({ platform }) => platform?.type),
  immutable("arch", ({ arch = DEFAULT_ARCHITECTURE }) => arch),
  immutable("management.upgradeType", ({ management }) => management?.upgradeType),
  {
    ...{ on: "", field: "spec.autoScaling", cel: "!(has(self.replicas) && has(self.autoScaling))" },
    message: "and spec.replicas exclude each other",
    holds: ({ autoScaling, replicas }) => autoScaling === undefined || replicas === undefined,
  },
  {
    ...{ on: "autoScaling", field: "spec.autoScaling.max", cel: "self.max >= self.min" },
    message: "must not be smaller than spec.autoScaling.min",
    holds: ({ autoScaling }) => (autoScaling?.max ?? 0) >= (autoScaling?.min ?? 0),
  },
  {
    on: "management",
    field: "spec.management.inPlace",
    cel: "self.upgradeType == 'InPlace' || !has(self.inPlace)",
    message: "goes with upgradeType InPlace only",
    holds: ({ management }) => management?.upgradeType === "InPlace" || management?.inPlace === undefined,
  },
  {
    ...{ on: "management", field: "spec.management.replace.rollingUpdate", cel: "" },
    message: "must not have 0 as maxSurge and as maxUnavailable",
    holds: ({ management }) => {
      const { maxSurge = 1, maxUnavailable = 0 } = management?.replace?.rollingUpdate ?? {};
      return !(isNothing(maxSurge) && isNothing(maxUnavailable));
    },
  },
];

function withRules(on: string, schema: Schema): Schema {
  const own = rules.filter((rule) => rule.on === on && rule.cel !== "");
  const validations = own.map(({ cel, field, message }) => ({ rule: cel, message: `${field} ${message}` }));
  return { ...schema, "x-kubernetes-validations": validations };
}

const object = (properties: NonNullable<Schema["properties"]>, ...required: string[]): Schema => ({
  type: "object",
  ...(required.length === 0 ? {} : { required }),
  properties,
});

const text = { type: "string" };
const filled = { ...text, minLength: 1 };
const oneOf = (...values: string[]) => ({ ...text, enum: values });
const count = (minimum: number) => ({ type: "integer", format: "int32", minimum });
const numberOrPercent: Schema = {
  "x-kubernetes-int-or-string": true,
  description: "a whole number or a percentage such as 25%",
  pattern: "^((100|[0-9]{1,2})%|[0-9]+)$",
  anyOf: [{ type: "integer" }, { type: "string" }],
};
const references: Schema = { type: "array", maxItems: 10, items: object({ name: filled }, "name") };

const specSchema = object(
  {
    clusterName: withRules("clusterName", {
      ...{ ...filled, maxLength: 253, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" },
      description: "lower-case letters, digits and dashes",
    }),
    release: object({ image: filled }, "image"),
    platform: object({ type: withRules("platform.type", oneOf("None")) }, "type"),
    arch: withRules("arch", { ...oneOf("amd64", "arm64"), default: DEFAULT_ARCHITECTURE }),
    replicas: count(0),
    autoScaling: withRules("autoScaling", object({ min: count(1), max: count(1) }, "min", "max")),
    management: withRules(
      "management",
      object(
        {
          upgradeType: withRules("management.upgradeType", oneOf("Replace", "InPlace")),
          replace: {
            ...object({
              strategy: oneOf("RollingUpdate", "OnDelete"),
              rollingUpdate: object({ maxSurge: numberOrPercent, maxUnavailable: numberOrPercent }),
            }),
            default: { strategy: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
          },
          inPlace: object({ maxUnavailable: numberOrPercent }),
          autoRepair: { type: "boolean" },
        },
        "upgradeType",
      ),
    ),
    config: references,
    tuningConfig: references,
    nodeLabels: { type: "object", additionalProperties: text },
    taints: { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    pausedUntil: text,
    osImageStream: object({ name: oneOf("rhel-9", "rhel-10") }, "name"),
  },
  ...["clusterName", "release", "platform", "management"],
);

const conditionSchema = object(
  {
    ...{ type: text, status: oneOf("True", "False", "Unknown"), reason: text, message: text },
    lastTransitionTime: { ...text, format: "date-time" },
    observedGeneration: { type: "integer", format: "int64" },
  },
  ...["type", "status", "lastTransitionTime"],
);

/** The schema of the fields that platform None has, for the resource that is installed and for what is checked here. */
export const nodePoolSchema = object(
  {
    spec: withRules("", specSchema),
    status: object({ replicas: count(0), version: text, conditions: { type: "array", items: conditionSchema } }),
  },
  "spec",
);

/**
 * Everything that is wrong with a pool and, with the pool as it was before, every change that is not allowed. Where
 * HyperShift's API is installed it refuses most of this; a directory of files does not.
 */
export function validateNodePool({ spec = {} }: NodePool, before: NodePool = { spec }): FieldProblem[] {
  const broken = rules.filter(({ holds }) => !holds(spec, before.spec ?? {}));
  return [...problemsOf(spec, specSchema, "spec"), ...broken.map(({ field, message }) => ({ field, message }))];
}
