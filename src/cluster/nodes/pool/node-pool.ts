/** The NodePool resource, as far as machines that users manage themselves (platform None) need it. */

import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../kube/port.js";
import type { Metadata } from "../objects.js";

export const NODE_POOL_VERSION = "hypershift.openshift.io/v1beta1";

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

export interface FieldProblem {
  /** `spec.arch`, ... */
  readonly field: string;
  readonly message: string;
}

type Check = (spec: NodePoolSpec) => string | undefined;

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const MOST_REFERENCES = 10;
const LARGEST_INT32 = 2 ** 31 - 1;

const checks: readonly (readonly [field: string, check: Check])[] = [
  ["spec.clusterName", ({ clusterName = "" }) => clusterNameProblem(clusterName)],
  ["spec.release.image", ({ release }) => (release?.image ? undefined : "must name a release image")],
  ["spec.platform.type", ({ platform }) => (platform?.type === "None" ? undefined : "must be None here")],
  ["spec.arch", ({ arch = DEFAULT_ARCHITECTURE }) => oneOf(arch, ["amd64", "arm64"])],
  ["spec.replicas", ({ replicas }) => wholeNumber(replicas, 0)],
  ["spec.autoScaling", autoScalingProblem],
  ["spec.management.upgradeType", ({ management }) => oneOf(management?.upgradeType, ["Replace", "InPlace"])],
  ["spec.management.replace", replaceProblem],
  ["spec.management.inPlace", inPlaceProblem],
  ["spec.config", ({ config }) => referencesProblem(config)],
  ["spec.tuningConfig", ({ tuningConfig }) => referencesProblem(tuningConfig)],
  ["spec.osImageStream.name", ({ osImageStream }) => osImageStream && oneOf(osImageStream.name, ["rhel-9", "rhel-10"])],
];

/** Fields that must not change; HyperShift's API refuses it, too. */
const immutable: readonly (readonly [field: string, read: (spec: NodePoolSpec) => unknown])[] = [
  ["spec.clusterName", ({ clusterName }) => clusterName],
  ["spec.platform.type", ({ platform }) => platform?.type],
  ["spec.arch", ({ arch = DEFAULT_ARCHITECTURE }) => arch],
  ["spec.management.upgradeType", ({ management }) => management?.upgradeType],
];

/**
 * Everything that is wrong with a pool and, with the pool as it was before, every change that is not allowed. Where
 * HyperShift's API is installed it refuses most of this; a directory of files does not.
 */
export function validateNodePool({ spec = {} }: NodePool, before?: NodePool): FieldProblem[] {
  const problems = checks.flatMap(([field, check]) => {
    const message = check(spec);
    return message === undefined ? [] : [{ field, message }];
  });
  if (before === undefined) return problems;
  const changed = immutable.filter(([, read]) => !isDeepStrictEqual(read(spec), read(before.spec ?? {})));
  return [
    ...problems,
    ...changed.map(([field, read]) => ({
      field,
      message: `must stay ${JSON.stringify(read(before.spec ?? {}))}; make another pool instead`,
    })),
  ];
}

export function problemText({ field, message }: FieldProblem): string {
  return `${field} ${message}`;
}

function clusterNameProblem(name: string): string | undefined {
  if (name === "" || name.length > 253) return "must have 1 to 253 characters";
  return DNS_LABEL.test(name) ? undefined : "may have lower-case letters, digits and dashes only";
}

function oneOf(value: string | undefined, known: readonly string[]): string | undefined {
  return value !== undefined && known.includes(value) ? undefined : `must be one of ${known.join(", ")}`;
}

function wholeNumber(value: number | undefined, least: number): string | undefined {
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && value >= least && value <= LARGEST_INT32) return undefined;
  return `must be a whole number from ${least} to ${LARGEST_INT32}`;
}

function autoScalingProblem({ autoScaling, replicas }: NodePoolSpec): string | undefined {
  if (autoScaling === undefined) return undefined;
  if (replicas !== undefined) return "and spec.replicas exclude each other";
  const { min = 0, max = 0 } = autoScaling;
  const problem = wholeNumber(min, 1) ?? wholeNumber(max, 1);
  if (problem !== undefined) return `.min and .max: each ${problem}`;
  return max < min ? ".max must not be smaller than .min" : undefined;
}

function replaceProblem({ management }: NodePoolSpec): string | undefined {
  if (management?.upgradeType !== "Replace") return undefined;
  const { replace } = management;
  if (replace === undefined) return "must be present when upgradeType is Replace";
  const strategy = oneOf(replace.strategy ?? "RollingUpdate", ["RollingUpdate", "OnDelete"]);
  if (strategy !== undefined) return `.strategy ${strategy}`;
  const { maxSurge = 1, maxUnavailable = 0 } = replace.rollingUpdate ?? {};
  if (!isCount(maxSurge) || !isCount(maxUnavailable)) {
    return ".rollingUpdate: maxSurge and maxUnavailable are whole numbers or percentages such as 25%";
  }
  const isNothing = (value: number | string) => Number.parseInt(String(value), 10) === 0;
  if (isNothing(maxSurge) && isNothing(maxUnavailable)) {
    return ".rollingUpdate: maxSurge and maxUnavailable must not both be 0";
  }
  return undefined;
}

function inPlaceProblem({ management }: NodePoolSpec): string | undefined {
  const maxUnavailable = management?.inPlace?.maxUnavailable;
  if (maxUnavailable === undefined) return undefined;
  if (management?.upgradeType !== "InPlace") return ".maxUnavailable goes with upgradeType InPlace only";
  return isCount(maxUnavailable) ? undefined : ".maxUnavailable is a whole number or a percentage such as 25%";
}

function isCount(value: number | string): boolean {
  return typeof value === "number" ? Number.isInteger(value) && value >= 0 : /^(100|\d{1,2})%$/.test(value);
}

function referencesProblem(references: NodePoolSpec["config"] = []): string | undefined {
  if (references.length > MOST_REFERENCES) return `may have ${MOST_REFERENCES} entries, not ${references.length}`;
  return references.every(({ name }) => name) ? undefined : "has an entry without a name";
}
