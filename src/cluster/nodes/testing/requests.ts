/** Requests and surroundings in which everything is right, for tests to break in one place. */

import { type MadeRequest, makeRequest } from "../../../tunnel/pki/testing/requests.js";
import type { ExpectedWorker, Inventory } from "../csr/inventory.js";
import type { NodeRecord } from "../csr/memory.js";
import { Networks } from "../csr/names.js";
import { type ClusterState, defaultPolicy } from "../csr/request-context.js";
import { CLIENT_SIGNER, type RequestKind, SERVING_SIGNER, type SigningRequest } from "../csr/signing-request.js";
import type { Node } from "../objects.js";
import { startTime } from "./pools.js";

export const pool = "clusters/workers";

export const worker: ExpectedWorker = {
  name: "w0",
  pool,
  dnsNames: ["w0.example"],
  ips: ["10.0.0.10"],
  notBefore: startTime,
  deadline: startTime + 2 * 3_600_000,
  joined: false,
};

export function inventoryOf(workers: readonly ExpectedWorker[], more: Partial<Inventory> = {}): Inventory {
  return {
    workers: new Map(workers.map((one) => [one.name, one])),
    pools: new Map([[pool, { replicas: undefined, workers: workers.length }]]),
    claims: [],
    ...more,
  };
}

export function nodeOf(name: string, ...ips: readonly string[]): Node {
  return {
    metadata: { name },
    status: {
      addresses: [{ type: "Hostname", address: name }, ...ips.map((address) => ({ type: "InternalIP", address }))],
    },
  };
}

export const approvedRecord: NodeRecord = { pool, client: { request: "csr-client", at: startTime + 30_000 } };

/** A minute after the worker may appear; for requests of nodes, the node exists and was approved. */
export function clusterState(kind: RequestKind, change: Partial<ClusterState> = {}): ClusterState {
  return {
    now: startTime + 120_000,
    policy: { ...defaultPolicy, foreignNetworks: new Networks(["10.96.0.0/16"]) },
    inventory: inventoryOf([worker]),
    memory: kind === "client" ? new Map() : new Map([["w0", approvedRecord]]),
    nodes: kind === "client" ? new Map() : new Map([["w0", nodeOf("w0", "10.0.0.10")]]),
    apiServer: new Set(),
    recentPending: 1,
    ...change,
  };
}

export interface RequestChange extends Partial<MadeRequest> {
  readonly name?: string;
  readonly pem?: string;
  readonly spec?: Partial<NonNullable<SigningRequest["spec"]>>;
  readonly status?: SigningRequest["status"];
  readonly createdAt?: number;
}

const nodeGroups = ["system:nodes", "system:authenticated"];

/** As the API server shows what a kubelet filed. */
export async function signingRequest(kind: RequestKind, change: RequestChange = {}): Promise<SigningRequest> {
  const { name = `csr-${kind}`, pem, spec, status, createdAt = startTime + 60_000, ...asked } = change;
  const text =
    pem ??
    (await makeRequest({
      subject: [{ O: ["system:nodes"] }, { CN: ["system:node:w0"] }],
      ...(kind === "serving"
        ? {
            names: [
              { type: "dns", value: "w0" },
              { type: "ip", value: "10.0.0.10" },
            ],
          }
        : {}),
      ...asked,
    }));
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1", creationTimestamp: new Date(createdAt).toISOString() },
    spec: {
      request: Buffer.from(text).toString("base64"),
      signerName: kind === "serving" ? SERVING_SIGNER : CLIENT_SIGNER,
      usages: ["digital signature", kind === "serving" ? "server auth" : "client auth"],
      username: kind === "client" ? defaultPolicy.bootstrapUser : "system:node:w0",
      groups: kind === "client" ? defaultPolicy.bootstrapGroups : nodeGroups,
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}
