/** Agents for node:http and node:https whose connections are tunnels; TLS to the target runs inside the tunnel. */
import http, { type ClientRequestArgs } from "node:http";
import https, { type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { joinHostPort } from "../../base/address.js";
import { type Dialer, dialerOf } from "./dial.js";
import type { Frontend } from "./frontend.js";

export type HttpAgentOptions = http.AgentOptions & {
  /** For each dial. Default 30 s. */
  readonly dialTimeoutMs?: number;
};
export type HttpsAgentOptions = https.AgentOptions & Pick<HttpAgentOptions, "dialTimeoutMs">;

type OnConnection = (error: Error | null, socket: Duplex) => void;

/** For `http://` targets. */
export function createHttpAgent(way: Frontend | Dialer, options: HttpAgentOptions = {}): http.Agent {
  return new TunnelHttpAgent(new TunnelSource(way, options.dialTimeoutMs), options);
}

/** For `https://` targets: `options` may carry `ca`, `cert`, `key` for the target itself. */
export function createHttpsAgent(way: Frontend | Dialer, options: HttpsAgentOptions = {}): https.Agent {
  return new TunnelHttpsAgent(new TunnelSource(way, options.dialTimeoutMs), options);
}

/** Dials for an agent, as long as the agent lives. */
class TunnelSource {
  readonly #dialer: Dialer;
  readonly #timeoutMs: number | undefined;
  #life = new AbortController();

  constructor(way: Frontend | Dialer, timeoutMs: number | undefined) {
    this.#dialer = dialerOf(way);
    this.#timeoutMs = timeoutMs;
  }

  dial({ host, port }: ClientRequestArgs, defaultPort: number, done: OnConnection): void {
    const address = joinHostPort(host ?? "localhost", port ?? defaultPort);
    this.#dialer.dial(address, { signal: this.#life.signal, timeoutMs: this.#timeoutMs }).then(
      (socket) => done(null, socket),
      // Node reads the error first and takes no socket then, whatever the types say.
      (reason: Error) => done(reason, undefined as unknown as Duplex),
    );
  }

  /** Dials under way fail; as with Node's own agents, later requests work again. */
  destroy(): void {
    this.#life.abort(new Error("the agent was destroyed"));
    this.#life = new AbortController();
  }
}

class TunnelHttpAgent extends http.Agent {
  readonly #source: TunnelSource;

  constructor(source: TunnelSource, options: http.AgentOptions) {
    super(options);
    this.#source = source;
  }

  override createConnection(options: ClientRequestArgs, done: OnConnection): undefined {
    this.#source.dial(options, 80, done);
  }

  override destroy(): void {
    this.#source.destroy();
    super.destroy();
  }
}

class TunnelHttpsAgent extends https.Agent {
  readonly #source: TunnelSource;

  constructor(source: TunnelSource, options: https.AgentOptions) {
    super(options);
    this.#source = source;
  }

  override createConnection(options: RequestOptions, done: OnConnection): undefined {
    this.#source.dial(options, 443, (error, tunnel) => {
      if (error !== null) {
        done(error, tunnel);
        return;
      }
      // Node's own method does the TLS, session tickets included, on the socket it is given.
      const secured = super.createConnection({ ...options, socket: tunnel } as RequestOptions);
      if (secured) done(null, secured);
    });
  }

  override destroy(): void {
    this.#source.destroy();
    super.destroy();
  }
}
