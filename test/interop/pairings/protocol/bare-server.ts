import { afterAll, afterEach, beforeAll } from "vitest";
import { makePki, type TestPki } from "../../../support/processes/certs.js";
import type { Origin } from "../../../support/processes/executables.js";
import { Scope } from "../../../support/processes/scope.js";
import { choosePlace, type FrontendKind, type ServerProcess, startServer } from "../../../support/processes/server.js";
import { ForeignAgent } from "../foreign/agent.js";
import { ForeignCaller } from "../foreign/caller.js";
import type { PacketStream } from "../foreign/packet-stream.js";

/** A server without agents; each test brings the peers it needs and finds none of the test before. */
export interface BareServer {
  readonly server: ServerProcess;
  readonly pki: TestPki;
  agent(id?: string): Promise<ForeignAgent>;
  /** A Proxy stream on a session of its own. */
  proxyStream(): PacketStream;
  caller(): ForeignCaller;
}

export function bareServer(origin: Origin, frontend: FrontendKind, flags: readonly string[] = []): () => BareServer {
  const scope = new Scope();
  let bare: { server: ServerProcess; pki: TestPki } | undefined;
  let agents: ForeignAgent[] = [];
  let callers: ForeignCaller[] = [];
  let names = 0;

  beforeAll(async () => {
    const dir = scope.tempDir();
    const pki = makePki(dir);
    const server = await startServer({ origin, place: await choosePlace(frontend, dir), pki, flags });
    scope.use(server.process);
    bare = { server, pki };
  }, 60_000);

  afterEach(async () => {
    for (const caller of callers) caller.close();
    for (const agent of agents) agent.leave();
    [callers, agents] = [[], []];
    if (bare?.server.process.running) await bare.server.untilAlone();
  }, 60_000);

  afterAll(() => scope.close(), 60_000);

  return () => {
    if (!bare) throw new Error("the server did not start");
    const { server, pki } = bare;
    const caller = () => {
      const fresh = new ForeignCaller(server.place.udsPath);
      callers.push(fresh);
      return fresh;
    };
    return {
      server,
      pki,
      caller,
      proxyStream: () => caller().open(),
      agent: async (id = `foreign-${++names}`) => {
        const agent = await ForeignAgent.join(server, pki, id);
        agents.push(agent);
        return agent;
      },
    };
  };
}
