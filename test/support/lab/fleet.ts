import { executable, type Origin } from "../processes/executables.js";
import { freePort } from "../processes/ports.js";
import { Balancer } from "./balancer.js";
import type { ControlPlane } from "./control-plane.js";
import { grpcOverUds } from "./frontends.js";
import { writeKubeconfig } from "./kubectl.js";
import { ProxyAgent } from "./proxy-agent.js";
import { ProxyServer } from "./proxy-server.js";
import type { Scope } from "./scope.js";
import { AGENT_ACCOUNT, AGENT_NAMESPACE, AUDIENCE, SERVER_USER } from "./service-account.js";
import { makeTunnelCertificates, type TunnelCertificates } from "./tunnel-certificates.js";

const HOST = "127.0.0.1";

export interface FleetFiles {
  readonly certificates: TunnelCertificates;
  readonly serverKubeconfig: string;
  readonly agentKubeconfig: string;
}

/** Certificates and kubeconfigs, made once for all fleets of a test file. */
export function makeFleetFiles(scope: Scope, plane: ControlPlane, apiTokenFile: string, env = {}): FleetFiles {
  return {
    certificates: makeTunnelCertificates(scope, HOST, env),
    serverKubeconfig: plane.kubeconfig(SERVER_USER),
    agentKubeconfig: writeKubeconfig(scope.file("agent.kubeconfig"), plane.api, { tokenFile: apiTokenFile }),
  };
}

export interface FleetOptions {
  readonly name: string;
  readonly server: Origin;
  readonly agent: Origin;
  /** A number is told to servers by flag; "leases" makes everyone count leases. */
  readonly serverCount: number | "leases";
  /** One for all agents, or one for each. */
  readonly tokenFile: string | readonly string[];
  /** The environment of the server, or the agent, with that number. */
  readonly serverEnv?: (index: number) => Readonly<Record<string, string>>;
  readonly agentEnv?: (index: number) => Readonly<Record<string, string>>;
  /** Keeps the leases of fleets apart that run at the same time; without it they have the programs' own label. */
  readonly leaseLabel?: string;
}

/** Found again soon: backing off for as long as they usually may is nothing that these fleets are about. */
const QUICK = ["--sync-interval=300ms", "--sync-interval-cap=1s"];

/** Servers behind one address and agents that authenticate with service-account tokens, all on loopback. */
export class Fleet {
  readonly servers: ProxyServer[] = [];
  readonly agents: ProxyAgent[] = [];
  readonly #scope: Scope;
  readonly #files: FleetFiles;
  readonly #options: FleetOptions;
  readonly #balancer: Balancer;

  private constructor(scope: Scope, files: FleetFiles, options: FleetOptions, balancer: Balancer) {
    this.#scope = scope;
    this.#files = files;
    this.#options = options;
    this.#balancer = balancer;
  }

  static async make(scope: Scope, files: FleetFiles, options: FleetOptions): Promise<Fleet> {
    return new Fleet(scope, files, options, await Balancer.start(scope));
  }

  /** Starts as many more as are missing. */
  async scale(servers: number, agents: number): Promise<void> {
    const missing = (have: number, wanted: number) => Array.from({ length: wanted - have }, (_, index) => have + index);
    this.servers.push(
      ...(await Promise.all(missing(this.servers.length, servers).map((index) => this.#startServer(index)))),
    );
    this.agents.push(
      ...(await Promise.all(missing(this.agents.length, agents).map((index) => this.#startAgent(index)))),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.stop()));
    this.#balancer.clear();
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  get #leaseFlags(): string[] {
    const { leaseLabel } = this.#options;
    return leaseLabel === undefined ? [] : [`--lease-label=${leaseLabel}`];
  }

  async #startServer(index: number): Promise<ProxyServer> {
    const { name, server: origin, serverCount } = this.#options;
    const { certificates, serverKubeconfig } = this.#files;
    const ports = { agents: await freePort(), health: await freePort(), admin: await freePort(), frontend: 0 };
    const server = new ProxyServer(this.#scope, {
      name: `${name}-server-${index}`,
      executable: executable(origin, "proxy-server"),
      env: this.#options.serverEnv?.(index),
      host: HOST,
      ports,
      certificates,
      flags: [
        `--agent-bind-address=${HOST}`,
        `--agent-namespace=${AGENT_NAMESPACE}`,
        `--agent-service-account=${AGENT_ACCOUNT}`,
        `--authentication-audience=${AUDIENCE}`,
        `--kubeconfig=${serverKubeconfig}`,
        serverCount === "leases" ? "--enable-lease-controller" : `--server-count=${serverCount}`,
        ...this.#leaseFlags,
      ],
    });
    await server.start(grpcOverUds);
    this.#balancer.add(ports.agents);
    return server;
  }

  async #startAgent(index: number): Promise<ProxyAgent> {
    const { name, agent: origin, serverCount, tokenFile } = this.#options;
    const { certificates, agentKubeconfig } = this.#files;
    const token = typeof tokenFile === "string" ? tokenFile : tokenFile[index];
    const counting = ["--count-server-leases", `--kubeconfig=${agentKubeconfig}`, ...this.#leaseFlags];
    const agent = new ProxyAgent(this.#scope, {
      name: `${name}-agent-${index}`,
      executable: executable(origin, "proxy-agent"),
      env: this.#options.agentEnv?.(index),
      caFile: certificates.ca.cert,
      serverHost: HOST,
      serverPort: this.#balancer.port,
      ports: { health: await freePort(), admin: await freePort() },
      flags: [`--service-account-token-path=${token}`, ...QUICK, ...(serverCount === "leases" ? counting : [])],
    });
    await agent.start();
    return agent;
  }
}
