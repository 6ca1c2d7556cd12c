/** Whom we believe that it is the proxy: the authorities of this system, and those of one file more. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import { readCertificateSet } from "../../pki/certificate-set.js";
import { certificateBlocks } from "../../pki/pem.js";

/** Where systems keep their bundle, as Go looks for it; the first that is there counts. */
const FILES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** HyperShift mounts a cluster's additional authorities into the second. */
const FOLDERS = ["/etc/ssl/certs", "/etc/pki/tls/certs"];

export class ProxyTrust {
  readonly #bundleFile: string;
  #context: { readonly stamp: string; readonly value: SecureContext } | undefined;

  constructor(bundleFile: string) {
    this.#bundleFile = bundleFile;
  }

  /** Made anew when the bundle was replaced. Throws a DrawbridgeError that names the file when it cannot be used. */
  context(): SecureContext {
    const stamp = this.#stamp();
    if (this.#context?.stamp !== stamp) {
      const { ca } = this.#bundleFile === "" ? {} : readCertificateSet({ caFile: this.#bundleFile });
      // OpenSSL passes over what it cannot read, so one broken file takes no trust away from the others.
      const all = new Set([...rootCertificates, ...systemCertificates(), ...certificateTexts(ca ?? "")]);
      this.#context = { stamp, value: createSecureContext({ ca: [...all], minVersion: "TLSv1.2" }) };
    }
    return this.#context.value;
  }

  #stamp(): string {
    if (this.#bundleFile === "") return "";
    const found = statSync(this.#bundleFile, { throwIfNoEntry: false });
    return found === undefined ? "missing" : `${found.ino} ${found.size} ${found.mtimeMs}`;
  }
}

function systemCertificates(env = process.env): string[] {
  const files = env.SSL_CERT_FILE ? [env.SSL_CERT_FILE] : FILES;
  const folders = env.SSL_CERT_DIR ? env.SSL_CERT_DIR.split(":") : FOLDERS;
  const bundle = files.map(certificatesOf).find((found) => found.length > 0) ?? [];
  const single = folders.flatMap((folder) => namesIn(folder).flatMap((name) => certificatesOf(join(folder, name))));
  return [...bundle, ...single];
}

/** Without the hash links that OpenSSL makes: they lead to the same files. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /\.(pem|crt)$/.test(name));
  } catch {
    return [];
  }
}

function certificatesOf(file: string): string[] {
  try {
    return certificateTexts(readFileSync(file, "utf8"));
  } catch {
    return [];
  }
}

/** Each in the spelling of Node's own, so that what two lists hold counts once. */
function certificateTexts(pem: string): string[] {
  return certificateBlocks(pem).map(({ text }) => text.trimEnd());
}
