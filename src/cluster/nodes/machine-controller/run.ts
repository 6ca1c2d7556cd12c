/** The machine controller as a process, with its metrics and events. */
import { systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import type { Endpoint } from "../../../base/http.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { collectionPath, typed } from "../../kube/paths.js";
import { eventAbout, nameOf, pathOf } from "../objects.js";
import { machineLeaseName } from "../permissions.js";
import { Replica } from "../replica.js";
import { MachineController, type MachineControllerOptions } from "./controller.js";

interface MachineControllerConfig
  extends Omit<MachineControllerOptions, "clock" | "leading" | "signal" | "progress" | "tell" | "onError"> {
  /** Namespace of the Lease, in the cluster that machines join. */
  readonly leaseNamespace: string;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
}

/** Resolves to the exit code when the process should end. */
export async function runMachineController(config: MachineControllerConfig): Promise<number> {
  const { clusters, health, leaseNamespace, namespace, provider } = config;
  const stopped = new AbortController();
  const replica: Replica = new Replica({
    ...{ api: clusters.nodes, namespace: leaseNamespace, name: machineLeaseName(provider), health },
    onFailure: () => metrics.failed(),
    onLeaderChange: (leads) => {
      logger.info(0, leads ? "this replica keeps the machines" : "another replica keeps the machines");
      if (leads) controller.takeOver();
    },
  });
  const { election, logger, onError } = replica;
  const controller: MachineController = new MachineController({
    ...{ ...config, clock: systemClock, onError, signal: stopped.signal, leading: () => election.leading },
    progress: (pool) => ({
      log: (line) => logger.info(0, line, { pool: pathOf(pool) }),
      status: (line) => logger.info(2, line, { pool: pathOf(pool) }),
    }),
    tell: (pool, content) => {
      const { message, type } = content;
      const fields = { pool: pathOf(nameOf(pool)), why: message };
      if (type === "Normal") logger.info(0, content.reason, fields);
      else logger.warn(content.reason, fields);
      const event = eventAbout(typed("NodePool", pool), content, machineLeaseName(provider), Date.now());
      clusters.pools
        .create(collectionPath("Event", namespace), event)
        .catch((reason: unknown) => onError(`an event was not written: ${messageOf(reason)}`, reason));
    },
    onChanged: (what, count) => metrics.changed(what, count),
    onPass: (_key, next) => metrics.passed(typeof next === "number" ? "at" : next),
  });
  const metrics = machineMetrics(
    () => controller,
    () => election.leading,
  );
  return replica.run({
    ...{ what: "machine controller", fields: { provider }, registry: metrics.registry },
    problem: () => (controller.synced ? undefined : "pools have not been listed yet"),
    start: () => {
      controller.start();
      election.start();
    },
    stop: () => {
      stopped.abort();
      return controller.stop();
    },
  });
}

const PREFIX = "drawbridge_machines_";

function machineMetrics(controller: () => MachineController, leading: () => boolean) {
  const registry = new MetricsRegistry();
  const passes = registry.counter(
    `${PREFIX}passes_total`,
    "Passes over pools, by what follows: wait for a change, a time to look again (at), or retry after a failure.",
    ["next"],
  );
  const failures = registry.counter(`${PREFIX}failures_total`, "Lost connections, and events that were not written.");
  const changes = registry.counter(`${PREFIX}changes_total`, "Machines that were made or removed.", ["what"]);
  registry.gauge(`${PREFIX}pools`, "Pools that name this controller's provider.", () => controller().count);
  registry.gauge(`${PREFIX}leader`, "Whether this replica makes and removes machines.", () => Number(leading()));
  processMetrics(registry);
  return {
    registry,
    passed: (next: string) => passes.inc({ next }),
    changed: (what: string, count: number) => changes.inc({ what }, count),
    failed: () => failures.inc(),
  };
}
