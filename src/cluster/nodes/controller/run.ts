/** The controller as a process, with its metrics and events. */
import { messageOf } from "../../../base/errors/error.js";
import type { Endpoint } from "../../../base/http.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { collectionPath, typed } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { type ConfigMap, eventAbout } from "../objects.js";
import { CONTROLLER_NAME } from "../permissions.js";
import { isClusterObject } from "../pool/input.js";
import type { NodePool } from "../pool/node-pool.js";
import { Replica } from "../replica.js";
import type { WorkOutcome } from "../work-queue.js";
import { credentialIssuer } from "./bootstrap.js";
import { PoolController } from "./controller.js";
import { requireInstalled } from "./hypershift.js";

interface ControllerConfig {
  readonly api: KubeApi;
  readonly namespace: string;
  /** A directory has no resources to be installed and no HyperShift. */
  readonly isCluster: boolean;
  readonly issuesCertificate: boolean;
  /** The cluster that machines join, if their first credential is issued here. */
  readonly joined: KubeApi | undefined;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
}

/** Resolves to the exit code when the process should end. */
export async function runController(config: ControllerConfig): Promise<number> {
  const { api, health, isCluster, issuesCertificate, joined, namespace } = config;
  if (isCluster) await requireInstalled(api);
  const replica: Replica = new Replica({
    ...{ api, namespace, name: CONTROLLER_NAME, health, onFailure: () => metrics.failed() },
    onLeaderChange: (leads) => {
      logger.info(0, leads ? "this replica looks after the pools" : "another replica looks after the pools");
      if (leads) controller.takeOver();
    },
  });
  const { election, logger, onError } = replica;
  const controller: PoolController = new PoolController({
    ...{ api, namespace, leading: () => election.leading, onError, issuesCertificate },
    credentialIssuer: joined && credentialIssuer(joined),
    requireOurs: isCluster ? () => requireInstalled(api) : undefined,
    onIssued: (sentence) => logger.info(0, sentence),
    onPass: (_key, next) => metrics.passed(next),
    // A directory has nobody who would look at events.
    ...(isCluster ? { onFailure: failureEvents(api, namespace, onError) } : {}),
  });
  const metrics = controllerMetrics(() => controller);
  return replica.run({
    ...{ what: "nodepool controller", registry: metrics.registry },
    problem: () => (controller.synced ? undefined : "pools have not been listed yet"),
    start: () => {
      controller.start();
      election.start();
    },
    stop: () => controller.stop().finally(() => joined?.close()),
  });
}

const PREFIX = "drawbridge_nodepool_";

export function controllerMetrics(controller: () => PoolController) {
  const registry = new MetricsRegistry();
  const passes = registry.counter(
    `${PREFIX}passes_total`,
    "Passes over pools, by what follows: wait for a change, a time to look again (at), or retry after a failure.",
    ["next"],
  );
  const failures = registry.counter(`${PREFIX}failures_total`, "Complaints about pools, and lost connections.");
  registry.gauge(`${PREFIX}pools`, "Pools in the namespace.", () => controller().view.pools.size);
  registry.gauge(`${PREFIX}queue_length`, "Pools that wait for a pass.", () => controller().queued);
  registry.gauge(`${PREFIX}leader`, "Whether this replica writes.", () => Number(controller().leads));
  registry.gauge(
    `${PREFIX}bootstrap_credential_expiry_seconds`,
    "When the credential that machines join with ends, in seconds since 1970; of the replica that keeps it.",
    () => {
      const end = controller().leads ? controller().credentialEnd : undefined;
      return end === undefined ? [] : end / 1000;
    },
  );
  processMetrics(registry);
  return {
    registry,
    passed: (outcome: WorkOutcome) => passes.inc({ next: typeof outcome === "number" ? "at" : outcome }),
    failed: () => failures.inc(),
  };
}

/** Reports failed passes as events on pools, as HyperShift's operator does, and on clusters. Nobody waits for these writes. */
export function failureEvents(
  api: KubeApi,
  namespace: string,
  onError: (sentence: string, reason?: unknown) => void,
  now: () => number = Date.now,
) {
  return (about: NodePool | ConfigMap, sentence: string): void => {
    const [kind, reason] = isClusterObject(about)
      ? (["ConfigMap", "BootstrapCredential"] as const)
      : (["NodePool", "ReconcileError"] as const);
    const failure = { type: "Warning", reason, message: sentence } as const;
    const event = eventAbout(typed(kind, about), failure, CONTROLLER_NAME, now());
    api
      .create(collectionPath("Event", namespace), event)
      .catch((reason: unknown) => onError(`an event was not written: ${messageOf(reason)}`, reason));
  };
}
