/** Tokens that stand for one worker each, in the Secret from which our Ignition server reads them. */
import { randomUUID } from "node:crypto";
import { againOnConflict } from "../../kube/change.js";
import { isNotFound } from "../../kube/errors.js";
import type { KubeApi } from "../../kube/port.js";
import { collectionPath, namedPath, typed } from "../controller/paths.js";
import { annotation } from "../names.js";
import { encoded, type ObjectName, pathOf, type Secret, secretText } from "../objects.js";
import { WORKER_TOKENS_ANNOTATION } from "../serving/worker-tokens.js";

const ATTEMPTS = 5;

/** By name; those that have one keep it. */
export async function ensureTokens(
  api: KubeApi,
  pool: ObjectName,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const secret = await change(api, pool, (data) => {
    const missing = names.filter((name) => !data[name]);
    return { ...data, ...Object.fromEntries(missing.map((name) => [name, encoded(randomUUID())])) };
  });
  return new Map(names.map((name) => [name, secretText(secret, name) ?? ""]));
}

/** They open nothing from now on. */
export async function revokeTokens(api: KubeApi, pool: ObjectName, names: readonly string[]): Promise<void> {
  await change(api, pool, (data) => Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name))));
}

type Data = Readonly<Record<string, string>>;

/** Somebody else may be making workers of the same pool. */
function change(api: KubeApi, pool: ObjectName, make: (data: Data) => Data): Promise<Secret> {
  return againOnConflict(ATTEMPTS, () => changeOnce(api, pool, make));
}

async function changeOnce(api: KubeApi, pool: ObjectName, make: (data: Data) => Data): Promise<Secret> {
  const { namespace } = pool;
  const name = `worker-tokens-${pool.name}`;
  const path = namedPath("Secret", { namespace, name });
  try {
    const secret = typed("Secret", await api.get<Secret>(path));
    return await api.update(path, { ...secret, data: make(secret.data ?? {}) });
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
  const annotations = { [WORKER_TOKENS_ANNOTATION]: "true", [annotation.nodePool]: pathOf(pool) };
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, annotations },
    type: "Opaque",
    data: make({}),
  };
  return api.create(collectionPath("Secret", namespace), secret);
}
