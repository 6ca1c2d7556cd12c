/** The controller as a process: everything around it that a person or a cluster sees, and its end. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { messageOf } from "../../../base/errors/error.js";
import { metricsRoute } from "../../../base/health.js";
import { type Endpoint, type Route, type RunningHttp, sendText, startHttp } from "../../../base/http.js";
import { Logger } from "../../../base/log/log.js";
import { EventCounter, gaugeRead } from "../../../base/metrics/families.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { nextSignal } from "../../../base/signals.js";
import { LeaderElection } from "../../kube/leader.js";
import { collectionPath, typed } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { eventAbout } from "../objects.js";
import { CONTROLLER_NAME } from "../permissions.js";
import type { NodePool } from "../pool/node-pool.js";
import type { Outcome } from "../work-queue.js";
import { PoolController } from "./controller.js";
import { Ownership, requireInstalled } from "./hypershift.js";

interface ControllerConfig {
  readonly api: KubeApi;
  readonly namespace: string;
  /** A directory has no resources to be installed and no HyperShift. */
  readonly isCluster: boolean;
  readonly issuesCertificate: boolean;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
}

/** Resolves to the exit code when the process should end. */
export async function runController(config: ControllerConfig): Promise<number> {
  const { api, isCluster, issuesCertificate, namespace } = config;
  if (isCluster) await requireInstalled(api);
  const logger = new Logger({ format: "text", verbosity: 0 });
  const onError = (sentence: string) => {
    metrics.failed();
    logger.warn(sentence);
  };
  const election = new LeaderElection({
    ...{ api, namespace, name: CONTROLLER_NAME, identity: `${hostname()}_${randomUUID()}`, onError },
    onChange: (leads) => {
      logger.info(0, leads ? "this replica looks after the pools" : "another replica looks after the pools");
      if (leads) ownership.ask();
    },
  });
  const ownership: Ownership = new Ownership({
    check: async () => {
      if (isCluster) await requireInstalled(api);
    },
    leading: () => election.leading,
    onOurs: () => controller.lookAtAll(),
    onError,
  });
  const leading = () => ownership.isOurs && election.leading;
  const controller: PoolController = new PoolController({
    ...{ api, namespace, leading, onError, issuesCertificate },
    onIssued: (sentence) => logger.info(0, sentence),
    onPass: (_key, next) => metrics.passed(next),
    // A directory has nobody who would look at events.
    ...(isCluster ? { onFailure: failureEvents({ api, namespace, onError }) } : {}),
  });
  const metrics = controllerMetrics(() => controller, leading);
  const health = config.health && (await startHealth(config.health, controller, metrics.registry));
  controller.start();
  election.start();
  logger.info(0, "nodepool controller is up", { namespace, health: health?.address });
  logger.info(0, "shutting down", { signal: await nextSignal() });
  await Promise.all([controller.stop(), ownership.stop()]);
  await Promise.all([election.stop(), health?.close()]);
  api.close();
  await logger.close();
  return 0;
}

function startHealth(endpoint: Endpoint, controller: PoolController, registry: MetricsRegistry): Promise<RunningHttp> {
  const readyz: Route = (_request, response) => {
    const { synced } = controller;
    sendText(response, synced ? 200 : 500, synced ? "ok" : "pools have not been listed yet");
  };
  return startHttp("health", endpoint, {
    exact: new Map<string, Route>([
      ["/healthz", (_request, response) => sendText(response, 200, "ok")],
      ["/readyz", readyz],
      ["/metrics", metricsRoute(registry)],
    ]),
  });
}

// The controller's /metrics.

const PREFIX = "drawbridge_nodepool_";

interface ControllerMetrics {
  readonly registry: MetricsRegistry;
  passed(outcome: Outcome["next"]): void;
  failed(): void;
}

export function controllerMetrics(controller: () => PoolController, leading: () => boolean): ControllerMetrics {
  const registry = new MetricsRegistry();
  const passes = new EventCounter(
    registry,
    `${PREFIX}passes_total`,
    "Passes over pools, by what follows: wait for a change, a time to look again (at), or retry after a failure.",
    ["next"],
  );
  const failures = new EventCounter(
    registry,
    `${PREFIX}failures_total`,
    "Complaints about pools, and lost connections.",
  );
  gaugeRead(registry, `${PREFIX}pools`, "Pools in the namespace.", () => controller().view.pools.size);
  gaugeRead(registry, `${PREFIX}queue_length`, "Pools that wait for a pass.", () => controller().queued);
  gaugeRead(registry, `${PREFIX}leader`, "Whether this replica writes.", () => Number(leading()));
  processMetrics(registry);
  return { registry, passed: (next) => passes.inc({ next }), failed: () => failures.inc() };
}

// Failures of passes as events on the pools, as HyperShift's operator makes them.

interface FailureEventsOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly now?: () => number;
  readonly onError: (sentence: string) => void;
}

/** Nobody waits for them: an API that is away has more to lose than an event. */
export function failureEvents({ api, namespace, now = Date.now, onError }: FailureEventsOptions) {
  return (pool: NodePool, sentence: string): void => {
    const failure = { type: "Warning", reason: "ReconcileError", message: sentence } as const;
    const event = eventAbout(typed("NodePool", pool), failure, CONTROLLER_NAME, now());
    api
      .create(collectionPath("Event", namespace), event)
      .catch((reason: unknown) => onError(`an event was not written: ${messageOf(reason)}`));
  };
}
