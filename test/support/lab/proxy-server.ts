import type { FrontDoor, Frontend } from "./frontends.js";
import { type Answer, get } from "./http.js";
import { LabProcess } from "./process.js";
import type { Scope } from "./scope.js";
import type { TunnelCertificates } from "./tunnel-certificates.js";

export const SERVER_METRIC = "konnectivity_network_proxy_server";

export interface ServerPorts {
  readonly frontend: number;
  readonly agents: number;
  readonly health: number;
  readonly admin: number;
}

export interface ServerOptions {
  readonly name: string;
  readonly executable: string;
  readonly netns?: string | undefined;
  readonly host: string;
  readonly ports: ServerPorts;
  readonly certificates: TunnelCertificates;
  /** Flags about agents' authentication and whatever else the test is about. */
  readonly flags: readonly string[];
}

/** A proxy-server, ours or upstream's, that can be ended and started again behind another front door. */
export class ProxyServer {
  readonly #scope: Scope;
  readonly #options: ServerOptions;
  #process: LabProcess | undefined;

  constructor(scope: Scope, options: ServerOptions) {
    this.#scope = scope;
    this.#options = options;
  }

  get door(): FrontDoor {
    const { host, ports, certificates, name } = this.#options;
    const socket = this.#scope.file(`${name}.sock`);
    return { socket, host, port: ports.frontend, caFile: certificates.ca.cert, client: certificates.frontendClient };
  }

  get ports(): ServerPorts {
    return this.#options.ports;
  }

  async start(frontend: Frontend): Promise<void> {
    await this.stop();
    const { name, executable, netns, ports, certificates, flags } = this.#options;
    this.#process = LabProcess.start(this.#scope, {
      name,
      netns,
      command: [
        executable,
        ...this.#frontendFlags(frontend),
        `--agent-port=${ports.agents}`,
        `--health-port=${ports.health}`,
        `--admin-port=${ports.admin}`,
        `--cluster-cert=${certificates.server.cert}`,
        `--cluster-key=${certificates.server.key}`,
        ...flags,
      ],
    });
    await this.#process.ready("healthy", 20_000, async () => (await this.health("/healthz")).status === 200);
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  /** Health and metrics as a probe on the same machine sees them. */
  health(path: string): Promise<Answer> {
    return get(`http://127.0.0.1:${this.#options.ports.health}${path}`, this.#options.netns);
  }

  async metrics(): Promise<string> {
    return (await get(`http://127.0.0.1:${this.#options.ports.admin}/metrics`, this.#options.netns)).body;
  }

  #frontendFlags(frontend: Frontend): string[] {
    const { certificates, ports } = this.#options;
    const mode = `--mode=${frontend.mode}`;
    if (frontend.transport === "uds") return [mode, `--uds-name=${this.door.socket}`, "--server-port=0"];
    return [
      mode,
      `--server-port=${ports.frontend}`,
      `--server-cert=${certificates.server.cert}`,
      `--server-key=${certificates.server.key}`,
      `--server-ca-cert=${certificates.ca.cert}`,
    ];
  }
}
