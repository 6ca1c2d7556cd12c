import { once } from "node:events";
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { NetConnectOpts, Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { joinHostPort } from "../../base/address.js";
import { at } from "../../base/at.js";
import type { Clock } from "../../base/clock.js";
import { messageOf, reasonOf } from "../../base/errors/error.js";
import type { ProxyEnvironment } from "../../tunnel/outgoing/environment-proxy.js";
import { DialFailure, explainConnect } from "../../tunnel/outgoing/explain.js";
import { secureInTime, tcpInTime } from "../../tunnel/outgoing/in-time.js";
import type { KubeCredentials, KubeEndpoint, KubeTls } from "./endpoint.js";
import { unreachableError } from "./errors.js";
import { throughEnvironmentProxy, throughProxy } from "./proxy.js";

export interface ApiCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its query. */
  readonly path: string;
  readonly body?: string;
  /** The type of the body; JSON by default. */
  readonly contentType?: string;
  /** The type of the answer; JSON by default. */
  readonly accept?: string;
}

/** Credentials are read again from files and plugins at most this often, and at once after a 401. */
const CREDENTIALS_MS = 10_000;
/** Below the idle time after which API servers and balancers close connections, so that a request seldom meets a closed one. */
const IDLE_MS = 30_000;
const KEEP_ALIVE_MS = 15_000;

/** Kept-alive connections to one API server, with whatever credentials are current. */
export function kubeConnection(endpoint: KubeEndpoint, clock: Clock, env: ProxyEnvironment = process.env) {
  let agent: HttpAgent | undefined;
  let agentFits = "";
  let credentials: KubeCredentials | undefined;
  let readAt = 0;
  const isSecure = () => endpoint.server.startsWith("https:");

  async function currentCredentials(areRefused = false): Promise<KubeCredentials> {
    if (credentials === undefined || areRefused || clock.now() - readAt >= CREDENTIALS_MS) {
      credentials = await endpoint.credentials(areRefused);
      readAt = clock.now();
    }
    return credentials;
  }

  async function send(call: ApiCall, { headers, ...access }: KubeCredentials, signal: AbortSignal) {
    const { accept = "application/json", body, contentType = "application/json", method } = call;
    const content = body !== undefined && {
      "content-type": contentType,
      "content-length": Buffer.byteLength(body),
    };
    const options = {
      ...{ method, signal, agent: agentFor(access) },
      headers: { accept, "user-agent": "drawbridge", ...content, ...headers },
    };
    for (;;) {
      let request: ClientRequest | undefined;
      try {
        // Throws for a URL or a header that cannot be.
        request = (isSecure() ? httpsRequest : httpRequest)(endpoint.server + call.path, options);
        // A connection may also break after the head of the answer; its reader learns of that.
        request.on("error", () => {}).end(body);
        const [response] = (await once(request, "response")) as [IncomingMessage];
        return response;
      } catch (reason) {
        // The server may have closed a kept-alive connection while the request was written.
        const isStale = request?.reusedSocket === true && /^(ECONNRESET|EPIPE)$/.test(String(at(reason, "code")));
        if (isStale && repeatable(call)) continue;
        const why = signal.aborted ? messageOf(signal.reason) : connectFailure(endpoint.server, reason);
        // A port for TLS ends a connection that begins with HTTP, mostly with an alert in place of an answer.
        const isPlain = !isSecure() && /^(ECONNRESET|HPE_.*)$/.test(String(at(reason, "code")));
        const scheme = isPlain ? "; if that port serves TLS, server: in the kubeconfig has to begin with https://" : "";
        throw unreachableError(describe(call), endpoint.server, why + scheme, reason);
      }
    }
  }

  /** Connections made with replaced certificates are not used for new calls; calls under way on them finish. */
  function agentFor({ proxy, tls }: Omit<KubeCredentials, "headers">): HttpAgent {
    const wanted = JSON.stringify([endpoint.server, proxy, tls]);
    if (agent !== undefined && wanted === agentFits) return agent;
    const options = {
      ...{ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, maxSockets: 32, timeout: IDLE_MS },
    };
    const otherwise = isSecure() ? throughEnvironmentProxy(env, dialDirectly) : dialDirectly;
    const dial = proxy === undefined ? otherwise : throughProxy(proxy);
    const reach = async (target: Target): Promise<Socket> => {
      const socket = await dial(target);
      // Watches are silent for long, and whoever is between may forget them.
      socket.setKeepAlive(true, KEEP_ALIVE_MS).setNoDelay(true);
      return isSecure() ? await securedFor(target, socket, tls) : socket;
    };
    agent = Object.assign(isSecure() ? new HttpsAgent(options) : new HttpAgent(options), {
      createConnection(
        { host, port }: NetConnectOpts & Partial<Target>,
        done: (reason: Error | null, socket?: Socket) => void,
      ) {
        reach({ host: String(host), port: Number(port) }).then((socket) => done(null, socket), done);
      },
    });
    agentFits = wanted;
    return agent;
  }

  return {
    /** Sends the call and returns as soon as the answer's head is there. The signal ends the answer's body, too. */
    async open(call: ApiCall, signal: AbortSignal): Promise<IncomingMessage> {
      const shown = await currentCredentials();
      const response = await send(call, shown, signal);
      if (response.statusCode !== 401) return response;
      // The token may have been replaced a moment ago; ask once more only if there is something new to show.
      const fresh = await currentCredentials(true);
      if (JSON.stringify(fresh) === JSON.stringify(shown)) return response;
      response.resume();
      return send(call, fresh, signal);
    },
    close(): void {
      agent?.destroy();
      agent = undefined;
    },
  };
}

interface Target {
  readonly host: string;
  readonly port: number;
}

/** Calls have limits of their own, and most are shorter. */
const CONNECT_MS = 30_000;

function dialDirectly(target: Target): Promise<Socket> {
  const where = joinHostPort(target.host, target.port);
  return tcpInTime({ ...target }, where, AbortSignal.timeout(CONNECT_MS), CONNECT_MS);
}

async function securedFor({ host, port }: Target, socket: Socket, tls: KubeTls): Promise<Socket> {
  const { ca, cert, key, rejectUnauthorized = true, servername: name = host } = tls;
  const context = createSecureContext({ ca, cert, key, minVersion: "TLSv1.2" });
  const set = { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }) };
  const credentials = () => ({ self: "this client", set, admittedBy: "--client-ca-file" });
  const dial = { socket, where: joinHostPort(host, port), name, context, alpn: ["http/1.1"], credentials };
  const isUnverified = !rejectUnauthorized;
  return (await secureInTime({ ...dial, isUnverified }, AbortSignal.timeout(CONNECT_MS))).socket;
}

/** The system's codes are explained; anything else has words of its own. */
function connectFailure(url: string, reason: unknown): string {
  if (reason instanceof DialFailure) return reasonOf(reason);
  const explained = URL.canParse(url) ? explainConnect(new URL(url).host, reason) : undefined;
  return explained instanceof DialFailure ? reasonOf(explained) : messageOf(reason);
}

export function describe(call: ApiCall): string {
  return `${call.method} ${call.path.split("?")[0]}`;
}

/** Whether the call may be sent twice. Reviews store nothing, and the only patches are applies. */
function repeatable(call: ApiCall): boolean {
  return call.method !== "POST" || /reviews$/.test(call.path);
}
