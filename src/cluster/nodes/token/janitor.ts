/** What becomes of a pool's Secrets once nothing refers to them. */
import { annotation } from "../names.js";
import type { Secret } from "../objects.js";
import { expiring } from "./rotation.js";
import { readPath } from "./token-secret.js";

/** The pool a Secret says it belongs to, as it is now. */
export type Belonging =
  | { readonly state: "no pool" }
  | { readonly state: "no cluster" }
  /** The names its Secrets have now; undefined while they cannot be worked out: then nothing is touched. */
  | { readonly state: "current"; readonly names: { readonly token: string; readonly userData: string } | undefined };

export type Verdict =
  | { readonly action: "keep" }
  | { readonly action: "expire"; readonly secret: Secret }
  | { readonly action: "delete"; readonly resourceVersion: string | undefined };

/** Whether the janitor looks at it at all. */
export function isPoolSecret(secret: Secret): boolean {
  const name = secret.metadata?.name ?? "";
  const pool = readPath(secret.metadata?.annotations?.[annotation.nodePool]);
  return pool !== undefined && (name.startsWith("token") || name.startsWith("user-data"));
}

export function janitorVerdict(secret: Secret, belonging: Belonging, now: number): Verdict {
  if (!isPoolSecret(secret)) return { action: "keep" };
  const name = secret.metadata?.name ?? "";
  const remove: Verdict = { action: "delete", resourceVersion: secret.metadata?.resourceVersion };
  if (belonging.state === "no pool") return remove;
  if (belonging.state === "current") {
    const { names } = belonging;
    if (names === undefined || name === names.token || name === names.userData) return { action: "keep" };
  }
  if (!name.startsWith("token")) return remove;
  const secretWithEnd = expiring(secret, now);
  return secretWithEnd === undefined ? { action: "keep" } : { action: "expire", secret: secretWithEnd };
}
