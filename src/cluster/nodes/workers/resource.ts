/** The Worker resource: one object for each machine that was made, or is to be made, for a pool. Its name is the node's. */
import { kubeManifest } from "../../kube/builders.js";
import { apiVersionOf } from "../../kube/paths.js";
import type { KubeObject } from "../../kube/port.js";
import { OWNER_LABEL, OWNER_NAME } from "../controller/hypershift.js";
import type { NodeRecord } from "../csr/memory.js";
import type { Metadata } from "../objects.js";
import type { Schema } from "../pool/schema.js";
import { FORMER_NONE, PROVIDERS } from "../providers/index.js";
import { eachSetting } from "../providers/settings.js";
import type { HostSettings, Worker } from "./worker.js";

const [GROUP = "", VERSION = ""] = apiVersionOf("Worker").split("/");

/** The API group of the resource. */
export const WORKER_GROUP = GROUP;
export const WORKERS_CRD_NAME = `workers.${GROUP}`;

/** Written by the `workers` commands. Times are RFC 3339. */
export interface WorkerSpec extends Partial<Omit<Worker, "name" | "pool" | "served" | "readyAt" | keyof HostSettings>> {
  readonly pool: string;
  /** Since when it is gone; the object stays, so that its name is not given to another machine. */
  readonly removed?: string;
}

interface StoredApproval {
  readonly request: string;
  readonly at: string;
}

/** Written by the approver. */
export interface WorkerObjectStatus {
  readonly conditions?: readonly object[];
  readonly served?: { readonly hash: string; readonly at: string };
  readonly client?: StoredApproval;
  readonly renewal?: StoredApproval;
  readonly serving?: StoredApproval & { readonly names: readonly string[] };
  readonly held?: readonly {
    readonly names: readonly string[];
    readonly request?: string;
    readonly until?: string;
    readonly lost?: true;
  }[];
  readonly joinedAt?: string;
  readonly readyAt?: string;
  readonly goneSince?: string;
  /** `spec.reinstalled`, for which all of this is said. */
  readonly installation?: string;
}

export interface WorkerObject extends KubeObject {
  readonly metadata?: Metadata;
  readonly spec?: WorkerSpec;
  readonly status?: WorkerObjectStatus;
}

const time = (at: number): string => new Date(at).toISOString();

/** What an approver remembers of a worker; undefined when it has seen nothing of it. */
export function recordOf({ spec, status }: WorkerObject): NodeRecord | undefined {
  if (status === undefined || spec === undefined) return undefined;
  const { client, goneSince, held, installation, joinedAt, readyAt, renewal, served, serving } = status;
  const approval = <T extends StoredApproval>(given: T) => ({ ...given, at: Date.parse(given.at) });
  return {
    pool: spec.pool,
    ...(client && { client: approval(client) }),
    ...(renewal && { renewal: approval(renewal) }),
    ...(serving && { serving: approval(serving) }),
    ...(held && { held: held.map(({ until, ...one }) => ({ ...one, until: until ? Date.parse(until) : 0 })) }),
    ...(joinedAt && { joinedAt: Date.parse(joinedAt) }),
    ...(readyAt && { readyAt: Date.parse(readyAt) }),
    ...(goneSince && { goneSince: Date.parse(goneSince) }),
    ...(installation && { installation: Date.parse(installation) }),
    ...(served && { served: { ...served, at: Date.parse(served.at) } }),
  };
}

/** The status that says the same. */
export function statusOf(record: NodeRecord): WorkerObjectStatus {
  const { client, goneSince, held, installation, joinedAt, readyAt, renewal, served, serving } = record;
  const approval = <T extends { readonly at: number }>(given: T) => ({ ...given, at: time(given.at) });
  return {
    conditions: conditionsOf(record),
    ...(client && { client: approval(client) }),
    ...(renewal && { renewal: approval(renewal) }),
    ...(serving && { serving: approval(serving) }),
    ...(held && { held: held.map(({ until, ...one }) => ({ ...one, ...(until > 0 && { until: time(until) }) })) }),
    ...(joinedAt && { joinedAt: time(joinedAt) }),
    ...(readyAt && { readyAt: time(readyAt) }),
    ...(goneSince && { goneSince: time(goneSince) }),
    ...(installation && { installation: time(installation) }),
    ...(served && { served: approval(served) }),
  };
}

/** Each becomes True once, at the moment that it names, and stays so until the worker is installed again. */
function conditionsOf({ client, joinedAt, served }: NodeRecord) {
  const condition = (type: string, at: number | undefined, reason: string, message: string) =>
    at === undefined
      ? []
      : [{ type, status: "True", reason, message, lastTransitionTime: `${time(at).slice(0, 19)}Z` }];
  return [
    ...condition("Fetched", served?.at, "Served", `the Ignition server sent it configuration ${served?.hash}`),
    ...condition("Approved", client?.at, "Approved", `${client?.request} was approved`),
    ...condition("Joined", joinedAt, "NodeSeen", "its Node was there"),
  ];
}

const text: Schema = { type: "string", maxLength: 1024 };
const dateTime: Schema = { type: "string", format: "date-time" };
const flag: Schema = { type: "boolean" };
const list = (items: Schema, maxItems: number): Schema => ({ type: "array", items, maxItems });
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  ...{ type: "object", properties },
  ...(required.length === 0 ? {} : { required }),
});
const approval = { request: text, at: dateTime };

const spec: Schema = {
  ...object(
    {
      pool: { ...text, pattern: "^[^/\\s]+/[^/\\s]+$", description: "namespace/name of the worker's NodePool" },
      provider: { ...text, enum: [...PROVIDERS, FORMER_NONE] },
      zone: text,
      shape: { ...object(eachSetting(() => text)), description: "settings of its machine, for its provider" },
      hash: { ...text, description: "the hash of the configuration for which its user data was made" },
      notBefore: { ...dateTime, description: "from then on its first certificate may be asked for" },
      deadline: { ...dateTime, description: "until then" },
      ips: { ...list(text, 64), description: "the addresses for its serving certificates" },
      dnsNames: { ...list({ ...text, maxLength: 253 }, 64), description: "DNS names beside its own for them" },
      networks: { ...list(text, 64), description: "networks in which its addresses are, where ips lists none" },
      joined: { ...flag, description: "a node that was there before: its first certificate is not expected any more" },
      reinstalled: { ...dateTime, description: "what was approved before counts no more: one new first certificate" },
      removed: { ...dateTime, description: "it is gone since then, and its name is not given to another machine" },
      ownToken: { ...flag, description: "whether it has a token of its own, in a Secret beside the pool" },
      made: { ...flag, description: "whether its machine was made" },
      removedByCommand: { ...flag, description: "whether a command of whoever made it removes its machine" },
      hasCreateArguments: { ...flag, description: "whether it was made with arguments of whoever made it" },
      setHostname: flag,
      ignitionAddress: text,
      leaving: { ...text, enum: ["removed", "replaced"] },
      replaces: { ...text, maxLength: 253 },
    },
    ["pool"],
  ),
  "x-kubernetes-validations": [
    { rule: "self.pool == oldSelf.pool", message: "the pool of a worker cannot be changed: make another worker" },
    {
      rule: "!has(self.deadline) || (has(self.notBefore) && self.deadline > self.notBefore)",
      message: "deadline must be after notBefore",
    },
  ],
};

const status: Schema = object({
  conditions: {
    ...list(
      object({ type: text, status: text, reason: text, message: text, lastTransitionTime: dateTime }, [
        "type",
        "status",
      ]),
      16,
    ),
    ...{ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
  },
  served: object({ hash: text, at: dateTime }, ["hash", "at"]),
  client: object(approval, ["request", "at"]),
  renewal: object(approval, ["request", "at"]),
  serving: object({ ...approval, names: list(text, 256) }, ["request", "at", "names"]),
  held: list(object({ names: list(text, 256), request: text, until: dateTime, lost: flag }, ["names"]), 64),
  ...{ joinedAt: dateTime, readyAt: dateTime, goneSince: dateTime, installation: dateTime },
});

export const workerSchema: Schema = object({ spec, status }, ["spec"]);

const column = (name: string, jsonPath: string, type = "string") => ({ name, type, jsonPath });

/** The field manager of everything that is installed, by whichever command. */
export const INSTALL_MANAGER = "drawbridge-nodepool";

export const workerResource = kubeManifest(
  "CustomResourceDefinition",
  { name: WORKERS_CRD_NAME, labels: { [OWNER_LABEL]: OWNER_NAME } },
  {
    spec: {
      ...{ group: GROUP, scope: "Namespaced" },
      names: { kind: "Worker", listKind: "WorkerList", plural: "workers", singular: "worker" },
      versions: [
        {
          ...{ name: VERSION, served: true, storage: true, subresources: { status: {} } },
          additionalPrinterColumns: [
            column("Pool", ".spec.pool"),
            column("Made", ".spec.made", "boolean"),
            column("Served", ".status.served.hash"),
            column("Joined", ".status.joinedAt", "date"),
            column("Ready", ".status.readyAt", "date"),
            column("Removed", ".spec.removed", "date"),
            { ...column("Deadline", ".spec.deadline"), priority: 1 },
            column("Age", ".metadata.creationTimestamp", "date"),
          ],
          schema: { openAPIV3Schema: workerSchema },
        },
      ],
    },
  },
);
