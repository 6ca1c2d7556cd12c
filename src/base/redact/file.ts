/** Takes out of a file what must not leave the host. What cannot be judged is left out, and said. */
import { gzipSync } from "node:zlib";
import { asText, fromText, unpacked } from "./encoded.js";
import { redact } from "./redact.js";
import { withoutYamlSecrets } from "./yaml-structure.js";

export type Redacted =
  | { readonly state: "kept"; readonly content: Buffer; readonly changed: boolean }
  | { readonly state: "left-out"; readonly why: string };

/** The names that the installer's gather leaves out too, and those of files that are credentials as a whole. */
const SECRET_FILE =
  /secret|kubeconfig|\.key$|token|passw|htpasswd|credential|^id_(?:rsa|dsa|ed25519|ecdsa)|\.p12$|\.pfx$|\.jks$|\.ppk$|^\.netrc$|^\.pgpass$/i;

/** Expressions run out of stack on lines of some ten million characters; no log has any near this. */
const LONGEST_LINE = 1024 * 1024;

export function redactFile(path: string, content: Buffer): Redacted {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  if (SECRET_FILE.test(name) || parts.includes(".kube")) {
    return { state: "left-out", why: "its name is one that secrets have" };
  }
  const isPacked = content[0] === 0x1f && content[1] === 0x8b;
  const plain = isPacked ? unpacked(content) : content;
  if (plain === undefined) return { state: "left-out", why: "it cannot be unpacked" };
  if (plain.length === 0) return { state: "kept", content, changed: false };
  const form = asText(plain) ?? asLatin(plain);
  if (form === undefined) return { state: "left-out", why: "it is not text" };
  if (form.text.split("\n").some((line) => line.length > LONGEST_LINE)) {
    return { state: "left-out", why: "a line in it is too long to be searched" };
  }
  const clean = redact(form.text, [withoutYamlSecrets]);
  if (clean === form.text) return { state: "kept", content, changed: false };
  const bytes = fromText({ ...form, text: clean });
  return { state: "kept", content: isPacked ? gzipSync(bytes) : bytes, changed: true };
}

function asLatin(bytes: Buffer) {
  // Logs of old programs; zeros and other control characters are in no text.
  return bytes.includes(0) ? undefined : asText(Buffer.from(bytes.toString("latin1")));
}
