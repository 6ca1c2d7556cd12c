/** Streams that end before they are complete, by every way to end them and at every kind of frontend. */
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { payload, readExactly, readToEnd } from "../../../test/support/callers/bytes.js";
import { type Conversation, type SteeredTarget, startSteered } from "../../../test/support/targets/half-open.js";
import { systemClock } from "../../base/clock.js";
import { type Cuttable, cutWhenSent, wasReset } from "../../base/cut-socket.js";
import type { ProxyAgent } from "../agent/agent.js";
import { dialThrough } from "./dial.js";
import type { TunnelSocket } from "./grpc-tunnel.js";
import { FRONTENDS, type FrontendName, startTunnelFixture, type TunnelFixture } from "./testing/fixture.js";

const ANSWER = payload("answer", 700_000);

let fixture: TunnelFixture;
let agent: ProxyAgent;
let target: SteeredTarget;
beforeAll(async () => {
  target = await startSteered();
});
beforeEach(async () => {
  fixture = await startTunnelFixture();
  agent = await fixture.startAgent();
});
afterEach(async () => {
  await agent.stop();
  await fixture.close();
});
afterAll(() => target.close());

async function open(name: FrontendName): Promise<{ caller: TunnelSocket; endpoint: Conversation }> {
  const next = target.next();
  const caller = await dialThrough(fixture.frontends[name], target.address, { allowHalfOpen: true });
  const endpoint = await next;
  endpoint.socket.on("error", () => {});
  return { caller, endpoint };
}

const links = () => [...fixture.server.board.registry.links()];
const loseLink = () => links()[0]!.disconnect();

/** What becomes of a socket: `end` in good order, or the code of its error. */
function fateOf(socket: Socket | TunnelSocket): Promise<string> {
  return new Promise((resolve) => {
    let fate = "closed";
    socket.once("end", () => {
      fate = wasReset(socket) ? "ECONNRESET" : "end";
      resolve(fate);
    });
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => {
      fate = code;
    });
    socket.once("close", () => resolve(fate));
    socket.resume();
  });
}

/** What a cut looks like to each caller; on a Unix socket nothing tells it from an end. */
const CUT: Readonly<Record<FrontendName, unknown>> = {
  "connect-uds": undefined,
  "connect-tcp": expect.objectContaining({ code: expect.stringMatching(/^ERR_SSL_.*ALERT/) }),
  "grpc-uds": expect.objectContaining({ code: "DB_TUNNEL_CUT" }),
  "grpc-tcp": expect.objectContaining({ code: "DB_TUNNEL_CUT" }),
};

describe.each(FRONTENDS)("at a %s frontend", (name) => {
  test("an answer that was whole ends in good order", async () => {
    const { caller, endpoint } = await open(name);
    endpoint.socket.end(ANSWER);
    const { bytes, error } = await readToEnd(caller);
    expect({ whole: bytes.equals(ANSWER), error }).toEqual({ whole: true, error: undefined });
    caller.destroy();
  });

  test.each<[string, (endpoint: Conversation) => unknown]>([
    ["the agent's link is lost", loseLink],
    ["the agent is stopped", () => agent.stop()],
    ["the watchdog ends the link", () => links()[0]!.dismiss(14, "no answer")],
    [
      "the endpoint resets its connection",
      ({ socket }) => cutWhenSent(socket, { clock: systemClock, withinMs: 9_000 }),
    ],
  ])("%s: what had arrived is read, and then it is an error", async (_name, fail) => {
    const { caller, endpoint } = await open(name);
    endpoint.socket.write(ANSWER);
    const start = await readExactly(caller, ANSWER.length);
    expect(start.equals(ANSWER)).toBe(true);
    const ending = readToEnd(caller);
    fail(endpoint);
    expect((await ending).error).toEqual(CUT[name]);
  });

  test("the server is stopped: the caller reads what had arrived, and both ends learn of it", async () => {
    const { caller, endpoint } = await open(name);
    endpoint.socket.write(ANSWER);
    await readExactly(caller, ANSWER.length);
    const [ending, fate] = [readToEnd(caller), fateOf(endpoint.socket)];
    await fixture.server.stop();
    expect((await ending).error).toEqual(CUT[name]);
    expect(await fate).toBe("ECONNRESET");
  });

  test("the link is lost in mid-upload: the endpoint reads what had arrived and is reset", async () => {
    const { caller, endpoint } = await open(name);
    caller.write(ANSWER);
    await expect.poll(() => endpoint.received().length, { timeout: 10_000 }).toBe(ANSWER.length);
    const fate = fateOf(endpoint.socket);
    loseLink();
    expect(await fate).toBe("ECONNRESET");
    caller.destroy();
  });

  test.skipIf(name === "connect-uds")("the caller is lost in mid-upload: the endpoint is reset", async () => {
    const { caller, endpoint } = await open(name);
    caller.write(ANSWER);
    const fate = fateOf(endpoint.socket);
    cutWhenSent(caller as unknown as Cuttable, { clock: systemClock, withinMs: 9_000, alert: true });
    expect(await fate).toBe("ECONNRESET");
    expect(endpoint.received().equals(ANSWER)).toBe(true);
  });

  test("a caller that ends in good order is an end at the endpoint", async () => {
    const { caller, endpoint } = await open(name);
    const fate = fateOf(endpoint.socket);
    caller.end(ANSWER);
    expect(await fate).toBe("end");
    expect(endpoint.received().equals(ANSWER)).toBe(true);
    endpoint.socket.end();
    caller.destroy();
  });
});
