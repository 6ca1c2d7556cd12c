/** Which machines are expected to join, and which were seen fetching their configuration. */

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { errorOf, messageOf, wrapErrors } from "../../../base/errors/error.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { type ConfigMap, parseTime } from "../objects.js";
import { fieldsOf, itemsOf, readYaml, splitDocuments, textsOf } from "../yaml.js";
import { isNodeName, type Networks, plainAddress } from "./names.js";

export interface ExpectedWorker {
  readonly name: string;
  /** `namespace/name`. */
  readonly pool: string;
  /** DNS names beside its own. */
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  /** Where its addresses may be if `ips` is empty, beside the networks of all nodes. */
  readonly networks?: Networks;
  readonly notBefore: number;
  /** No first certificate after it. */
  readonly deadline: number;
  /** Whether it is a Worker and no entry that somebody wrote. */
  readonly isObject?: true;
  /** A node that somebody else approved. */
  readonly joined: boolean;
  /** What was approved or asked for until then does not count any more: the machine was installed again. */
  readonly reinstalled?: number;
}

export interface ExpectedPool {
  /** Most nodes; undefined: as many as there are workers. */
  readonly replicas: number | undefined;
  readonly workers: number;
}

/** A machine that got its configuration; without `worker` it could be any of the pool. */
export interface Claim {
  readonly pool: string;
  readonly worker?: string;
  readonly at: number;
  /** Of the configuration that it got. */
  readonly hash?: string;
}

export interface Inventory {
  readonly workers: ReadonlyMap<string, ExpectedWorker>;
  readonly pools: ReadonlyMap<string, ExpectedPool>;
  readonly claims: readonly Claim[];
  /** Why it is what was last read, and not what is there now; undefined when it is. */
  readonly outdated?: string;
}

const DEFAULT_WINDOW_MS = 2 * 60 * 60_000;
const DOCUMENT_KEYS = ["pool", "replicas", "workers", "claims"];
const WORKER_KEYS = ["name", "dnsNames", "ips", "notBefore", "deadline", "joined"];

interface InventoryText {
  readonly where: string;
  readonly text: string;
}

/** `where`: `/etc/inventory/a.yaml`, `ConfigMap ns/a key b`. Throws for the first mistake: half an inventory would approve some of the wrong machines. */
export function readInventory(texts: readonly InventoryText[]): Inventory {
  const workers = new Map<string, ExpectedWorker>();
  const pools = new Map<string, ExpectedPool>();
  const claims: Claim[] = [];
  for (const { where, text } of texts) {
    for (const document of splitDocuments(text)) {
      wrapErrors("DB_CSR_INVENTORY", `${where} cannot be used`, () => {
        const { pool, replicas, found, seen } = readDocument(document);
        for (const worker of found) {
          if (workers.has(worker.name)) throw new Error(`worker ${worker.name} is listed twice`);
          workers.set(worker.name, worker);
        }
        const before = pools.get(pool);
        pools.set(pool, {
          replicas: smaller(before?.replicas, replicas),
          workers: (before?.workers ?? 0) + found.length,
        });
        claims.push(...seen);
      });
    }
  }
  return { workers, pools, claims };
}

function readDocument(text: string) {
  const document = fieldsOf(readYaml(text), "the document", DOCUMENT_KEYS);
  const pool = document.pool;
  if (typeof pool !== "string" || !/^[^/\s]+\/[^/\s]+$/.test(pool)) throw new Error("pool must be namespace/name");
  const { replicas } = document;
  if (replicas !== undefined && !(Number.isInteger(replicas) && (replicas as number) >= 0)) {
    throw new Error("replicas must be a whole number");
  }
  return {
    pool,
    replicas: replicas as number | undefined,
    found: itemsOf(document.workers, "workers").map((entry) => readWorker(entry, pool)),
    seen: itemsOf(document.claims, "claims").map((entry) => readClaim(entry, pool)),
  };
}

function readWorker(entry: unknown, pool: string): ExpectedWorker {
  const worker = fieldsOf(entry, "a worker", WORKER_KEYS);
  const { name } = worker;
  if (typeof name !== "string" || !isNodeName(name))
    throw new Error(`worker ${JSON.stringify(name)} is not a node name`);
  const of = `of worker ${name}`;
  const notBefore = readTime(worker.notBefore, `notBefore ${of}`);
  if (notBefore === undefined) throw new Error(`notBefore ${of} is missing: when will it first be switched on?`);
  const deadline = readTime(worker.deadline, `deadline ${of}`) ?? notBefore + DEFAULT_WINDOW_MS;
  if (deadline <= notBefore) throw new Error(`deadline ${of} is not after notBefore`);
  const { joined = false } = worker;
  if (typeof joined !== "boolean") throw new Error(`joined ${of} must be true or false`);
  const dnsNames = textsOf(worker.dnsNames, `dnsNames ${of}`);
  const wrongName = dnsNames.find((dnsName) => !isNodeName(dnsName));
  if (wrongName !== undefined) throw new Error(`dnsNames ${of}: "${wrongName}" is not a plain DNS name`);
  const ips = textsOf(worker.ips, `ips ${of}`).map((text) => {
    const address = plainAddress(text);
    if (address === undefined) throw new Error(`ips ${of}: "${text}" is not an address`);
    return address;
  });
  return { name, pool, dnsNames, ips, notBefore, deadline, joined };
}

function readClaim(entry: unknown, pool: string): Claim {
  const { worker, at, hash } = fieldsOf(entry, "a claim", ["worker", "at", "hash"]);
  const time = readTime(at, "the time of a claim");
  if (time === undefined) throw new Error("a claim has no time (at)");
  if (worker !== undefined && typeof worker !== "string") throw new Error("the worker of a claim must be a name");
  if (hash !== undefined && typeof hash !== "string") throw new Error("the hash of a claim must be a text");
  return { pool, at: time, ...(worker === undefined ? {} : { worker }), ...(hash === undefined ? {} : { hash }) };
}

function readTime(value: unknown, what: string): number | undefined {
  if (value === undefined) return undefined;
  const time = typeof value === "string" ? parseTime(value) : undefined;
  if (time === undefined) throw new Error(`${what} must be a time such as 2031-01-02T03:04:05Z`);
  return time;
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** Reads the whole inventory as it is now; fails rather than leaving out what is broken. */
export type InventorySource = () => Promise<Inventory>;

export const INVENTORY_LABEL = "drawbridge/inventory";

const inventoryError = errorOf("DB_CSR_INVENTORY");

/** Rejects unless the directory is there. */
export async function requireInventory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory()) return;
  const what = found === undefined ? `there is no directory ${directory}` : `${directory} is not a directory`;
  throw inventoryError(`${what}: make it, or leave --inventory out to go by the Workers of the namespace`);
}

/**
 * Reads every file ending in yaml, yml or json, except hidden files and those that editors leave behind. While the directory
 * cannot be read, what was last read of it counts.
 */
export function directoryInventory(directory: string): InventorySource {
  let last: Inventory | undefined;
  return async () => {
    let names: string[];
    try {
      names = await wrapErrors("DB_CSR_INVENTORY", "the inventory cannot be read", () => readdir(directory));
    } catch (reason) {
      if (last === undefined) throw reason;
      return { ...last, outdated: `${messageOf(reason)}; who was expected before still is, and nobody else` };
    }
    const paths = names.filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name)).sort();
    const texts = await wrapErrors("DB_CSR_INVENTORY", "the inventory cannot be read", () =>
      Promise.all(
        paths.map(async (name) => {
          const where = join(directory, name);
          return { where, text: await readFile(where, "utf8") };
        }),
      ),
    );
    last = readInventory(texts);
    return last;
  };
}

/** Every key of every ConfigMap labelled `drawbridge/inventory=true`. */
export function configMapInventory(api: KubeApi, namespace: string): InventorySource {
  const path = collectionPath("ConfigMap", namespace);
  let last: { readonly texts: readonly InventoryText[]; readonly inventory: Inventory } | undefined;
  return async () => {
    const { items } = await api.list<ConfigMap>(path, { labelSelector: `${INVENTORY_LABEL}=true` });
    const texts = items.flatMap(({ data = {}, metadata }) =>
      Object.entries(data).map(([key, text]) => ({
        where: `ConfigMap ${namespace}/${metadata?.name} key ${key}`,
        text,
      })),
    );
    // An approver asks after each change of anything, and thousands of claims take long to read.
    if (!isDeepStrictEqual(last?.texts, texts)) last = { texts, inventory: readInventory(texts) };
    return last!.inventory;
  };
}

/** The Workers of the cluster and, for names that none of them has, what people wrote into the second. */
export function withEntriesOf(workers: InventorySource, written: InventorySource): InventorySource {
  return async () => {
    const [own, other] = await Promise.all([workers(), written()]);
    const pools = new Map(other.pools);
    for (const [pool, { workers: count }] of own.pools) {
      const before = pools.get(pool);
      pools.set(pool, { replicas: before?.replicas, workers: (before?.workers ?? 0) + count });
    }
    return {
      workers: new Map([...other.workers, ...own.workers]),
      pools,
      claims: [...own.claims, ...other.claims],
    };
  };
}

/** Workers of the first alone, claims of both: an Ignition server writes down in its cluster whom it has served. */
export function withClaimsOf(own: InventorySource, server: InventorySource): InventorySource {
  return async () => {
    const [inventory, { claims }] = await Promise.all([own(), server()]);
    return { ...inventory, claims: [...inventory.claims, ...claims] };
  };
}
