/** An Ignition server as a process: the Secrets it follows, the port machines come to, and its end. */

import { messageOf } from "../../base/errors/error.js";
import { metricsRoute } from "../../base/health.js";
import { type Endpoint, startHttp } from "../../base/http.js";
import { Logger } from "../../base/log/log.js";
import { nextSignal } from "../../base/signals.js";
import {
  type CertificateSource,
  certificateInFiles,
  startIgnitionServer,
} from "../../cluster/ignition/server/serve.js";
import { TokenStore } from "../../cluster/ignition/server/tokens.js";
import { ListWatch } from "../../cluster/kube/list-watch.js";
import { collectionPath } from "../../cluster/kube/paths.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import { pathOf, type Secret } from "../../cluster/nodes/objects.js";
import { CertificateSecret } from "../../cluster/nodes/serving/certificate-secret.js";
import type { ClaimStore } from "../../cluster/nodes/serving/claims.js";
import { servingMetrics } from "../../cluster/nodes/serving/metrics.js";
import { openAuditLog, Recorder } from "../../cluster/nodes/serving/recorder.js";
import { type PayloadSource, TokenController } from "../../cluster/nodes/serving/token-controller.js";
import { WorkerTokens } from "../../cluster/nodes/serving/worker-tokens.js";
import { ObservedIgnitionServer } from "../../insight/observe/roles/ignition.js";
import { listening } from "../../tunnel/events/channels.js";
import { type AdminEndpoint, openAdmin } from "../tunnel/open-admin.js";

export interface ServingConfig {
  readonly api: KubeApi;
  /** Namespace of the token Secrets. */
  readonly namespace: string;
  /** Whether the objects are those of a cluster. */
  readonly inCluster: boolean;
  readonly source: PayloadSource;
  readonly listen: Endpoint;
  /** In files, or in a Secret of the namespace. */
  readonly certificates: { readonly certFile: string; readonly keyFile: string } | { readonly secretName: string };
  readonly metrics: Endpoint;
  /** Undefined: no admin port. */
  readonly admin: AdminEndpoint | undefined;
  /** Empty: fetches are recorded in the process's log only. */
  readonly auditLog: string;
  readonly claims: readonly ClaimStore[];
  /** Empty: none. */
  readonly workerTokens: string;
}

const TEND_EVERY_MS = 5_000;

/** Resolves to the exit code when the process should end. */
export async function runServing(config: ServingConfig): Promise<number> {
  const { api, namespace, source } = config;
  const logger = new Logger({ format: "text", verbosity: 0 });
  const onError = (sentence: string) => {
    metrics.failed();
    logger.warn(sentence);
  };
  const book = new TokenStore();
  const metrics = servingMetrics(() => book.size);
  const audit = config.auditLog === "" ? undefined : openAuditLog(config.auditLog);
  // The log takes a value called secret for one: names of Secrets are `of` there.
  const controller: TokenController = new TokenController({
    ...{ api, namespace, tokens: book, source, onError },
    onMiss: metrics.missed,
    onMade: () => workers.admit(),
    onGenerated: (secret, seconds) => {
      metrics.generated(seconds);
      logger.info(1, "payload made", { of: secret, seconds });
    },
    onRotated: (secret) => {
      metrics.rotated();
      logger.info(0, "token rotated", { of: secret });
    },
  });
  const workers = new WorkerTokens({
    tokens: book,
    pools: controller,
    file: config.workerTokens,
    onError: once(onError),
  });
  const recorder = new Recorder({
    ...{ api, namespace, onError, claims: config.claims, makesEvents: config.inCluster },
    audit:
      audit?.write ?? (({ outcome, secret, ...line }) => logger.info(0, `fetch ${outcome}`, { ...line, of: secret })),
    secret: (name) => controller.secret(name),
    onServed: ({ pool }) => metrics.served(pool),
  });
  const { certificates, listen } = config;
  const certificate =
    "secretName" in certificates
      ? new CertificateSecret(pathOf({ namespace, name: certificates.secretName }), onError)
      : certificateInFiles(certificates, { onProblem: (error) => onError(error.message) });
  const secrets = new ListWatch<Secret>({
    api,
    path: collectionPath("Secret", namespace),
    onChange: (items) => {
      if (certificate instanceof CertificateSecret) certificate.changed(items);
      controller.changed(items);
      workers.changed(items);
    },
    onError: (reason) => onError(messageOf(reason)),
  });
  const inForce = async (): Promise<CertificateSource> => {
    if (!(certificate instanceof CertificateSecret)) return certificate;
    secrets.start();
    logger.info(0, "waiting for the certificate", certificates);
    return certificate.source();
  };

  const subject = new ObservedIgnitionServer();
  const admin = config.admin && (await openAdmin(config.admin, metrics.registry, subject, subject));
  if (admin !== undefined) listening.publish({ source: subject, what: "admin", address: admin.address });
  const parts = { tokens: book, recorder: subject.watch(recorder) };
  const server = await startIgnitionServer({ ...listen, certificates: await inForce() }, parts);
  subject.up(
    "secretName" in certificates ? `Secret ${certificates.secretName}` : certificates.certFile,
    server.certificate,
  );
  listening.publish({ source: subject, what: "machines", address: server.address });
  const health = await startHttp("metrics", config.metrics, {
    exact: new Map([["/metrics", metricsRoute(metrics.registry)]]),
  });
  listening.publish({ source: subject, what: "metrics", address: health.address });
  secrets.start();
  await workers.readFile();
  const tending = setInterval(() => {
    book.sweep();
    void workers.readFile();
  }, TEND_EVERY_MS);
  logger.info(0, "ignition server is up", { address: server.address, metrics: health.address, namespace });

  logger.info(0, "shutting down", { signal: await nextSignal() });
  clearInterval(tending);
  await Promise.all([secrets.stop(), controller.stop(), server.close(), health.close(), admin?.close()]);
  await recorder.close();
  audit?.close();
  api.close();
  await logger.close();
  return 0;
}

/** A list that stays broken is looked at every few seconds. */
function once(tell: (sentence: string) => void): (sentence: string) => void {
  let last = "";
  return (sentence) => {
    if (sentence !== last) tell(sentence);
    last = sentence;
  };
}
