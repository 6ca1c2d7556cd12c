/** The health ports of processes: those of server and agent with upstream's paths, codes and bodies. No authentication, as upstream. */
import type { ServerResponse } from "node:http";
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
): Promise<RunningHttp> {
  return startHealth(endpoint, registry, (_request, response) => {
    const but = readiness.but?.();
    if (readiness.ready()) sendText(response, 200, but === undefined ? "ok" : `ok, but ${but}\n`);
    else sendText(response, 500, readiness.why?.() ?? "no connection to any proxy agent");
  });
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
export function startHealth(endpoint: Endpoint, registry: MetricsRegistry, readyz: Route): Promise<RunningHttp> {
  return startHttp("health", endpoint, {
    exact: new Map<string, Route>([
      ["/healthz", (_request, response) => sendText(response, 200, "ok")],
      // The shorter path is the older one; both are in use.
      ["/ready", readyz],
      ["/readyz", readyz],
      ["/metrics", metricsRoute(registry)],
    ]),
  });
}

/** The registry as Prometheus text; the admin port of a server shows the same. */
export function metricsRoute(registry: MetricsRegistry): Route {
  return (_request: HttpRequest, response: ServerResponse) =>
    sendText(response, 200, registry.text(), { "Content-Type": registry.contentType });
}
