/** Certificates of one listener, put into service again whenever their files change; open streams keep theirs. */
import { constants } from "node:crypto";
import { DEFAULT_CIPHERS, type SecureContextOptions } from "node:tls";
import { certificatesRefused, certificatesReloaded } from "../events/channels.js";
import { CertificateFiles, type CertificateSet } from "../pki/certificate-set.js";
import type { TlsFiles, TlsPolicy } from "./config.js";

/** Node's own list with AES-128 first, as Go's server prefers it: no weaker here, and cheaper. */
const FAVOURITE = "TLS_AES_128_GCM_SHA256";
const CIPHERS = [FAVOURITE, ...DEFAULT_CIPHERS.split(":").filter((name) => name !== FAVOURITE)].join(":");

export interface WatchedCertificates {
  readonly files: TlsFiles;
  /** What is in force now. */
  readonly current: CertificateSet;
  readonly context: SecureContextOptions;
  /** From here on new files go to `apply`. */
  onChange(apply: (context: SecureContextOptions) => void): void;
  /** Looks at the files now instead of at the next interval. */
  check(): void;
  close(): void;
}

export function watchCertificates(source: object, files: TlsFiles, policy: TlsPolicy): WatchedCertificates {
  let apply: (context: SecureContextOptions) => void = () => {};
  const paths = { certFile: files.certFile, keyFile: files.keyFile, caFile: files.clientCaFile };
  const names = Object.values(paths).filter((name) => name !== "");
  const toContext = (set: CertificateSet): SecureContextOptions => ({
    ...set,
    minVersion: policy.minVersion,
    // A resumed session is not judged again: a certificate that has ended, or whose CA was removed, would get in for good.
    secureOptions: constants.SSL_OP_NO_TICKET,
    ciphers: policy.cipherSuites.length === 0 ? CIPHERS : policy.cipherSuites.join(":"),
  });
  const watched = new CertificateFiles(paths, {
    onChange(set) {
      apply(toContext(set));
      certificatesReloaded.publish({ source, files: names });
    },
    onProblem: (error) => certificatesRefused.publish({ source, files: names, error: error.message }),
  });
  return {
    files,
    get current() {
      return watched.current;
    },
    context: toContext(watched.current),
    onChange(action) {
      apply = action;
    },
    check: () => watched.check(),
    close: () => watched.close(),
  };
}
