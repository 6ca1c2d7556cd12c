/** User data: the pointer config that a machine gets at first boot, with the address of its configuration and its token. */

import { randomUUID } from "node:crypto";
import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { requireConfig } from "../../ignition/parse.js";
import { kubeManifest } from "../../kube/builders.js";
import { againOnConflict, createOrUpdate, find } from "../../kube/objects.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { type EffectiveProxy, goJson, omitEmpty } from "../hash/pool-hash.js";
import {
  annotation,
  controlPlaneNamespace,
  encoded,
  type ObjectName,
  pathOf,
  type Secret,
  secretText,
  userDataSecretName,
  withData,
} from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { ownTokenText, readOwnToken, WORKER_TOKENS_ANNOTATION } from "../serving/worker-tokens.js";
import { poolOfWorker, type Worker } from "../workers/worker.js";
import { usableToken } from "./token-secret.js";

/** `ignitionEndpoint` is `host` or `host:port`, as published. */
type UserDataContent = Readonly<Record<"hash" | "token" | "ignitionEndpoint" | "ignitionCaPem", string>> & {
  readonly pool: ObjectName;
  readonly proxy?: EffectiveProxy | undefined;
};

/** The pointer config. Members in HyperShift's order. */
export function pointerConfig(content: UserDataContent): string {
  const { pool, hash, token, ignitionEndpoint, ignitionCaPem, proxy } = content;
  return goJson({
    ignition: {
      config: {
        merge: [
          {
            httpHeaders: [
              { name: "Authorization", value: `Bearer ${encoded(usableToken(token))}` },
              { name: "NodePool", value: pathOf(pool) },
              { name: "TargetConfigVersionHash", value: hash },
            ],
            source: `https://${ignitionEndpoint}/ignition`,
          },
        ],
      },
      proxy: proxy && {
        httpProxy: proxy.httpProxy,
        httpsProxy: proxy.httpsProxy,
        noProxy: omitEmpty(proxy.noProxy),
      },
      security: {
        tls: { certificateAuthorities: [{ source: `data:text/plain;base64,${encoded(ignitionCaPem)}` }] },
      },
      version: "3.2.0",
    },
  });
}

export function makeUserDataSecret(namespace: string, content: UserDataContent): Secret {
  const name = userDataSecretName(content.pool.name, content.hash);
  const metadata = { name, namespace, annotations: { [annotation.nodePool]: pathOf(content.pool) } };
  // The first is encoded twice: machine controllers decode it once more.
  const data = { disableTemplating: encoded(encoded("true")), value: encoded(pointerConfig(content)) };
  return kubeManifest("Secret", metadata, { type: "Opaque", immutable: false, data });
}

/** The Secret with the wanted pointer config; undefined when it has that already. */
export function refreshUserDataSecret(secret: Secret, content: UserDataContent): Secret | undefined {
  return withData(secret, { ...secret.data, ...makeUserDataSecret("", content).data });
}

/** The pointer config to hand to a machine, as it is. */
export function readUserData(secret: Secret): string {
  const value = secretText(secret, "value");
  if (!value) {
    const { namespace, name } = secret.metadata ?? {};
    throw new DrawbridgeError(
      "DB_TOKEN_SECRET",
      `the Secret ${namespace}/${name} has no user data under the key value`,
    );
  }
  return value;
}

export type PoolUserData = Awaited<ReturnType<typeof poolUserData>>;

/**
 * The pool's hash, the pointer config as it is given to machines, and whether our own controller manages the pool, so that our
 * own Ignition server serves its configuration.
 */
export async function poolUserData(api: KubeApi, pool: ObjectName) {
  const { hash, object } = await poolHash(api, pool);
  if (hash === "") {
    throw new UserDataMissing(
      "DB_WORKERS",
      `pool ${pathOf(pool)} has no configuration yet; drawbridge nodepool status ${pool.name} says why`,
    );
  }
  const name = userDataSecretName(pool.name, hash);
  // HyperShift keeps it beside the control plane, our controller beside the pool.
  const cluster = { namespace: pool.namespace, name: object.spec?.clusterName ?? "" };
  for (const namespace of [pool.namespace, controlPlaneNamespace(cluster)]) {
    const secret = await find<Secret>(api, namedPath("Secret", { namespace, name }));
    if (secret !== undefined) return { hash, object, text: readUserData(secret), isOurs: namespace === pool.namespace };
  }
  throw new UserDataMissing("DB_WORKERS", `pool ${pathOf(pool)} has no user data yet: the Secret ${name} is missing`);
}

/** Empty while the pool has none. */
export async function poolHash(api: KubeApi, pool: ObjectName): Promise<{ hash: string; object: NodePool }> {
  const object = await find<NodePool>(api, namedPath("NodePool", pool));
  if (object === undefined) throw new PoolMissing("DB_WORKERS", `there is no pool ${pathOf(pool)}`);
  return { hash: object.metadata?.annotations?.[annotation.currentConfigVersion] ?? "", object };
}

export class PoolMissing extends DrawbridgeError {}

/** The pool's controller will make it, if it can. */
export class UserDataMissing extends DrawbridgeError {}

/** How a worker's user data is made, as its record has it. */
type WorkerSettings = Pick<Worker, "name" | "setHostname" | "ignitionAddress">;

interface Source {
  readonly source: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

interface Pointer {
  readonly ignition: { readonly config: { readonly merge: readonly Source[] } };
  readonly storage?: { readonly files?: readonly { readonly path: string }[] };
}

/** A pool's user data for one worker: with its host name, its own token if any, and another address of the Ignition server. */
export function workerUserData(
  poolText: string,
  { ignitionAddress = "", name, setHostname = true }: WorkerSettings,
  token?: string,
): string {
  // A config that a machine would refuse is refused here, whatever made it.
  requireConfig(poolText, "the pool's user data");
  const config = JSON.parse(poolText) as Pointer;
  const text = JSON.stringify({
    ...config,
    ignition: {
      ...config.ignition,
      config: {
        ...config.ignition.config,
        merge: (config.ignition.config?.merge ?? []).map((source) => ({
          ...source,
          ...(token === undefined ? {} : { httpHeaders: withToken(source, token) }),
          source: reachedAt(source.source, ignitionAddress),
        })),
      },
    },
    ...(setHostname ? { storage: withHostname(config.storage, name) } : {}),
  });
  requireConfig(text, `the user data of ${name}`);
  return text;
}

/** Port of the Ignition server that user data names. */
export function ignitionPort(poolText: string, ignitionAddress = ""): number {
  const { ignition } = JSON.parse(poolText) as Pointer;
  return Number(new URL(reachedAt(ignition.config.merge[0]?.source ?? "", ignitionAddress)).port || 443);
}

function withToken({ httpHeaders = [] }: Source, token: string) {
  const value = `Bearer ${encoded(usableToken(token))}`;
  const isOther = (header: { readonly name: string }) => header.name.toLowerCase() !== "authorization";
  return [{ name: "Authorization", value }, ...httpHeaders.filter(isOther)];
}

/** All other files of the pool's user data are kept. */
function withHostname(storage: Pointer["storage"], name: string) {
  const path = "/etc/hostname";
  const file = { path, mode: 0o644, overwrite: true, contents: { source: `data:,${name}%0A` } };
  return { ...storage, files: [...(storage?.files ?? []).filter((other) => other.path !== path), file] };
}

function reachedAt(source: string, address: string): string {
  if (address === "") return source;
  const url = new URL(source);
  const [, host = "", port] =
    /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(isIP(address) === 6 ? `[${address}]` : address) ?? [];
  if (isIP(host.replace(/^\[|\]$/g, "")) === 0) {
    throw new DrawbridgeError("DB_WORKERS", `"${address}" is no address such as 10.0.0.1 or 10.0.0.1:443`);
  }
  url.host =
    port === undefined && url.port !== "" ? `${host}:${url.port}` : port === undefined ? host : `${host}:${port}`;
  return url.href;
}

/** A worker's user data with its pool's current configuration and token, with the settings it was made with by default. */
export async function freshUserData(api: KubeApi, worker: Worker, settings: Omit<WorkerSettings, "name"> = {}) {
  const pool = poolOfWorker(worker);
  const tokens = worker.ownToken ? await ensureTokens(api, pool, [worker]) : undefined;
  const { hash, text } = await poolUserData(api, pool);
  return { hash, text: workerUserData(text, { ...worker, ...settings }, tokens?.get(worker.name)) };
}

const ATTEMPTS = 5;

/** The workers' own tokens, by name, from the Secret that our Ignition server reads; they end with the workers' windows. */
export async function ensureTokens(api: KubeApi, pool: ObjectName, workers: readonly TokenHolder[]) {
  const tokenIn = (data: Data, name: string) => readOwnToken(secretText({ data }, name) ?? "").token;
  const secret = await change(api, pool, (data) => {
    const held = workers.map(({ deadline, name }) => {
      const token = tokenIn(data, name) || randomUUID();
      return [name, encoded(ownTokenText(token, deadline))] as const;
    });
    return { ...data, ...Object.fromEntries(held) };
  });
  return new Map(workers.map(({ name }) => [name, tokenIn(secret.data ?? {}, name)]));
}

type TokenHolder = Pick<Worker, "name" | "deadline">;

/** Makes the tokens of these workers invalid. */
export async function revokeTokens(api: KubeApi, pool: ObjectName, names: readonly string[]): Promise<void> {
  await change(api, pool, (data) => Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name))));
}

type Data = Readonly<Record<string, string>>;

/** Somebody else may be making workers of the same pool. */
function change(api: KubeApi, pool: ObjectName, make: (data: Data) => Data): Promise<Secret> {
  const name = { namespace: pool.namespace, name: `worker-tokens-${pool.name}` };
  const annotations = { [WORKER_TOKENS_ANNOTATION]: "true", [annotation.nodePool]: pathOf(pool) };
  const fresh: Secret = { metadata: { ...name, annotations }, type: "Opaque" };
  return againOnConflict(ATTEMPTS, async () => {
    const secret = (await find<Secret>(api, namedPath("Secret", name))) ?? fresh;
    return createOrUpdate(api, "Secret", { ...secret, data: make(secret.data ?? {}) });
  });
}
