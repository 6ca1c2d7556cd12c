/** Everybody in one world, as a scenario says: servers, agents, callers and their endpoints. */

import { LINK_WINDOW_BYTES } from "../../src/tunnel/link/tuning.js";
import type { Asked } from "../peers/caller.js";
import { callByConnect } from "../peers/connect-caller.js";
import { callByGrpc } from "../peers/grpc-caller.js";
import { GrpcChannel } from "../peers/grpc-channel.js";
import { SocketLine } from "../peers/line.js";
import { Talker } from "../peers/talker.js";
import { lookAtLinks, lookForListeners } from "../properties/listeners.js";
import { Network } from "../sockets/network.js";
import type { SimSocket } from "../sockets/socket.js";
import type { CallerPlan, Scenario } from "../types.js";
import { Host } from "../world/host.js";
import type { World } from "../world/world.js";
import { SimAgent } from "./agent.js";
import { SimKube } from "./kube.js";
import { addressOf, SimServer } from "./server.js";
import { WrongAgent } from "./wrong-agent.js";

/** A caller, its endpoint, and what has become of them. */
export interface Conversation {
  readonly plan: CallerPlan;
  readonly address: string;
  readonly caller: Host;
  readonly endpoint: Host;
  asked: Asked | undefined;
  /** How many agents its server had when it called. */
  agents: number;
  /** Of the endpoint, one for each connection that it accepted. */
  readonly endpoints: { readonly talker: Talker; readonly agent: string }[];
}

export class System {
  readonly world: World;
  readonly network: Network;
  readonly scenario: Scenario;
  readonly servers = new Map<string, SimServer>();
  readonly agents = new Map<string, SimAgent>();
  readonly wrongAgents = new Map<string, WrongAgent>();
  readonly conversations: Conversation[] = [];
  /** Those that callers share. */
  readonly #channels = new Map<string, GrpcChannel>();
  /** When the last fault was over and everybody began to read. */
  calmAtMs = Number.POSITIVE_INFINITY;
  /** Everybody is told to end. */
  isEnding = false;

  constructor(world: World, scenario: Scenario) {
    this.world = world;
    this.scenario = scenario;
    this.network = new Network(world, scenario.network);
    const kube = scenario.kube && new SimKube(world, scenario.kube);
    const servers = (): string[] => [...this.servers.keys()];
    const countServers = (): number => [...this.servers.values()].filter(({ isUp }) => isUp).length;
    for (const party of scenario.parties) {
      if (party.kind === "server") this.servers.set(party.name, new SimServer(world, this.network, party, kube));
      else if (party.wrong === undefined) {
        this.agents.set(party.name, new SimAgent(world, this.network, party, { servers, countServers, kube }));
      } else {
        const streamOf = (address: string): string =>
          `${this.conversations.find((each) => each.address === address)?.plan.name}'s endpoint`;
        this.wrongAgents.set(party.name, new WrongAgent(world, this.network, party, streamOf));
      }
    }
    for (const plan of scenario.callers) this.#add(plan);
  }

  #add(plan: CallerPlan): Conversation {
    const { world } = this;
    const index = this.conversations.length;
    const conversation: Conversation = {
      plan,
      address: `10.1.${index >> 8}.${index & 255}:80`,
      caller: new Host(world, plan.name),
      endpoint: new Host(world, `${plan.name}'s endpoint`),
      asked: undefined,
      agents: 0,
      endpoints: [],
    };
    this.conversations.push(conversation);
    return conversation;
  }

  /** One more caller, now. */
  callNow(plan: CallerPlan): Conversation {
    const conversation = this.#add(plan);
    this.#openEndpoint(conversation);
    this.#call(conversation);
    return conversation;
  }

  start(): void {
    for (const server of this.servers.values()) server.start();
    for (const agent of this.agents.values()) agent.start();
    for (const agent of this.wrongAgents.values()) agent.start();
    for (const conversation of this.conversations) {
      this.#openEndpoint(conversation);
      conversation.caller.after(conversation.plan.atMs, "call", () => this.#call(conversation));
    }
  }

  #openEndpoint(conversation: Conversation): void {
    const { plan, address, endpoint: host, endpoints } = conversation;
    const { connects, lateMs, ...talks } = plan.endpoint;
    if (connects === "silent" || connects === "unreachable") this.network.listen(address, connects);
    if (connects !== "accepts") return;
    this.network.listen(address, {
      host,
      lateMs,
      allowHalfOpen: true,
      accept: (socket, { from }) => {
        const talker = new Talker(host, { ...talks, name: `${plan.name}'s endpoint`, other: plan.name });
        endpoints.push({ talker, agent: from });
        talker.start(new SocketLine(socket, talker));
        if (this.#isCalm) talker.hurry();
      },
    });
  }

  #call(conversation: Conversation): void {
    const { plan, caller: host, address } = conversation;
    const server = this.servers.get(plan.server);
    lookAtLinks(this);
    conversation.agents = server?.isUp === true ? server.server.board.registry.size : 0;
    const asked =
      plan.mode === "connect"
        ? callByConnect(host, plan, this.#connect(host, plan, addressOf.connect(plan.server)), address)
        : callByGrpc(host, plan, this.#channelOf(host, plan), address);
    conversation.asked = asked;
    if (this.#isCalm) asked.talker.hurry();
    if (plan.patienceMs !== undefined) host.after(plan.patienceMs, "give up", () => asked.giveUp());
  }

  #connect(host: Host, { mode, tls }: CallerPlan, where: string): SimSocket {
    return this.network.connect(host, where, { allowHalfOpen: mode === "connect", encrypted: tls, isUnix: !tls });
  }

  #channelOf(host: Host, plan: CallerPlan): GrpcChannel {
    const { server, tls, shares = false, windowBytes = LINK_WINDOW_BYTES } = plan;
    const where = addressOf.grpc(server);
    if (!shares) return new GrpcChannel(host, this.#connect(host, plan, where), windowBytes, false);
    const name = `callers of ${server}${tls ? " by TLS" : ""}`;
    const open = this.#channels.get(name);
    if (open?.isClosed === false) return open;
    const all = new Host(this.world, name);
    const socket = this.#connect(all, plan, where);
    const channel = new GrpcChannel(all, socket, windowBytes, true, () => this.#onIdle(server, socket));
    this.#channels.set(name, channel);
    return channel;
  }

  #onIdle(server: string, socket: SimSocket): void {
    const far = this.network.farEndOf(socket);
    if (far !== undefined) lookForListeners(this.world, `${server}'s connection that callers share`, far);
  }

  get #isCalm(): boolean {
    return this.world.now >= this.calmAtMs;
  }

  /** From now on everybody reads, and nobody pauses. */
  calm(): void {
    this.calmAtMs = this.world.now;
    for (const { asked, endpoints } of this.conversations) {
      asked?.talker.hurry();
      for (const { talker } of endpoints) talker.hurry();
    }
  }

  /** The caller has its answer and its connection is closed, at both ends. */
  isOver({ asked, endpoints }: Conversation): boolean {
    return asked?.talker.isClosed === true && endpoints.every(({ talker }) => talker.isClosed);
  }
}
