/** Where a server's certificate comes from while it runs. */
import {
  CertificateFiles,
  type CertificatePaths,
  type CertificateSet,
  type ReloadOptions,
} from "../../../tunnel/pki/reload.js";

/** The one to begin with, and every later one as it comes. */
export type CertificateSource = (onChange: (set: CertificateSet) => void) => FollowedCertificate;

export interface FollowedCertificate {
  readonly current: CertificateSet;
  close(): void;
}

export function certificateInFiles(
  paths: Required<Pick<CertificatePaths, "certFile" | "keyFile">>,
  reload: Omit<ReloadOptions, "onChange"> = {},
): CertificateSource {
  return (onChange) => new CertificateFiles(paths, { ...reload, onChange });
}
