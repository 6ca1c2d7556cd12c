/** Certificates of one listener, put into service again whenever their files change; open streams keep theirs. */
import { DEFAULT_CIPHERS, type SecureContextOptions } from "node:tls";
import { certificatesRefused, certificatesReloaded, certificatesUsable } from "../events/channels.js";
import type { UnusedFiles } from "../events/facts.js";
import { CertificateFiles } from "../pki/certificate-set.js";
import { unusedFilesOf } from "../pki/unused-files.js";
import type { TlsFiles, TlsPolicy } from "./config.js";

/** Node's own list with AES-128 first, as Go's server prefers it: no weaker here, and cheaper. */
const FAVOURITE = "TLS_AES_128_GCM_SHA256";
const CIPHERS = [FAVOURITE, ...DEFAULT_CIPHERS.split(":").filter((name) => name !== FAVOURITE)].join(":");

export class WatchedCertificates extends CertificateFiles {
  /** The listener that uses them. */
  readonly use: string;
  readonly files: TlsFiles;
  readonly #policy: TlsPolicy;
  /** Puts new files into service. */
  apply: (context: SecureContextOptions) => void = () => {};

  constructor(source: object, use: string, files: TlsFiles, policy: TlsPolicy) {
    const paths = { certFile: files.certFile, keyFile: files.keyFile, caFile: files.clientCaFile };
    const names = Object.values(paths).filter((name) => name !== "");
    super(paths, {
      onChange: () => {
        this.apply(this.context);
        certificatesReloaded.publish({ source, listener: use, files: names });
      },
      onProblem: (error) =>
        certificatesRefused.publish({ source, listener: use, files: names, error: error.message, code: error.code }),
      onRecovery: () => certificatesUsable.publish({ source, listener: use, files: names }),
    });
    this.use = use;
    this.files = files;
    this.#policy = policy;
  }

  get unused(): readonly UnusedFiles[] {
    const { certFile, keyFile, clientCaFile } = this.files;
    return unusedFilesOf(this.use, [certFile, keyFile, clientCaFile], this.problem);
  }

  get context(): SecureContextOptions {
    const { minVersion, cipherSuites } = this.#policy;
    return {
      ...this.current,
      minVersion,
      ciphers: cipherSuites.length === 0 ? CIPHERS : cipherSuites.join(":"),
    };
  }
}
