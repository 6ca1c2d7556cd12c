/** The health ports of processes: those of server and agent with upstream's paths, codes and bodies. No authentication, as upstream. */
import type { ServerResponse } from "node:http";
import type { Clock } from "./clock.js";
import { type Endpoint, type HttpRequest, type Route, type RunningHttp, sendText, startHttp } from "./http.js";
import type { MetricsRegistry } from "./metrics/registry.js";

export interface Readiness {
  ready(): boolean;
  /** The reason when it is not ready, instead of upstream's words. */
  why?(): string | undefined;
  /** Agents: some server is connected, so that only `why` says what is missing. */
  some?(): boolean;
  /** What is wrong although it is ready. */
  but?(): string | undefined;
}

export function startServerHealth(
  endpoint: Endpoint,
  readiness: Readiness,
  registry: MetricsRegistry,
  more: Readonly<Record<string, Route>> = {},
): Promise<RunningHttp> {
  const readyz: Route = (_request, response) => {
    const but = readiness.but?.();
    if (readiness.ready()) sendText(response, 200, but === undefined ? "ok" : `ok, but ${but}\n`);
    else sendText(response, 500, readiness.why?.() ?? NO_AGENT);
  };
  return startHealth(endpoint, registry, readyz, more);
}

/** Upstream's words. */
const NO_AGENT = "no connection to any proxy agent";

/** How long after its start a server without agents is kept from callers, unless the query says `within` another time. */
const FIRST_AGENT_SECONDS = "30s";

/**
 * Whether the pod of a kube-apiserver may take its first callers, or the kube-apiserver may start: its server was ready
 * once since its start. Not for long without an agent: the nodes of a new cluster join through this very kube-apiserver.
 * What comes later changes nothing: agents that are gone must find their way back.
 */
export function firstAgentRoute(readiness: Readiness & { draining(): boolean }, clock: Clock): Route {
  const start = clock.now();
  let wasReady = false;
  return ({ query }, response) => {
    const [, within] = /^(\d{1,3})s$/.exec(query.get("within") ?? FIRST_AGENT_SECONDS) ?? [];
    if (within === undefined) return sendText(response, 400, "within takes whole seconds, as in 15s\n");
    if (readiness.draining()) return sendText(response, 500, "shutting down");
    wasReady ||= readiness.ready();
    const left = Math.ceil(Number(within) - (clock.now() - start) / 1000);
    if (wasReady) return sendText(response, 200, "ok");
    if (left <= 0) return sendText(response, 200, "ok, but the server has not been ready since its start\n");
    const why = readiness.why?.() ?? NO_AGENT;
    sendText(
      response,
      500,
      `${why}; this path answers 200 once the server has been ready, at the latest in ${left}s\n`,
    );
  };
}

export function startAgentHealth(
  endpoint: Endpoint,
  readiness: Readiness,
  registry: MetricsRegistry,
): Promise<RunningHttp> {
  return startHealth(endpoint, registry, ({ query }, response) => {
    if (!readiness.ready()) {
      const why = readiness.why?.();
      const none = why === undefined ? "no servers connected" : `no servers connected: ${why}`;
      sendText(response, 503, `[+]ping ok\n[-]server-connected failed: ${readiness.some?.() ? why : none}\n`);
    } else if (query.has("verbose")) {
      sendText(response, 200, "[+]ping ok\n[+]server-connected ok\ncheck passed\n");
    } else {
      sendText(response, 200, "ok");
    }
  });
}

/** `readyz` answers whether the process is ready. */
export function startHealth(
  endpoint: Endpoint,
  registry: MetricsRegistry,
  readyz: Route,
  more: Readonly<Record<string, Route>> = {},
): Promise<RunningHttp> {
  return startHttp("health", endpoint, {
    exact: new Map<string, Route>([
      ["/healthz", (_request, response) => sendText(response, 200, "ok")],
      // The shorter path is the older one; both are in use.
      ["/ready", readyz],
      ["/readyz", readyz],
      ["/metrics", metricsRoute(registry)],
      ...Object.entries(more),
    ]),
  });
}

/** The registry as Prometheus text; the admin port of a server shows the same. */
export function metricsRoute(registry: MetricsRegistry): Route {
  return (_request: HttpRequest, response: ServerResponse) =>
    sendText(response, 200, registry.text(), { "Content-Type": registry.contentType });
}
