/** An Ignition server as a process: the Secrets it follows, the port machines come to, and its end. */

import { causeFields, messageOf } from "../../base/errors/error.js";
import { metricsRoute } from "../../base/health.js";
import { startHttp } from "../../base/http.js";
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
import { WorkerObjects } from "../../cluster/nodes/csr/inventory-workers.js";
import { pathOf, type Secret } from "../../cluster/nodes/objects.js";
import { CertificateSecret } from "../../cluster/nodes/serving/certificate-secret.js";
import { servingMetrics } from "../../cluster/nodes/serving/metrics.js";
import { payloadSource } from "../../cluster/nodes/serving/payload.js";
import {
  type ClaimStore,
  claimsInConfigMap,
  claimsInFile,
  openAuditLog,
  Recorder,
} from "../../cluster/nodes/serving/recorder.js";
import { TokenController } from "../../cluster/nodes/serving/token-controller.js";
import { WorkerTokens } from "../../cluster/nodes/serving/worker-tokens.js";
import { ObservedIgnitionServer } from "../../insight/observe/roles/ignition.js";
import { listening } from "../../tunnel/events/channels.js";
import { openCluster, secondCluster } from "../flags/kubernetes.js";
import { openObjects } from "../framework/objects.js";
import { adminAccessOf } from "../tunnel/process-flags.js";
import { openAdmin } from "../tunnel/role-process.js";
import type { ServeConfig } from "./serve.js";

const TEND_EVERY_MS = 5_000;

/** A token that is not known may be one whose payload is still being made. */
const REFUSED = {
  code: "DB_NODE_TOKEN_UNKNOWN",
  remedy:
    "Ask drawbridge workers doctor which machine's token is wrong or has ended, and which payload is not made yet.",
};

/** Resolves to the exit code when the process should end. */
export async function runServing({ flags, listen, metricsAt, adminAt, claimsConfigMap }: ServeConfig): Promise<number> {
  const { certFile, certSecret, keyFile, namespace } = flags;
  const api = await openObjects(flags);
  const logger = new Logger({ format: "text", verbosity: 0 });
  const onError = (sentence: string, reason?: unknown) => {
    metrics.failed();
    logger.warn(sentence, causeFields(reason));
  };
  const tokens = new TokenStore();
  const metrics = servingMetrics(() => tokens.size);
  const audit = flags.auditLog === "" ? undefined : openAuditLog(flags.auditLog);
  // The log takes a value called secret for one: names of Secrets are `of` there.
  const controller: TokenController = new TokenController({
    ...{ api, namespace, tokens, onError, source: payloadSource(api, namespace, flags.payload) },
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
    ...{ tokens, pools: controller, file: flags.workerTokens, onError: once(onError) },
  });
  const joined = await joinedCluster(flags, api);
  const workerObjects = new WorkerObjects(joined, claimsConfigMap?.namespace ?? namespace);
  const recorder = new Recorder({
    ...{ api, namespace, onError, makesEvents: flags.directory === "" },
    claims: claimStores(flags, claimsConfigMap, joined),
    audit:
      audit?.write ??
      (({ outcome, secret, ...line }) => {
        if (outcome === "refused") logger.warn("fetch refused", { ...line, ...REFUSED });
        else logger.info(0, `fetch ${outcome}`, { ...line, of: secret });
      }),
    secret: (name) => controller.secret(name),
    onServed: ({ pool }) => metrics.served(pool),
  });
  const certificate =
    certSecret === ""
      ? certificateInFiles({ certFile, keyFile }, { onProblem: (error) => onError(error.message, error) })
      : new CertificateSecret(pathOf({ namespace, name: certSecret }), onError);
  const secrets = new ListWatch<Secret>({
    api,
    path: collectionPath("Secret", namespace),
    onChange: (items) => {
      if (certificate instanceof CertificateSecret) certificate.changed(items);
      controller.changed(items);
      workers.changed(items);
    },
    onError: (reason) => onError(messageOf(reason), reason),
  });
  const inForce = async (): Promise<CertificateSource> => {
    if (!(certificate instanceof CertificateSecret)) return certificate;
    secrets.start();
    logger.info(0, "waiting for the certificate", { secretName: certSecret });
    return certificate.source();
  };

  const subject = new ObservedIgnitionServer();
  const admin =
    adminAt && (await openAdmin({ ...adminAt, ...adminAccessOf(flags) }, metrics.registry, subject, subject));
  if (admin !== undefined) listening.publish({ source: subject, what: "admin", address: admin.address });
  const parts = { tokens, recorder: subject.watch(recorder) };
  const server = await startIgnitionServer({ ...listen, certificates: await inForce() }, parts);
  subject.up(certSecret === "" ? certFile : `Secret ${certSecret}`, server.certificate);
  listening.publish({ source: subject, what: "machines", address: server.address });
  const routes = { exact: new Map([["/metrics", metricsRoute(metrics.registry)]]) };
  const health = await startHttp("metrics", metricsAt, routes);
  listening.publish({ source: subject, what: "metrics", address: health.address });
  secrets.start();
  // What is said of Workers is not needed to serve: tokens end with their windows all the same.
  workerObjects.start({
    onChange: () => void workerObjects.all().then((items) => workers.workersChanged(items)),
    onError: (reason) => onError(messageOf(reason), reason),
  });
  await workers.readFile();
  const tending = setInterval(() => {
    tokens.sweep();
    void workers.readFile();
  }, TEND_EVERY_MS);
  logger.info(0, "ignition server is up", { address: server.address, metrics: health.address, namespace });

  logger.info(0, "shutting down", { signal: await nextSignal() });
  clearInterval(tending);
  await Promise.all([
    secrets.stop(),
    workerObjects.stop(),
    controller.stop(),
    server.close(),
    health.close(),
    admin?.close(),
  ]);
  await recorder.close();
  audit?.close();
  api.close();
  await logger.close();
  return 0;
}

/** A list that stays broken is looked at every few seconds. */
function once(tell: (sentence: string, reason?: unknown) => void): typeof tell {
  let last = "";
  return (sentence, reason) => {
    if (sentence !== last) tell(sentence, reason);
    last = sentence;
  };
}

/** Where machines join, and where claims are for an approver. */
async function joinedCluster(flags: ServeConfig["flags"], api: KubeApi): Promise<KubeApi> {
  const { claimsContext: context, claimsKubeconfig: kubeconfig } = flags;
  const other = secondCluster(flags, { kubeconfig, context });
  return other === undefined ? api : openCluster(other);
}

function claimStores(
  { claimsFile }: ServeConfig["flags"],
  configMap: ServeConfig["claimsConfigMap"],
  joined: KubeApi,
): ClaimStore[] {
  return [
    ...(claimsFile === "" ? [] : [claimsInFile(claimsFile)]),
    ...(configMap === undefined ? [] : [claimsInConfigMap(joined, configMap)]),
  ];
}
