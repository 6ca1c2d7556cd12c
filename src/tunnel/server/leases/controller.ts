import { type Clock, systemClock } from "../../../cluster/kube/clock.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import type { LeaseControllerConfig } from "../config.js";
import { LeaseCollector, type RequestObserver } from "./collector.js";
import { OwnLease } from "./own-lease.js";

export type { RequestObserver } from "./collector.js";

export interface LeaseControllerOptions {
  readonly api: KubeApi;
  readonly serverId: string;
  readonly config: LeaseControllerConfig;
  readonly clock?: Clock;
  readonly onListed?: RequestObserver;
  readonly onDeleted?: RequestObserver;
  readonly onCulled?: (count: number) => void;
  /** One sentence per failure; the controller goes on by itself. */
  readonly onError?: (sentence: string) => void;
}

export interface LeaseController {
  readonly leaseName: string;
  /** Returns at once. */
  start(): void;
  /** Stops both loops and deletes our lease; takes ten seconds at most when the API does not answer. */
  stop(): Promise<void>;
}

/** Keeps this server's lease and clears away those of servers that are gone. Import this file only when asked for leases. */
export function createLeaseController(options: LeaseControllerOptions): LeaseController {
  const { api, clock = systemClock, config, serverId, onError = ignore } = options;
  const shared = { api, clock, namespace: config.namespace, labels: config.labels, onError };
  const own = new OwnLease({ ...shared, serverId });
  const collector = new LeaseCollector({
    ...shared,
    onListed: options.onListed ?? ignore,
    onDeleted: options.onDeleted ?? ignore,
    onCulled: options.onCulled ?? ignore,
  });
  return {
    leaseName: own.name,
    start() {
      own.start();
      collector.start();
    },
    async stop() {
      await Promise.all([own.stop(), collector.stop()]);
    },
  };
}

function ignore(): void {}
