/** An approver as a process: everything around it that a person or a cluster sees, and its end. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { metricsRoute } from "../../../../base/health.js";
import { type Endpoint, type Route, type RunningHttp, sendText, startHttp } from "../../../../base/http.js";
import { Logger } from "../../../../base/log/log.js";
import { EventCounter, gaugeRead } from "../../../../base/metrics/families.js";
import { processMetrics } from "../../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../../base/metrics/registry.js";
import { nextSignal } from "../../../../base/signals.js";
import { LeaderElection } from "../../../kube/leader.js";
import type { KubeApi } from "../../../kube/port.js";
import { APPROVER_NAME } from "../../permissions.js";
import type { Policy } from "../case.js";
import { type Decision, noDecisionLog, openDecisionLog } from "../decide.js";
import type { InventorySource } from "../inventory.js";
import type { MemoryStore } from "../memory.js";
import { Approver } from "./approver.js";

interface ApproverConfig {
  readonly api: KubeApi;
  readonly inventory: InventorySource;
  readonly store: MemoryStore;
  readonly policy: Policy;
  /** Of the Lease. */
  readonly namespace: string;
  /** Empty: decisions go to the process's log only. */
  readonly decisionLog: string;
  readonly dryRun: boolean;
  readonly intervalMs: number;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
}

/** Resolves to the exit code when the process should end. */
export async function runApprover(config: ApproverConfig): Promise<number> {
  const { api, dryRun, namespace } = config;
  const logger = new Logger({ format: "text", verbosity: 0 });
  const log = config.decisionLog === "" ? noDecisionLog : await openDecisionLog(config.decisionLog);
  const onError = (sentence: string) => {
    metrics.failed();
    logger.warn(sentence);
  };
  const election = new LeaderElection({
    ...{ api, namespace, name: APPROVER_NAME, identity: `${hostname()}_${randomUUID()}`, onError },
    onChange: (leads) => {
      logger.info(0, leads ? "this replica decides" : "another replica decides");
      approver.wake();
    },
  });
  // A dry run writes nothing, so it need not be elected.
  const leading = () => dryRun || election.leading;
  const approver: Approver = new Approver({
    ...{ ...config, log, leading, onError },
    onDecision: (decision) => {
      metrics.decided(decision);
      logger.info(0, verb(decision, dryRun), fields(decision));
    },
  });
  const metrics = approverMetrics(() => approver, leading);
  const health = config.health && (await startHealth(config.health, approver, metrics.registry));
  if (!dryRun) election.start();
  approver.start();
  logger.info(0, "csr approver is up", { namespace, dryRun, health: health?.address });
  logger.info(0, "shutting down", { signal: await nextSignal() });
  await approver.stop();
  await Promise.all([election.stop(), health?.close(), log.close()]);
  api.close();
  await logger.close();
  return 0;
}

function startHealth(endpoint: Endpoint, approver: Approver, registry: MetricsRegistry): Promise<RunningHttp> {
  const readyz: Route = (_request, response) => {
    const { trouble } = approver;
    sendText(response, trouble === undefined ? 200 : 500, trouble ?? "ok");
  };
  return startHttp("health", endpoint, {
    exact: new Map<string, Route>([
      ["/healthz", (_request, response) => sendText(response, 200, "ok")],
      ["/readyz", readyz],
      ["/metrics", metricsRoute(registry)],
    ]),
  });
}

function verb({ action }: Decision, dryRun: boolean): string {
  const done = { approve: "approved", deny: "denied", leave: "left pending" }[action];
  return dryRun && action !== "leave" ? `would be ${done}` : done;
}

function fields({ explanation, kind, node, pool, request, rule }: Decision) {
  return { request, kind, node, pool, rule, why: explanation };
}

// The approver's /metrics.

const PREFIX = "drawbridge_csr_";

interface ApproverMetrics {
  readonly registry: MetricsRegistry;
  decided(decision: Decision): void;
  failed(): void;
}

export function approverMetrics(approver: () => Approver, leading: () => boolean): ApproverMetrics {
  const registry = new MetricsRegistry();
  const decisions = new EventCounter(
    registry,
    `${PREFIX}decisions_total`,
    "Decisions about requests, by the rule that was broken first (all: none was).",
    ["action", "kind", "rule"],
  );
  const failures = new EventCounter(registry, `${PREFIX}failures_total`, "Looks that failed, and lost connections.");
  gaugeRead(registry, `${PREFIX}pending`, "Undecided requests of kubelets that are younger than an hour.", () => {
    return approver().crowd.pending;
  });
  gaugeRead(registry, `${PREFIX}pending_limit`, "Above this many of them nothing is approved.", () => {
    return approver().crowd.limit;
  });
  gaugeRead(registry, `${PREFIX}leader`, "Whether this replica decides.", () => Number(leading()));
  processMetrics(registry);
  return {
    registry,
    decided: ({ action, kind, rule }) => decisions.inc({ action, kind, rule }),
    failed: () => failures.inc(),
  };
}
