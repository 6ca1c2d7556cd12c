import { isRecord } from "./at.js";

/** What a JSON Web Token says of itself; undefined for anything else. Its signature is the API server's to judge. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload = "", signature, ...more] = token.split(".");
  if (signature === undefined || more.length > 0) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return isRecord(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}
