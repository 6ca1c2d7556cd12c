/** Applies objects to a cluster (server-side apply), deletes them, and reports what became of each. */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../base/at.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { isConflict, isNotFound, KubeApiError } from "./errors.js";
import { deleteIfPresent, find } from "./objects.js";
import { objectPath, titleOf } from "./paths.js";
import type { ApplyOptions, KubeApi, KubeObject, ObjectMeta } from "./port.js";

/** An object as it is sent to a cluster. */
export interface KubeManifest extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta & { readonly name: string };
  readonly [field: string]: unknown;
}

const ACTIONS = ["created", "changed", "deleted", "released", "skipped", "unchanged"] as const;

/** What became of one object, or would with a dry run. */
export interface ObjectOutcome {
  /** `Deployment kube-system/agent`. */
  readonly object: string;
  /** Set by commands that work on two clusters. */
  readonly cluster?: "management" | "hosted";
  readonly action: (typeof ACTIONS)[number];
  /** Why it was skipped, or what else there is to know. */
  readonly why?: string;
  readonly changes?: readonly FieldChange[];
}

export interface FieldChange {
  /** As in `spec.replicas`. */
  readonly path: string;
  /** Undefined when the field did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Throws DB_OBJECT_REFUSED when the cluster refuses the object. `known`: the object as it was read before, if it was. */
export async function applyObject(
  api: KubeApi,
  manifest: KubeObject,
  options: ApplyOptions,
  known?: { readonly before: KubeObject | undefined },
): Promise<ObjectOutcome> {
  const object = titleOf(manifest);
  const { before } = known ?? { before: await find(api, objectPath(manifest)) };
  const after = await applied(api, manifest, options);
  if (before === undefined) return { object, action: "created" };
  const changes = differences(before, after, manifest.kind === "Secret");
  return changes.length === 0 ? { object, action: "unchanged" } : { object, action: "changed", changes };
}

export async function deleteObject(
  api: KubeApi,
  object: KubeObject,
  { dryRun }: { readonly dryRun: boolean },
): Promise<ObjectOutcome> {
  if (!dryRun) await deleteIfPresent(api, objectPath(object), { propagationPolicy: "Background" });
  return { object: titleOf(object), action: "deleted" };
}

/** Gives back the fields of somebody else's object that were ours: an apply that names none. Undefined: no such object. */
export async function releaseObject(
  api: KubeApi,
  manifest: KubeManifest,
  options: ApplyOptions,
): Promise<ObjectOutcome | undefined> {
  if ((await find(api, objectPath(manifest))) === undefined) return undefined;
  const { apiVersion, kind, metadata } = manifest;
  const { name, namespace } = metadata;
  await applied(api, { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) } }, options);
  return { object: titleOf(manifest), action: "released" };
}

/** An error without an answer of the cluster is thrown as it is. */
async function applied(api: KubeApi, manifest: KubeObject, options: ApplyOptions) {
  try {
    return await api.apply(objectPath(manifest), manifest, options);
  } catch (reason) {
    if (!(reason instanceof KubeApiError) || reason.status === 0) throw reason;
    const { namespace } = manifest.metadata ?? {};
    const noNamespace = isNotFound(reason) && reason.detail.includes(`namespaces "${namespace}" not found`);
    const advice = noNamespace
      ? `; make it with kubectl create namespace ${namespace}`
      : isConflict(reason)
        ? "; --force-conflicts takes the fields over"
        : "";
    const sentence = `${titleOf(manifest)} was refused: ${reason.detail}${advice}.`;
    throw new DrawbridgeError("DB_OBJECT_REFUSED", sentence, { cause: reason });
  }
}

/** What the API server writes for itself. */
const BOOKKEEPING = new Set([
  ...["managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"].map(
    (name) => `metadata.${name}`,
  ),
  ...["status", "apiVersion", "kind"],
]);

/** Values of a Secret are replaced by digests. */
export function differences(before: unknown, after: unknown, isSecret: boolean): FieldChange[] {
  const shown = (path: string, value: unknown): unknown =>
    !isSecret || value === undefined || /^(type|immutable|metadata\.labels)\b/.test(path) ? value : hidden(value);
  return [...compare("", before, after)].map(({ path, ...change }) => ({
    ...{ path, before: shown(path, change.before), after: shown(path, change.after) },
  }));
}

function* compare(path: string, before: unknown, after: unknown): Generator<FieldChange> {
  if (BOOKKEEPING.has(path) || isDeepStrictEqual(before, after)) return;
  const isList = Array.isArray(before) && Array.isArray(after);
  if (!isList && !(isRecord(before) && isRecord(after))) return yield { path, before, after };
  const [was, is] = [before, after] as unknown as Record<string, unknown>[];
  for (const key of new Set([...Object.keys(was!), ...Object.keys(is!)])) {
    yield* compare(path === "" ? key : `${path}.${key}`, was![key], is![key]);
  }
}

/** A digest of a value in a Secret: two of them can be compared, and neither value is shown. */
export function hidden(value: unknown): string {
  const bytes = typeof value === "string" ? Buffer.from(value, "base64") : JSON.stringify(value);
  return `<hidden, sha256 ${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}>`;
}

export const isChange = ({ action }: ObjectOutcome): boolean => action !== "unchanged" && action !== "skipped";

const LONGEST_VALUE = 120;

/** The text for people: every object that changed, its fields, and a count of all. */
export function outcomesText(outcomes: readonly ObjectOutcome[]): string {
  const lines = outcomes
    .filter(({ action }) => action !== "unchanged")
    .flatMap(({ action, changes = [], cluster, object, why }) => [
      `${action.padEnd(9)}  ${cluster === undefined ? "" : `${cluster.padEnd(10)}  `}${object}${why === undefined ? "" : `: ${why}`}\n`,
      ...changes.map(
        ({ after, before, path }) => `             ${path}: ${valueText(before)} -> ${valueText(after)}\n`,
      ),
    ]);
  const counts = ACTIONS.map((action) => [outcomes.filter((each) => each.action === action).length, action] as const)
    .filter(([count]) => count > 0)
    .map(([count, action]) => `${count} ${action}`);
  return `${lines.join("")}${counts.join(", ") || "nothing to do"}\n`;
}

function valueText(value: unknown): string {
  if (value === undefined) return "nothing";
  const line = (typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " ");
  return line.length <= LONGEST_VALUE ? line : `${line.slice(0, LONGEST_VALUE)}...`;
}
