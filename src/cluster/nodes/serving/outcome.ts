/** What the server tells a pool's controller about a payload, in the token Secret itself. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { encoded, type Secret } from "../objects.js";
import { pack } from "../token/config-text.js";
import { LONGEST_MESSAGE, readTokenSecret, sizeProblem } from "../token/token-secret.js";

export interface Outcome {
  readonly reason: string;
  readonly message: string;
}

/** With the payload itself where nodes are upgraded in place; undefined when the Secret says all that already. */
export function withPayload(secret: Secret, text: string): Secret | undefined {
  const { payload: _, ...data } = secret.data ?? {};
  const fine = written(data, { reason: "AsExpected", message: "Payload generated successfully" });
  if (readTokenSecret(secret).upgradeType !== "InPlace") return ifChanged(secret, fine);
  const whole = { ...fine, payload: encoded(pack(text)) };
  const problem = sizeProblem(whole);
  if (problem === undefined) return ifChanged(secret, whole);
  const message = `the payload is served, but upgrades in place need it in this Secret, too, and it ${problem}; make the pool's configuration smaller`;
  return ifChanged(secret, written(data, { reason: "PayloadTooLarge", message }));
}

/** Undefined when that is already known: a failure that repeats must not keep the API server busy. */
export function withFailure(secret: Secret, reason: unknown): Secret | undefined {
  return ifChanged(secret, written(secret.data ?? {}, failureOf(reason)));
}

function failureOf(reason: unknown): Outcome {
  const why = messageOf(reason);
  const undecoded = reason instanceof DrawbridgeError && reason.code === "DB_TOKEN_SECRET";
  const message = undecoded ? why : `failed to generate payload: error getting ignition payload: ${why}`;
  return { reason: "InvalidConfig", message };
}

function written(data: Readonly<Record<string, string>>, { reason, message }: Outcome): Record<string, string> {
  return { ...data, reason: encoded(reason), message: encoded(message.slice(0, LONGEST_MESSAGE)) };
}

function ifChanged(secret: Secret, data: Readonly<Record<string, string>>): Secret | undefined {
  const keys = new Set([...Object.keys(data), ...Object.keys(secret.data ?? {})]);
  return [...keys].every((key) => secret.data?.[key] === data[key]) ? undefined : { ...secret, data };
}
