/** What was taken over from others, kept in an annotation of the object, and given back in one write. */
import { isRecord, jsonOf } from "../../../base/at.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { KubeManifest } from "../../kube/apply.js";
import {
  fieldsOf,
  isAppliedBy,
  joinedParts,
  type ManagedObject,
  ownedPart,
  partPaths,
  replacedPart,
} from "../../kube/managed-fields.js";
import { objectPath, titleOf } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { FIELD_MANAGER, HOSTED_LABEL, TAKEN_OVER } from "../model/names.js";

interface TakenOver {
  /** The field manager that had it. */
  readonly from: string;
  /** The values from before. */
  readonly fields: Part;
}

type Part = Readonly<Record<string, unknown>>;

export const isEmpty = (part: object): boolean => Object.keys(part).length === 0;

/** Whether somebody else made an object that is ours by name: it is given back, not deleted. */
export const isTakenOver = ({ metadata }: ManagedObject): boolean => metadata?.annotations?.[TAKEN_OVER] !== undefined;

/** Whether an apply would take it over, or did. */
export const isTheirs = (object: ManagedObject): boolean =>
  isTakenOver(object) || object.metadata?.labels?.[HOSTED_LABEL] === undefined;

function recordOf(object: ManagedObject): TakenOver {
  const text = object.metadata?.annotations?.[TAKEN_OVER];
  if (text === undefined) return { from: "", fields: {} };
  const value = jsonOf(text);
  if (isRecord(value) && isRecord(value.fields)) return value as unknown as TakenOver;
  throw new DrawbridgeError(
    "DB_HOSTED_CONFIG",
    `Somebody changed the annotation ${TAKEN_OVER} of ${titleOf(object as KubeManifest)}, in which apply keeps what it took over from others; put it back, or remove it: then that is not given back.`,
  );
}

/** The manifest with what it replaces in the object, and the words about that. A Secret's values are kept nowhere else. */
export function takingOver(
  manifest: KubeManifest,
  object: ManagedObject,
): { readonly manifest: KubeManifest; readonly why: string | undefined } {
  const mine = fieldsOf(object, FIELD_MANAGER);
  const { apiVersion, kind, metadata, ...body } = manifest;
  const taken = kind === "Secret" ? {} : replacedPart(body, object as Part, mine);
  const before = recordOf(object);
  const fields = joinedParts(ownedPart(before.fields, mine), taken);
  const from = ownerOf(taken, object) ?? (before.from || firstOther(object));
  const record = JSON.stringify({ from, fields } satisfies TakenOver);
  const annotations = { ...metadata.annotations, [TAKEN_OVER]: record };
  const paths = partPaths(taken).join(", ");
  return {
    manifest: { ...manifest, metadata: { ...metadata, annotations } },
    why: isEmpty(taken) ? undefined : `took over from ${from}: ${paths}; hosted delete gives it back`,
  };
}

const ownerOf = (part: Part, { metadata }: ManagedObject): string | undefined =>
  metadata?.managedFields?.find(({ fieldsV1 }) => !isEmpty(ownedPart(part, fieldsV1)))?.manager;

const firstOther = ({ metadata }: ManagedObject): string =>
  metadata?.managedFields?.find((entry) => !isAppliedBy(entry, FIELD_MANAGER))?.manager ?? "";

/** Fields that others have set again meanwhile stay as they are. `check` sees the object as it will be, before it is. */
export async function giveBack<T extends ManagedObject>(
  api: KubeApi,
  object: T,
  check: (after: T) => void = () => {},
): Promise<void> {
  const { apiVersion, kind, data } = object as T & { readonly data?: Part };
  const { name = "", namespace, resourceVersion = "" } = object.metadata ?? {};
  const mine = fieldsOf(object, FIELD_MANAGER);
  const { from, fields } = recordOf(object);
  const kept = kind === "Secret" && data !== undefined ? { data } : fields;
  const metadata = { name, ...(namespace && { namespace }), resourceVersion };
  const given = { apiVersion, kind, metadata, ...ownedPart(kept, mine) } as unknown as T;
  const path = objectPath(object);
  const after = await api.apply<T>(path, given, { fieldManager: FIELD_MANAGER, dryRun: true });
  check(after);
  const managedFields = after.metadata?.managedFields?.filter((entry) => !isAppliedBy(entry, FIELD_MANAGER));
  const whole = { ...after, metadata: { ...after.metadata, resourceVersion, managedFields } };
  await api.update(path, whole, { fieldManager: from || FIELD_MANAGER });
}
