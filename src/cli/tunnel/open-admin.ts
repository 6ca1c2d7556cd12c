/** The admin port of a process, the same for every role. */
import type { Endpoint, RunningHttp } from "../../base/http.js";
import type { ObservedRole } from "../../insight/observe/admin/observed-role.js";
import { type AdminMetrics, startAdmin } from "../../insight/observe/admin.js";
import { CertificateFiles } from "../../tunnel/pki/certificate-set.js";
import { VERSION } from "../framework/define.js";

export interface AdminEndpoint extends Endpoint {
  readonly tokenFile: string;
  /** Undefined: in the clear, and the API on loopback only. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  readonly profiling?: boolean;
}

/** `source` publishes the events of the process, `subject` answers for it. */
export function openAdmin(
  admin: AdminEndpoint,
  metrics: AdminMetrics,
  source: object,
  subject: ObservedRole & { remember?(): void },
): Promise<RunningHttp> {
  const { tokenFile, profiling = false, tls } = admin;
  // Without a token the API is closed, and nothing has to be remembered.
  if (tokenFile !== "") subject.remember?.();
  return startAdmin(admin, metrics, {
    ...{ source, version: VERSION, subject, tokenFile, profiling },
    tls: tls && { certFile: tls.certFile, follow: (events) => new CertificateFiles(tls, events) },
  });
}
