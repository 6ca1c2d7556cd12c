/**
 * The admin port: upstream's /metrics and /debug/pprof; and, when a token file is given, our API under /drawbridge/v1/ and
 * the live page. Without one it is upstream's, but that a browser is told how to open the page.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { joinHostPort, splitHostPort } from "../../base/address.js";
import { metricsRoute } from "../../base/health.js";
import {
  type Endpoint,
  type HttpRequest,
  type HttpTls,
  type Route,
  type RunningHttp,
  redirect,
  sendText,
  startHttp,
} from "../../base/http.js";
import type { MetricsRegistry } from "../../base/metrics/registry.js";
import {
  callerAccepted,
  certificatesRefused,
  certificatesReloaded,
  certificatesUsable,
  peerRefused,
} from "../../tunnel/events/channels.js";
import { failedHandshake, OwnCertificate } from "../../tunnel/link/failed-handshake.js";
import { type PeerRefusal, remoteOf } from "../../tunnel/link/tls-listener.js";
import type { FileProblem } from "../../tunnel/pki/followed-files.js";
import { unusedFilesOf } from "../../tunnel/pki/unused-files.js";
import { AdminApi, orFailure } from "./admin/api.js";
import { closedPageRoute } from "./admin/closed-page.js";
import { API_PREFIX } from "./admin/contract.js";
import { Guard } from "./admin/guard.js";
import { AdminModel, type AdminModelOptions } from "./admin/model.js";
import { type LivePage, readLivePage } from "./admin/page-file.js";
import { Readers } from "./admin/readers.js";
import { profilingRoutes } from "./profiling.js";

/** Also says what is wrong with what is on disk now. */
type FollowedTls = (
  ...events: Parameters<HttpTls>
) => ReturnType<HttpTls> & { readonly problem?: FileProblem | undefined };

export interface AdminOptions extends AdminModelOptions {
  /** Empty: the API is closed. */
  readonly tokenFile: string;
  readonly profiling: boolean;
  /** Undefined: in the clear, and the API on loopback only. */
  readonly tls?: { readonly certFile: string; readonly follow: FollowedTls } | undefined;
  /** Asked for once, when somebody wants the page. */
  readonly page?: () => LivePage | undefined;
}

/** The registry's metrics, or where they are: upstream's agents send scrapers to the health port. */
export type AdminMetrics = MetricsRegistry | { readonly healthPort: number };

export async function startAdmin(
  endpoint: Endpoint,
  metrics: AdminMetrics,
  options: AdminOptions,
): Promise<RunningHttp> {
  const model = new AdminModel(options);
  const onRefused = (socket: Socket, refusal: Pick<PeerRefusal, "code" | "reason" | "remedy">): void =>
    peerRefused.publish({ source: options.source, listener: "admin", remote: remoteOf(socket), ...refusal });
  const onAccepted = (socket: Socket): void =>
    callerAccepted.publish({ source: options.source, listener: "admin", remote: remoteOf(socket) });
  const guard = new Guard({ ...options, host: endpoint.host, instance: model.instance, onAccepted, onRefused });
  const readers = new Readers(model);
  const exact = new Map<string, Route>([
    [
      "/metrics",
      "healthPort" in metrics ? metricsElsewhere(metrics.healthPort, options.tls !== undefined) : metricsRoute(metrics),
    ],
  ]);
  const prefixes: [string, Route][] = [[API_PREFIX, new AdminApi(model, guard, readers).route]];
  const hasToken = options.tokenFile !== "";
  exact.set(
    "/",
    hasToken ? pageRoute(guard, options.page ?? readLivePage) : closedPageRoute(() => options.subject.process().role),
  );
  if (options.profiling) {
    const [paths, rest] = profilingRoutes(guarded(guard));
    for (const [path, route] of paths) exact.set(path, route);
    prefixes.push(rest);
  }
  const http = await startHttp(
    "admin",
    endpoint,
    { exact, prefixes },
    options.tls && published(options.tls, options, model),
    (error, socket) => {
      const refusal = failedHandshake(
        error,
        "http/1.1",
        () => new OwnCertificate(model.ownCertificate?.()?.cert ?? ""),
      );
      if (refusal !== undefined) onRefused(socket, refusal);
    },
  );
  return {
    ...http,
    close: async () => {
      readers.close();
      model.close();
      await http.close();
    },
  };
}

/** The port's own certificate, published for the log and shown among the others of the process. */
function published(
  { certFile, follow }: NonNullable<AdminOptions["tls"]>,
  { source }: AdminOptions,
  model: AdminModel,
): HttpTls {
  const files = [certFile];
  return ({ onChange }) => {
    const followed = follow({
      onChange: (next) => {
        onChange(next);
        certificatesReloaded.publish({ source, listener: "admin", files });
      },
      onProblem: (error) =>
        certificatesRefused.publish({ source, listener: "admin", files, error: error.message, code: error.code }),
      onRecovery: () => certificatesUsable.publish({ source, listener: "admin", files }),
    });
    model.ownCertificate = () => ({ use: "admin", certFile, cert: String(followed.current.cert) });
    model.ownUnusedFiles = () => unusedFilesOf("admin", files, followed.problem);
    return followed;
  };
}

function guarded(guard: Guard): (route: Route) => Route {
  return (route) => (request, response) =>
    orFailure(response, async () => {
      await guard.admit(request.message);
      await route(request, response);
    });
}

/** The health port never speaks TLS; without a scheme of its own the redirect would keep this port's. */
function metricsElsewhere(healthPort: number, isSecure: boolean): Route {
  const scheme = isSecure ? "http:" : "";
  return (request, response) => {
    const asked = request.message.headers.host ?? "";
    const split = splitHostPort(asked);
    const host = "error" in split ? asked : split.host;
    redirect(request, response, `${scheme}//${joinHostPort(host, healthPort)}${request.path}${request.rawQuery}`);
  };
}

const NOT_BUILT = `This is drawbridge's admin port. The live page is not part of this build: npm run build makes it.
The API is below ${API_PREFIX}, with the token of --admin-token-file:
curl -H "Authorization: Bearer $(cat TOKENFILE)" http://ADDRESS${API_PREFIX}
`;

function pageRoute(guard: Guard, read: () => LivePage | undefined): Route {
  let page: LivePage | undefined;
  return ({ message }: HttpRequest, response: ServerResponse) =>
    orFailure(response, () => {
      guard.admitAddress(message);
      page ??= read();
      const headers = {
        "Cache-Control": "no-cache",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
      };
      if (page === undefined) sendText(response, 200, NOT_BUILT, headers);
      else {
        const { html, csp } = page;
        response.writeHead(200, {
          ...headers,
          "Content-Type": "text/html; charset=utf-8",
          "Content-Length": html.length,
          "Content-Security-Policy": csp,
        });
        response.end(html);
      }
    });
}
