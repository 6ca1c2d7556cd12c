/** Agents for node:http and node:https whose connections are tunnels; TLS to the target runs inside the tunnel. */
import http, { type ClientRequestArgs } from "node:http";
import https, { type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { joinHostPort } from "../../base/address.js";
import { type Dialer, dialerOf } from "./dial.js";
import type { Frontend } from "./frontend.js";
import type { TunnelSocket } from "./grpc-tunnel.js";

export type HttpAgentOptions = http.AgentOptions & {
  /** For each dial. Default 30 s. */
  readonly dialTimeoutMs?: number;
};
export type HttpsAgentOptions = https.AgentOptions & Pick<HttpAgentOptions, "dialTimeoutMs">;

type OnConnection = (error: Error | null, socket: Duplex) => void;

/** For `http://` targets. */
export function createHttpAgent(route: Frontend | Dialer, options: HttpAgentOptions = {}): http.Agent {
  return tunnelled(new http.Agent(options), route, options.dialTimeoutMs, 80, (tunnel) => tunnel);
}

/** For `https://` targets: `options` may carry `ca`, `cert`, `key` for the target itself. */
export function createHttpsAgent(route: Frontend | Dialer, options: HttpsAgentOptions = {}): https.Agent {
  const agent = new https.Agent(options);
  // Node's own method does the TLS, session tickets included, on the socket it is given.
  const secure = agent.createConnection.bind(agent);
  return tunnelled(agent, route, options.dialTimeoutMs, 443, (socket, request) =>
    secure({ ...request, socket } as RequestOptions),
  );
}

/** The agent with tunnels for its connections; `finish` makes a connection of a tunnel. */
function tunnelled<Agent extends http.Agent>(
  agent: Agent,
  route: Frontend | Dialer,
  timeoutMs: number | undefined,
  defaultPort: number,
  finish: (tunnel: TunnelSocket, request: ClientRequestArgs & RequestOptions) => Duplex | null | undefined,
): Agent {
  const dialer = dialerOf(route);
  const destroyAgent = agent.destroy.bind(agent);
  let life = new AbortController();
  return Object.assign(agent, {
    createConnection(request: ClientRequestArgs & RequestOptions, done: OnConnection): undefined {
      const address = joinHostPort(request.host ?? "localhost", request.port ?? defaultPort);
      dialer.dial(address, { signal: life.signal, timeoutMs }).then(
        (tunnel) => {
          const connection = finish(tunnel, request);
          if (connection) done(null, connection);
        },
        // Node reads the error first and takes no socket then, whatever the types say.
        (reason: Error) => done(reason, undefined as unknown as Duplex),
      );
    },
    /** Dials under way fail; as with Node's own agents, later requests work again. */
    destroy(): void {
      life.abort(new Error("the agent was destroyed"));
      life = new AbortController();
      destroyAgent();
    },
  });
}
