/** Notes on token Secrets what machines did: that one came, and, as events, how it fared. */
import type { Served, Turned } from "../../ignition/server/fetches.js";
import { change } from "../../kube/change.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { eventAbout, type Happening } from "../event.js";
import { annotation, tokenSecretName } from "../names.js";
import type { Secret } from "../objects.js";
import { readPath, readTokenSecret } from "../token/token-secret.js";

type Claimed = Served["claimed"];

/** The Secret that a machine's headers name; a forged pool of the same name elsewhere is none of ours. */
export function claimedSecret({ pool, targetConfigVersion }: Claimed): string | undefined {
  const path = readPath(pool);
  return path === undefined || !targetConfigVersion ? undefined : tokenSecretName(path.name, targetConfigVersion);
}

export function namesItsSecret({ claimed, pool, secret }: Served): boolean {
  return claimed.pool === pool && claimedSecret(claimed) === secret;
}

const ATTEMPTS = 5;

/** Once is enough; resolves to whether it wrote. */
export async function markReached(api: KubeApi, path: string): Promise<boolean> {
  const changed = await change<Secret>(api, path, ATTEMPTS, (secret) => {
    if (readTokenSecret(secret).reached) return undefined;
    const annotations = { ...secret.metadata?.annotations, [annotation.ignitionReached]: "True" };
    return { ...secret, metadata: { ...secret.metadata, annotations } };
  });
  return changed?.isWritten ?? false;
}

const EVENT_EVERY_MS = 60_000;

/** Events about Secrets that exist, and of each kind one a minute: strangers choose the headers. */
export class FetchEvents {
  readonly #namespace: string;
  readonly #last = new Map<string, number>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  served({ at, secret }: Served, uid: string): KubeObject | undefined {
    return this.#event(at, secret, uid, { type: "Normal", reason: "GetPayload", message: "" });
  }

  turnedAway({ at, why }: Turned, secret: string, uid: string): KubeObject | undefined {
    return this.#event(at, secret, uid, { type: "Warning", reason: "GetPayloadFailed", message: why });
  }

  #event(at: number, name: string, uid: string, what: Happening) {
    const key = `${name} ${what.reason} ${what.message}`;
    if (at - (this.#last.get(key) ?? Number.NEGATIVE_INFINITY) < EVENT_EVERY_MS) return undefined;
    this.#last.set(key, at);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace: this.#namespace, name, uid } };
    return eventAbout(secret, what, "ignition-server", at);
  }
}
