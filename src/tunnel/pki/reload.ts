import { type CertificatePaths, type CertificateSet, readCertificateSet } from "./certificate-set.js";
import { FollowedFiles, type FollowOptions } from "./followed-files.js";

export type { CertificatePaths, CertificateSet } from "./certificate-set.js";

export type ReloadOptions = FollowOptions<CertificateSet>;

/** Certificates that may be replaced on disk while the process runs: those in force are the newest set that fits. */
export class CertificateFiles extends FollowedFiles<CertificateSet> {
  constructor(paths: CertificatePaths, options: ReloadOptions = {}) {
    const { certFile, keyFile, caFile } = paths;
    const read = () => readCertificateSet(paths);
    super({ paths: [certFile, keyFile, caFile], read, isSame: sameSet }, options);
  }
}

function sameSet(a: CertificateSet, b: CertificateSet): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}
