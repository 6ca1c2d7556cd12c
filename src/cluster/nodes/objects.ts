/** Kubernetes objects as pools read and write them. */
import type { KubeObject, ObjectMeta } from "../kube/port.js";

export interface Metadata extends ObjectMeta {
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly generation?: number;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  }[];
}

export interface Secret extends KubeObject {
  readonly metadata?: Metadata;
  readonly type?: string;
  readonly immutable?: boolean;
  /** Base64, as the API has it. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface ConfigMap extends KubeObject {
  readonly metadata?: Metadata;
  readonly data?: Readonly<Record<string, string>>;
}

/** `namespace/name`. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

export function nameOf(object: KubeObject): ObjectName {
  return { namespace: object.metadata?.namespace ?? "", name: object.metadata?.name ?? "" };
}

export function pathOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

export function encoded(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** One value of a Secret as text; undefined when it has none. */
export function secretText(secret: Secret, key: string): string | undefined {
  const value = secret.data?.[key];
  return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
}
