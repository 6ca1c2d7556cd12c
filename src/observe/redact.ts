/** Takes out what must not stand in a log, wherever it came from. */

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g;
const BEARER = /\b(Bearer)\s+[^\s"',;]+/gi;
/** A JSON Web Token: three base64url parts, the first one beginning with `{"`. */
const WEB_TOKEN = /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g;

export function redact(text: string): string {
  return text
    .replace(PRIVATE_KEY, "[private key removed]")
    .replace(BEARER, "$1 [token removed]")
    .replace(WEB_TOKEN, "[token removed]");
}

/** Names under which nobody keeps anything but a secret. */
const SECRET_NAME = /^(authorization|password|secret|token|bearer|.*privatekey.*|key|keypem)$/i;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/[-_]/g, ""));
}
