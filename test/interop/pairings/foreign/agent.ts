import { readFileSync } from "node:fs";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import type { TestPki } from "../../../support/processes/certs.js";
import { within } from "../../../support/processes/deadline.js";
import type { ServerProcess } from "../../../support/processes/server.js";
import { asIs, PacketStream } from "./packet-stream.js";

/** An agent that says only what the protocol demands and does only what a test tells it. */
export class ForeignAgent {
  readonly stream: PacketStream;
  readonly #client: Client;

  constructor(agentPort: number, pki: TestPki, metadata: Record<string, string>) {
    this.#client = new Client(
      `ipv4:127.0.0.1:${agentPort}`,
      credentials.createSsl(readFileSync(pki.agent.ca), readFileSync(pki.agent.key), readFileSync(pki.agent.cert)),
      { "grpc.ssl_target_name_override": "localhost", "grpc.use_local_subchannel_pool": 1 },
    );
    const call = this.#client.makeBidiStreamRequest(
      "/AgentService/Connect",
      asIs,
      asIs,
      Metadata.fromHttp2Headers(metadata),
    );
    this.stream = new PacketStream(call);
  }

  /** Connected and announced: the server may pick it for the next dial. */
  static async join(server: ServerProcess, pki: TestPki, agentid: string): Promise<ForeignAgent> {
    const agent = new ForeignAgent(server.place.agentPort, pki, { agentid });
    await within(10_000, "the server to greet its agent", agent.stream.headers);
    // Headers come before the server puts the agent on its list.
    await agent.settled();
    await server.untilReady();
    return agent;
  }

  /** Resolves when the server has handled everything sent so far: it answers DATA nobody asked for with CLOSE_REQ. */
  async settled(): Promise<void> {
    const connectID = nextProbe++;
    this.stream.send({ type: "DATA", connectID, data: Buffer.from("?") });
    const answer = await this.stream.next("CLOSE_REQ");
    if (answer.connectID !== connectID) throw new Error(`CLOSE_REQ for ${answer.connectID} instead of ${connectID}`);
  }

  /** Ends the stream and the session. */
  leave(): void {
    this.stream.cancel();
    this.#client.close();
  }
}

let nextProbe = 900_000_000n;
