import type { Pair } from "./certificates.js";
import type { Frontend, FrontendPlace } from "./frontends.js";
import { type Answer, get } from "./http.js";
import { LabProcess } from "./process.js";
import type { Scope } from "./scope.js";

export const SERVER_METRIC = "konnectivity_network_proxy_server";

export interface ServerPorts {
  readonly frontend: number;
  readonly agents: number;
  readonly health: number;
  readonly admin: number;
}

/** Where callers and agents have certificates of their own, `cluster` and `callersCa` say so. */
export interface ServerCertificates {
  /** What callers check the server against. */
  readonly ca: { readonly cert: string };
  readonly server: Pair;
  readonly frontendClient: Pair;
  /** The agents' listener. */
  readonly cluster?: Pair;
  /** What the server checks callers against. */
  readonly callersCa?: string;
}

export interface ServerOptions {
  readonly name: string;
  readonly executable: string;
  readonly netns?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly host: string;
  readonly ports: ServerPorts;
  readonly certificates: ServerCertificates;
  /** Flags about agents' authentication and whatever else the test is about. */
  readonly flags: readonly string[];
}

/** A proxy-server, ours or upstream's, that can be ended and started again behind another frontend. */
export class ProxyServer {
  readonly #scope: Scope;
  readonly #options: ServerOptions;
  #process: LabProcess | undefined;

  constructor(scope: Scope, options: ServerOptions) {
    this.#scope = scope;
    this.#options = options;
  }

  get frontend(): FrontendPlace {
    const { host, ports, certificates, name } = this.#options;
    const socket = this.#scope.file(`${name}.sock`);
    return { socket, host, port: ports.frontend, caFile: certificates.ca.cert, client: certificates.frontendClient };
  }

  get ports(): ServerPorts {
    return this.#options.ports;
  }

  /** A flag that is said again in `more` has that value this time. */
  async start(frontend: Frontend, more: readonly string[] = []): Promise<void> {
    await this.stop();
    const { name, executable, netns, env, ports, certificates, flags } = this.#options;
    const { cert, key } = certificates.cluster ?? certificates.server;
    this.#process = LabProcess.start(this.#scope, {
      name,
      netns,
      env,
      command: [
        executable,
        ...this.#frontendFlags(frontend),
        `--agent-port=${ports.agents}`,
        `--health-port=${ports.health}`,
        `--admin-port=${ports.admin}`,
        `--cluster-cert=${cert}`,
        `--cluster-key=${key}`,
        ...flags,
        ...more,
      ],
    });
    await this.#process.ready("healthy", 60_000, async () => (await this.health("/healthz")).status === 200);
  }

  /** Asked to end; one that drains may need longer than the usual grace. */
  async stop(graceMs?: number): Promise<void> {
    await this.#process?.stop(graceMs);
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** Health and metrics as a probe on the same machine sees them. */
  health(path: string): Promise<Answer> {
    return get(`http://127.0.0.1:${this.#options.ports.health}${path}`, this.#options.netns);
  }

  log(): string {
    return this.#process?.log() ?? "";
  }

  async metrics(): Promise<string> {
    return (await get(`http://127.0.0.1:${this.#options.ports.admin}/metrics`, this.#options.netns)).body;
  }

  #frontendFlags(frontend: Frontend): string[] {
    const { certificates, ports } = this.#options;
    const mode = `--mode=${frontend.mode}`;
    if (frontend.transport === "uds") return [mode, `--uds-name=${this.frontend.socket}`, "--server-port=0"];
    return [
      mode,
      `--server-port=${ports.frontend}`,
      `--server-cert=${certificates.server.cert}`,
      `--server-key=${certificates.server.key}`,
      `--server-ca-cert=${certificates.callersCa ?? certificates.ca.cert}`,
    ];
  }
}
