import { type Answer, get } from "./http.js";
import { LabProcess } from "./process.js";
import type { Scope } from "./scope.js";

export const AGENT_METRIC = "konnectivity_network_proxy_agent";

export interface AgentOptions {
  readonly name: string;
  readonly executable: string;
  readonly netns?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly caFile: string;
  readonly serverHost: string;
  readonly serverPort: number;
  readonly ports: { readonly health: number; readonly admin: number };
  readonly flags: readonly string[];
}

export class ProxyAgent {
  readonly #scope: Scope;
  readonly #options: AgentOptions;
  #process: LabProcess | undefined;

  constructor(scope: Scope, options: AgentOptions) {
    this.#scope = scope;
    this.#options = options;
  }

  /** Also its agent ID. */
  get name(): string {
    return this.#options.name;
  }

  async start(): Promise<void> {
    await this.stop();
    const { name, executable, netns, env, caFile, serverHost, serverPort, ports, flags } = this.#options;
    this.#process = LabProcess.start(this.#scope, {
      name,
      netns,
      env,
      command: [
        executable,
        `--ca-cert=${caFile}`,
        `--proxy-server-host=${serverHost}`,
        `--proxy-server-port=${serverPort}`,
        `--health-server-port=${ports.health}`,
        `--admin-server-port=${ports.admin}`,
        `--agent-id=${name}`,
        ...flags,
      ],
    });
    await this.#process.ready("healthy", 60_000, async () => (await this.health("/healthz")).status === 200);
  }

  /** Killed: agents answer the first SIGTERM by draining and stay. */
  async stop(): Promise<void> {
    await this.#process?.kill();
  }

  /** Asked to end: drains, and ends by itself where it was told to (ours, --drain-timeout). */
  async leave(graceMs: number): Promise<void> {
    await this.#process?.stop(graceMs);
  }

  /** Upstream's way: the first signal drains, the second one ends it. */
  signal(): void {
    if (this.#process !== undefined) process.kill(this.#process.pid, "SIGTERM");
  }

  async isReady(): Promise<boolean> {
    return (await this.health("/readyz")).status === 200;
  }

  health(path: string): Promise<Answer> {
    return get(`http://127.0.0.1:${this.#options.ports.health}${path}`, this.#options.netns);
  }

  log(): string {
    return this.#process?.log() ?? "";
  }

  async metrics(): Promise<string> {
    return (await this.health("/metrics")).body;
  }
}
