/** Kubernetes objects, names, times and events as node pools use them. */
import { isDeepStrictEqual } from "node:util";
import type { ConditionedObject } from "../kube/pods.js";
import type { KubeObject, ObjectMeta } from "../kube/port.js";

export interface Metadata extends ObjectMeta {
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly generation?: number;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly {
    readonly apiVersion?: string;
    readonly kind: string;
    readonly name: string;
    readonly uid?: string;
    readonly controller?: boolean;
  }[];
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Node extends KubeObject {
  readonly metadata?: Metadata;
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly providerID?: string;
  };
  readonly status?: ConditionedObject["status"] & {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  };
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

export function byName<T extends KubeObject>(objects: Iterable<T>): ReadonlyMap<string, T> {
  return new Map([...objects].map((object) => [nameOf(object).name, object]));
}

export function pathOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** Reads `namespace/name`; undefined for any other form. */
export function readPath(path: string | undefined): ObjectName | undefined {
  const parts = path?.split("/") ?? [];
  const [namespace, name] = parts;
  return parts.length === 2 && namespace && name ? { namespace, name } : undefined;
}

/** Base64, as values of a Secret are written. */
export function encoded(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** One value of a Secret as text; undefined when it has none. */
export function secretText(secret: Secret, key: string): string | undefined {
  const value = secret.data?.[key];
  return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
}

/** One write of a pass. The first write that fails ends the pass; updates and deletions hold only for the version they were decided on. */
export interface ObjectWrite {
  readonly verb: "create" | "update" | "delete";
  readonly object: KubeObject;
}

/** Nothing is written when there is no object. */
export function updateOf(object: KubeObject | undefined): ObjectWrite[] {
  return object === undefined ? [] : [{ verb: "update", object }];
}

/** The Secret with exactly this data; undefined when it has that already. */
export function withData(secret: Secret, data: NonNullable<Secret["data"]>): Secret | undefined {
  return isDeepStrictEqual({ ...secret.data }, data) ? undefined : { ...secret, data };
}

const GROUP = "hypershift.openshift.io";

/** Annotations that HyperShift's own components read and write. */
export const annotation = {
  /** `namespace/name` of the pool, on everything that belongs to it. */
  nodePool: `${GROUP}/nodePool`,
  ignitionConfig: `${GROUP}/ignition-config`,
  upgradeType: `${GROUP}/node-pool-upgrade-type`,
  tokenGenerated: `${GROUP}/last-token-generation-time`,
  ignitionReached: `${GROUP}/ignition-reached`,
  tokenExpires: `${GROUP}/ignition-token-expiration-timestamp`,
  currentConfig: `${GROUP}/nodePoolCurrentConfig`,
  currentConfigVersion: `${GROUP}/nodePoolCurrentConfigVersion`,
  /** On token Secrets: with which labels and taints nodes register. HyperShift's have no such thing. */
  registration: "drawbridge/node-registration",
  healthTimeout: `${GROUP}/machine-health-check-timeout`,
  startupTimeout: `${GROUP}/machine-health-check-node-startup-timeout`,
  maxUnhealthy: `${GROUP}/machine-health-check-max-unhealthy`,
} as const;

export const FINALIZER = `${GROUP}/finalizer`;

export const label = {
  coreConfig: `${GROUP}/core-ignition-config`,
  tuningConfig: `${GROUP}/nto-generated-machine-config`,
  nodePool: `${GROUP}/nodePool`,
} as const;

/** Secrets with the Ignition server's certificate and with the authority that signed it, where no HyperShift has its own. */
export const SERVING_CERTIFICATE_SECRET = "drawbridge-ignition-serving-cert";
export const IGNITION_CA_SECRET = "drawbridge-ignition-ca";

/** The Secret with the kubeconfig that machines join with, under the key `kubeconfig`; HyperShift calls its own the same. */
export const BOOTSTRAP_SECRET = "bootstrap-kubeconfig";

/** The namespace of a hosted cluster's control plane. */
export function controlPlaneNamespace({ namespace, name }: ObjectName): string {
  return `${namespace}-${name.replaceAll(".", "-")}`;
}

export function tokenSecretName(pool: string, hash: string): string {
  return `token-${pool}-${hash}`;
}

/** The names of the Secrets of a pool and its hash. */
export function secretNames(pool: string, hash: string): readonly string[] {
  return [tokenSecretName(pool, hash), userDataSecretName(pool, hash)];
}

export function userDataSecretName(pool: string, hash: string): string {
  return `user-data-${pool}-${hash}`;
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970; undefined for anything that is not RFC 3339, which Date.parse would guess at. */
export function parseTime(text: string | undefined): number | undefined {
  if (text === undefined || !RFC3339.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** RFC 3339 with seconds. */
export function secondTime(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}

/** RFC 3339 as Go prints nanoseconds: without zeros at the end, and without the point when there are only zeros. */
export function nanoTime(now: number): string {
  return new Date(now)
    .toISOString()
    .replace(/(\.\d*?)0*Z$/, (_, fraction: string) => `${fraction === "." ? "" : fraction}Z`);
}

/** The content of an event; `kubectl describe` shows it under the object that it is about. */
export interface EventContent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The API refuses longer messages. */
const LONGEST_MESSAGE = 1024;

export function eventAbout(about: KubeObject, content: EventContent, component: string, at: number): KubeObject {
  const { apiVersion, kind, metadata } = about;
  const { name, namespace } = nameOf(about);
  const time = secondTime(at);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { generateName: `${name}.`, namespace },
    involvedObject: { apiVersion, kind, namespace, name, uid: metadata?.uid },
    ...{ ...content, message: content.message.slice(0, LONGEST_MESSAGE) },
    ...{ count: 1, firstTimestamp: time, lastTimestamp: time, source: { component } },
  } as KubeObject;
}
