import { join } from "node:path";
import type { TestPki } from "../../test/support/processes/certs.js";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { freePorts } from "../../test/support/processes/ports.js";
import type { Daemon } from "./daemon.js";
import { get, parseSamples, type Samples } from "./look.js";

/** One proxy-agent, with the intervals it ships with. */
export class AgentPost {
  readonly index: number;
  readonly id: string;
  readonly daemon: Daemon;
  readonly #healthPort: number;
  readonly #adminPort: number;
  readonly #token: string;
  readonly #flags: readonly string[];
  /** 0: ends at the second signal. */
  drainSeconds = 0;

  private constructor(
    index: number,
    daemon: Daemon,
    ports: readonly [health: number, admin: number],
    flags: readonly string[],
    token: string,
  ) {
    this.index = index;
    this.id = agentId(index);
    this.daemon = daemon;
    [this.#healthPort, this.#adminPort] = ports;
    this.#flags = flags;
    this.#token = token;
  }

  static async prepare(
    index: number,
    daemon: Daemon,
    shared: { dir: string; pki: TestPki; token: string; serverPorts: readonly number[] },
  ): Promise<AgentPost> {
    const ports = (await freePorts(2)) as [number, number];
    const { agent } = shared.pki;
    const flags = [
      `--proxy-server-host=${shared.serverPorts.map((port) => `127.0.0.1:${port}`).join(",")}`,
      `--agent-cert=${agent.cert}`,
      `--agent-key=${agent.key}`,
      `--ca-cert=${agent.ca}`,
      `--agent-id=${agentId(index)}`,
      "--health-server-host=127.0.0.1",
      `--health-server-port=${ports[0]}`,
      `--admin-server-port=${ports[1]}`,
      `--admin-token-file=${join(shared.dir, "admin-token")}`,
    ];
    return new AgentPost(index, daemon, ports, flags, shared.token);
  }

  /** Up when this resolves; its servers may come later. */
  async start(drainSeconds = 0): Promise<void> {
    this.drainSeconds = drainSeconds;
    this.daemon.start([...this.#flags, `--drain-timeout=${drainSeconds}s`]);
    const up = () => get(this.#healthPort, "/healthz");
    await waitUntil(`${this.daemon.name} to be up`, up, { withinMs: 20_000 });
  }

  async samples(): Promise<Samples> {
    return parseSamples(await get(this.#healthPort, "/metrics"));
  }

  /** As the agent lists them; for evidence. */
  tunnels(): Promise<string> {
    return get(this.#adminPort, "/drawbridge/v1/tunnels", this.#token);
  }
}

export const agentId = (index: number): string => `agent-${index + 1}`;
