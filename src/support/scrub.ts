/** The redaction of gather, and what only a bundle knows: the very secrets it was made with, and texts within texts. */
import { gunzipSync } from "node:zlib";
import { type Redacted, redactFile } from "../bootstrap/gather/redaction.js";

/** Files that are credentials as a whole, and have nothing by which one could tell. */
const credentialFile = /token|passw|htpasswd|credential|^id_(rsa|ed25519|ecdsa)|\.p12$|\.pfx$/i;
/** A member whose value stands in the lines below it. */
const blockSecret =
  /^[ \t]*(?:- )*["']?[\w-]{0,64}(?:password|passwd|secret|token|private[-_]?key|key-data|credential|api[-_]?key)["']?[ \t]*:[ \t]*[|>][-+\d]*[ \t]*$/im;
const encodedRun = /[A-Za-z0-9+/]{40,}={0,2}/g;
const mostUnpacked = 1024 * 1024;

export class Scrubber {
  readonly #known: readonly string[];

  /** `known`: secrets that were read to make the bundle. */
  constructor(known: readonly string[]) {
    const plain = known.map((text) => text.trim()).filter((text) => text.length >= 4);
    const variants = plain.flatMap((text) => [
      text,
      encodeURIComponent(text),
      Buffer.from(text).toString("base64"),
      Buffer.from(text).toString("base64url"),
    ]);
    this.#known = [...new Set(variants)].sort((one, other) => other.length - one.length);
  }

  scrub(path: string, content: Buffer): Redacted {
    if (credentialFile.test(path.split("/").at(-1) ?? "")) {
      return { state: "left-out", why: "its name is one that credentials have" };
    }
    const redacted = redactFile(path, content);
    if (redacted.state === "left-out") return redacted;
    const original = content.toString("utf8");
    const text = redacted.content.toString("utf8");
    if (blockSecret.test(text)) return { state: "left-out", why: "a secret of several lines is in it" };
    const clean = this.text(text.replace(encodedRun, (run) => (hidesSecret(run) ? "[removed]" : run)));
    return { state: "kept", content: Buffer.from(clean), changed: clean !== original };
  }

  /** Without the known secrets only. */
  text(text: string): string {
    return this.#known.reduce((rest, secret) => rest.replaceAll(secret, "[removed]"), text);
  }
}

/** Ignition configs carry kubeconfigs and pull secrets as base64, packed or not. */
function hidesSecret(run: string): boolean {
  const decoded = unpacked(Buffer.from(run, "base64"));
  if (decoded === undefined || !isText(decoded)) return false;
  const redacted = redactFile("inner.txt", decoded);
  return redacted.state === "left-out" || redacted.changed;
}

function unpacked(bytes: Buffer): Buffer | undefined {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: mostUnpacked });
  } catch {
    return undefined;
  }
}

function isText(bytes: Buffer): boolean {
  return bytes.length > 0 && !bytes.includes(0) && !bytes.toString("utf8").includes("\ufffd");
}
