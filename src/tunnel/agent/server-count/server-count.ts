import type { Clock } from "../../../cluster/kube/clock.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import type { AgentConfig } from "../config.js";
import type { LeaseCount } from "./lease-count.js";

export interface LeaseObservers {
  /** One list request: HTTP status (0: no answer), duration, the API's reason for a failure. */
  readonly onListed?: (status: number, seconds: number, reason: string) => void;
  /** One watch request, as soon as it was accepted or refused. */
  readonly onWatched?: (status: number, reason: string) => void;
  /** Counting goes on by itself. */
  readonly onError?: (reason: unknown) => void;
}

export interface ServerCountOptions extends LeaseObservers {
  readonly config: Pick<AgentConfig, "leases" | "serverCountSource" | "kube">;
  readonly clock?: Clock;
  /** Default: what `config.kube` says. */
  readonly openApi?: () => Promise<KubeApi>;
}

/** How many servers this agent should be connected to. */
export interface ServerCount {
  /** Returns at once, whatever state the Kubernetes API is in. Does nothing unless leases are to be counted. */
  start(): void;
  /** What a server said in its `servercount` header; the last one counts. */
  received(count: number): void;
  /** At least 1. */
  wanted(): number;
  stop(): Promise<void>;
}

export function createServerCount(options: ServerCountOptions): ServerCount {
  const { config } = options;
  let announced = 1;
  let stopped = false;
  let loading: Promise<void> | undefined;
  let api: KubeApi | undefined;
  let leases: LeaseCount | undefined;

  async function openApi(): Promise<KubeApi> {
    const open =
      options.openApi ?? (async () => (await import("../../../cluster/kube/open.js")).openKubeApi(config.kube));
    api = await open();
    return api;
  }

  return {
    start() {
      const wanted = config.leases;
      if (wanted === undefined) return;
      // Loaded only now: an agent that counts no leases never pays for the Kubernetes client.
      loading ??= import("./lease-count.js").then(({ LeaseCount }) => {
        if (!stopped) leases = new LeaseCount({ ...options, ...wanted, openApi });
      });
    },
    received(count) {
      announced = Math.max(1, count);
    },
    wanted() {
      const counted = leases?.count();
      // Until leases are known the servers' own word is the best there is.
      if (counted === undefined) return announced;
      return config.serverCountSource === "max" ? Math.max(counted, announced) : counted;
    },
    async stop() {
      stopped = true;
      await loading;
      await leases?.stop();
      api?.close();
    },
  };
}
