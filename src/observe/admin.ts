/** The admin ports of server and agent: upstream's /metrics and /debug/pprof, and our API under /drawbridge/v1/. */

import { joinHostPort, splitHostPort } from "../wire/address.js";
import { adminGuard } from "./admin-guard.js";
import { metricsRoute } from "./health.js";
import {
  type Endpoint,
  type HttpRequest,
  type Route,
  type RunningHttp,
  redirect,
  sendText,
  startHttp,
} from "./http.js";
import type { MetricsRegistry } from "./metrics/registry.js";
import { plainJson } from "./plain-json.js";
import { profilingRoutes } from "./profiling.js";

/** One thing the API can show: all of its kind, and perhaps one of them by id. */
interface AdminResource {
  list(): unknown;
  find?(id: string): unknown;
}

export interface AdminOptions {
  /** The server or agent the port belongs to. */
  readonly source: object;
  /** Empty: the API is closed. */
  readonly tokenFile: string;
  readonly profiling: boolean;
  /** By name, e.g. `refusals`, `agents`, `tunnels`. */
  readonly resources: Readonly<Record<string, AdminResource>>;
}

const API = "/drawbridge/v1/";

export function startServerAdmin(
  endpoint: Endpoint,
  registry: MetricsRegistry,
  options: AdminOptions,
): Promise<RunningHttp> {
  return startAdmin(endpoint, metricsRoute(registry), options);
}

/** `healthPort` is where the agent's metrics are; upstream sends scrapers there. */
export function startAgentAdmin(endpoint: Endpoint, healthPort: number, options: AdminOptions): Promise<RunningHttp> {
  return startAdmin(endpoint, metricsElsewhere(healthPort), options);
}

function startAdmin(endpoint: Endpoint, metrics: Route, options: AdminOptions): Promise<RunningHttp> {
  const guard = adminGuard({ ...options, host: endpoint.host });
  const exact = new Map<string, Route>([["/metrics", metrics]]);
  const prefixes: [string, Route][] = [[API, guard(apiRoute(options.resources))]];
  if (options.profiling) {
    const [paths, rest] = profilingRoutes(guard);
    for (const [path, route] of paths) exact.set(path, route);
    prefixes.push(rest);
  }
  return startHttp("admin", endpoint, { exact, prefixes });
}

function metricsElsewhere(healthPort: number): Route {
  return (request, response) => {
    const asked = request.message.headers.host ?? "";
    const split = splitHostPort(asked);
    const host = "error" in split ? asked : split.host;
    redirect(request, response, `//${joinHostPort(host, healthPort)}${request.path}${request.rawQuery}`);
  };
}

function apiRoute(resources: AdminOptions["resources"]): Route {
  return (request, response) => {
    const { method } = request.message;
    const send = (status: number, value: unknown, headers = {}) =>
      sendText(response, status, `${plainJson(value)}\n`, {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        ...headers,
      });
    if (method !== "GET" && method !== "HEAD") {
      send(405, { error: "the admin API only answers GET" }, { Allow: "GET, HEAD" });
      return;
    }
    const found = lookUp(resources, request);
    if (found === undefined) send(404, { error: `there is no ${request.path}`, resources: Object.keys(resources) });
    else send(200, found);
  };
}

function lookUp(resources: AdminOptions["resources"], { path }: HttpRequest): unknown {
  const [name = "", ...rest] = path.slice(API.length).split("/");
  const resource = Object.hasOwn(resources, name) ? resources[name] : undefined;
  if (resource === undefined || rest.length > 1) return undefined;
  const id = rest[0];
  return id === undefined ? resource.list() : resource.find?.(id);
}
