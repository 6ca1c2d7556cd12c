/** An agent that breaks the rules: what it gets is its own affair, and nobody else may notice. */
import type { Socket } from "node:net";
import { featureHeader, OUR_FEATURES } from "../../src/tunnel/link/features.js";
import { openSession } from "../../src/tunnel/link/open.js";
import { SegmentCounters } from "../../src/tunnel/link/packet-meter.js";
import { PacketStream, type StreamOwner } from "../../src/tunnel/link/packet-stream.js";
import type { ControlPacket } from "../../src/tunnel/wire/packet.js";
import type { Network } from "../sockets/network.js";
import type { SimSocket } from "../sockets/socket.js";
import type { AgentPlan } from "../types.js";
import { Content } from "../world/content.js";
import { Host } from "../world/host.js";
import type { World } from "../world/world.js";
import { runtimeOf } from "./runtime.js";
import { addressOf, GOOD_TOKEN } from "./server.js";

const REFUSED = "dial tcp: connect: connection refused";
const AGAIN_MS = 1_000;
const TOO_MUCH = 300 * 1024;

export class WrongAgent {
  readonly plan: AgentPlan;
  host: Host;
  isUp = false;
  readonly #world: World;
  readonly #network: Network;
  /** The name of the stream that the endpoint with this address would send. */
  readonly #streamOf: (address: string) => string;

  constructor(world: World, network: Network, plan: AgentPlan, streamOf: (address: string) => string) {
    this.#world = world;
    this.#network = network;
    this.plan = plan;
    this.#streamOf = streamOf;
    this.host = new Host(world, plan.name);
  }

  start(): void {
    this.isUp = true;
    for (const server of this.plan.servers) this.#connect(server);
  }

  kill(): void {
    if (!this.isUp) return;
    this.isUp = false;
    this.#network.kill(this.host);
  }

  restart(): void {
    if (this.isUp) return;
    this.host = new Host(this.#world, this.plan.name);
    this.start();
  }

  async drain(): Promise<void> {
    this.kill();
  }

  #connect(server: string): void {
    const { host, plan } = this;
    const socket = this.#network.connect(host, addressOf.agents(server), { encrypted: true });
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.isUp) host.after(AGAIN_MS, "connects again", () => this.#connect(server));
    });
    socket.on("connect", () => {
      const { call } = openSession(socket as unknown as Socket, server, "https", "wrong", runtimeOf(host));
      const stream = call("/AgentService/Connect", {
        agentid: plan.name,
        authorization: `Bearer ${GOOD_TOKEN}`,
        ...(plan.extended ? featureHeader(OUR_FEATURES) : {}),
      });
      stream.once("headers", () => {
        if (stream.closed) return;
        const owner = new Mischief(this, socket, this.#world, this.#streamOf);
        const counters = { received: new SegmentCounters(), sent: new SegmentCounters() };
        owner.stream = new PacketStream(stream, owner, { ...counters, extended: plan.extended });
      });
    });
  }
}

class Mischief implements StreamOwner {
  stream!: PacketStream;
  readonly #agent: WrongAgent;
  readonly #socket: SimSocket;
  readonly #world: World;
  readonly #streamOf: (address: string) => string;
  #count = 0;

  constructor(agent: WrongAgent, socket: SimSocket, world: World, streamOf: (address: string) => string) {
    this.#agent = agent;
    this.#socket = socket;
    this.#world = world;
    this.#streamOf = streamOf;
  }

  onControl(packet: ControlPacket): void {
    if (packet.type === "DIAL_REQ") this.#onDial(packet.address, packet.random);
  }

  #onDial(address: string, random: bigint): void {
    const { stream } = this;
    const refuse = (): void => stream.control({ type: "DIAL_RSP", error: REFUSED, connectId: 0, random });
    const closeSoon = (connectId: number): void => {
      this.#agent.host.after(300, "closes", () => stream.control({ type: "CLOSE_RSP", connectId, error: "" }));
    };
    switch (this.#agent.plan.wrong) {
      case "unknown-dials":
        stream.control({ type: "DIAL_RSP", error: "", connectId: 77, random: random ^ 1n });
        stream.control({ type: "DIAL_CLS", random: random ^ 2n });
        refuse();
        break;
      case "taken-number":
        stream.control({ type: "DIAL_RSP", error: "", connectId: 1, random });
        closeSoon(1);
        break;
      case "data-unasked":
        stream.data(++this.#count + 900, Buffer.alloc(1_000));
        stream.control({ type: "CREDIT", connectId: 901, bytes: 1_000_000 });
        stream.control({ type: "END_OF_STREAM", connectId: 902 });
        stream.control({ type: "CLOSE_RSP", connectId: 903, error: "" });
        refuse();
        break;
      case "beyond-window": {
        const connectId = ++this.#count;
        const content = new Content(this.#world.seed, this.#streamOf(address));
        stream.control({ type: "DIAL_RSP", error: "", connectId, random });
        for (let at = 0; at < TOO_MUCH; at += 32 * 1024) stream.data(connectId, content.piece(at, 32 * 1024));
        closeSoon(connectId);
        break;
      }
      case "garbage": {
        const bytes = Buffer.alloc(200);
        this.#agent.host.random.fill(bytes);
        this.#socket.write(bytes);
        break;
      }
      default:
        // It never answers.
        break;
    }
  }

  onData(): void {}
  onSettle(): void {}
  onDrain(): void {}
  onEmpty(): void {}
  onRemoteEnd(): void {}
  onClosed(): void {
    this.#socket.destroy();
  }
}
