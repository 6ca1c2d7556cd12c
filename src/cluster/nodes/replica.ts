/** One replica of a controller as a process: its log, its election, the port for health and metrics, and an orderly end. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { causeFields } from "../../base/errors/error.js";
import { startServerHealth } from "../../base/health.js";
import type { Endpoint } from "../../base/http.js";
import { Logger } from "../../base/log/log.js";
import type { MetricsRegistry } from "../../base/metrics/registry.js";
import { nextSignal } from "../../base/signals.js";
import { LeaderElection } from "../kube/leader.js";
import type { KubeApi } from "../kube/port.js";

export interface ReplicaOptions {
  readonly api: KubeApi;
  /** Namespace of the Lease. */
  readonly namespace: string;
  readonly name: string;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
  readonly onLeaderChange: (leads: boolean) => void;
  readonly onFailure: () => void;
}

export interface ReplicaParts {
  /** Name of the program in the log, as in `csr approver is up`. */
  readonly what: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly registry: MetricsRegistry;
  /** Why the replica is not ready; undefined when it is. */
  readonly problem: () => string | undefined;
  readonly start: () => void;
  readonly stop: () => Promise<unknown>;
}

export class Replica {
  readonly logger = new Logger({ format: "text", verbosity: 0 });
  readonly election: LeaderElection;
  readonly #options: ReplicaOptions;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    const { api, name, namespace, onLeaderChange: onChange } = options;
    const identity = `${hostname()}_${randomUUID()}`;
    this.election = new LeaderElection({ api, namespace, name, identity, onError: this.onError, onChange });
  }

  readonly onError = (sentence: string, reason?: unknown): void => {
    this.#options.onFailure();
    this.logger.warn(sentence, causeFields(reason));
  };

  /** Resolves to the exit code after a signal, when everything has stopped. */
  async run({ fields, problem, registry, start, stop, what }: ReplicaParts): Promise<number> {
    const { api, health, namespace } = this.#options;
    const readiness = { ready: () => problem() === undefined, why: problem };
    const server = health && (await startServerHealth(health, readiness, registry));
    start();
    this.logger.info(0, `${what} is up`, { namespace, ...fields, health: server?.address });
    this.logger.info(0, "shutting down", { signal: await nextSignal() });
    await stop();
    await Promise.all([this.election.stop(), server?.close()]);
    api.close();
    await this.logger.close();
    return 0;
  }
}
