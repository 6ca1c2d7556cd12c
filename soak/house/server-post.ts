import { join } from "node:path";
import type { AgentPeer, Page, Tunnel } from "../../src/insight/observe/admin/contract.js";
import type { TestPki } from "../../test/support/processes/certs.js";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { choosePlace, type ServerPlace, serverFlags } from "../../test/support/processes/server.js";
import type { Daemon } from "./daemon.js";
import { get, parseSamples, type Samples } from "./look.js";

/** One proxy-server: where it stands, and what it says about itself. */
export class ServerPost {
  readonly index: number;
  readonly daemon: Daemon;
  readonly grpcPath: string;
  readonly #place: ServerPlace;
  readonly #flags: readonly string[];
  readonly #token: string;

  private constructor(index: number, daemon: Daemon, place: ServerPlace, flags: readonly string[], token: string) {
    this.index = index;
    this.daemon = daemon;
    this.#place = place;
    this.#token = token;
    this.grpcPath = `${place.udsPath}.grpc`;
    this.#flags = [...flags, `--listen=grpc+uds:${this.grpcPath}`];
  }

  static async prepare(
    index: number,
    daemon: Daemon,
    shared: { dir: string; pki: TestPki; token: string; servers: number },
  ): Promise<ServerPost> {
    const place = await choosePlace("connect-uds", shared.dir);
    const named = { ...place, udsPath: join(shared.dir, `${index}.sock`) };
    const flags = [
      ...serverFlags(named, shared.pki),
      `--server-count=${shared.servers}`,
      `--admin-token-file=${join(shared.dir, "admin-token")}`,
    ];
    return new ServerPost(index, daemon, named, flags, shared.token);
  }

  get connectPath(): string {
    return this.#place.udsPath;
  }

  get agentPort(): number {
    return this.#place.agentPort;
  }

  /** Up when this resolves; agents may come later. */
  async start(): Promise<void> {
    this.daemon.start(this.#flags);
    const up = () => get(this.#place.healthPort, "/healthz");
    await waitUntil(`${this.daemon.name} to be up`, up, { withinMs: 20_000 });
  }

  agents(): Promise<readonly AgentPeer[]> {
    return this.#list<AgentPeer>("agents");
  }

  tunnels(): Promise<readonly Tunnel[]> {
    return this.#list<Tunnel>("tunnels");
  }

  async samples(): Promise<Samples> {
    return parseSamples(await get(this.#place.adminPort, "/metrics"));
  }

  async #list<Row>(what: string): Promise<readonly Row[]> {
    const path = `/drawbridge/v1/${what}?limit=1000`;
    return (JSON.parse(await get(this.#place.adminPort, path, this.#token)) as Page<Row>).items;
  }
}
