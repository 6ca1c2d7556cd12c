/** What the processes of all roles have: an admin port, and an end by signals. */
import type { Endpoint, RunningHttp } from "../../base/http.js";
import type { Logger } from "../../base/log/log.js";
import { nextSignal } from "../../base/signals.js";
import { isoTime } from "../../base/text.js";
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

/** Says what the process waits for after its first signal, at most until when, and that nobody has to wait. */
export function announceWait(
  logger: Logger,
  what: string,
  left: Readonly<Record<string, number | string>>,
  limitMs: number,
): void {
  const until = isoTime(Date.now() + limitMs);
  logger.info(0, `${what}: waiting for what is open; a second signal ends the process at once`, { ...left, until });
}

/** The next signal, as an exit code. */
export async function impatience(logger: Logger): Promise<number> {
  logger.warn("ended at once by a second signal", { signal: await nextSignal() });
  return 1;
}

/** Waits for the first signal and runs `end`; a second signal does not wait for that. Resolves to the exit code. */
export async function untilEnded(logger: Logger, end: (signal: string) => Promise<void>): Promise<number> {
  const signal = await nextSignal();
  // Before anything is announced: a signal that nobody waits for ends the process as it is.
  const impatient = impatience(logger);
  const code = await Promise.race([end(signal).then(() => 0), impatient]);
  await logger.close();
  return code;
}
