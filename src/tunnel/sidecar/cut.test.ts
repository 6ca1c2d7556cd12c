/** A program behind the sidecar learns that its target, or the tunnel to it, was cut, whichever frontend is between. */
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { payload } from "../../../test/support/callers/bytes.js";
import { type Conversation, type SteeredTarget, startSteered } from "../../../test/support/targets/half-open.js";
import { systemClock } from "../../base/clock.js";
import { cutWhenSent, wasReset } from "../../base/cut-socket.js";
import type { ProxyAgent } from "../agent/agent.js";
import { dialThrough } from "../client/dial.js";
import { FRONTENDS, type FrontendName, startTunnelFixture, type TunnelFixture } from "../client/testing/fixture.js";
import { Relay } from "./relay.js";
import { connectTo, openTarget } from "./testing/fixture.js";

const ANSWER = payload("answer", 3_000_000);

let fixture: TunnelFixture;
let agent: ProxyAgent;
let target: SteeredTarget;
beforeAll(async () => {
  target = await startSteered();
  fixture = await startTunnelFixture();
});
beforeEach(async () => {
  agent = await fixture.startAgent();
});
afterEach(async () => {
  await agent.stop();
  await expect.poll(() => fixture.server.board.registry.size).toBe(0);
});
afterAll(async () => {
  await fixture.close();
  await target.close();
});

/** The program's own socket, and the target's end of its connection. */
async function through(name: FrontendName): Promise<{ program: Socket; endpoint: Conversation }> {
  let accepted!: (socket: Socket) => void;
  const near = new Promise<Socket>((resolve) => {
    accepted = resolve;
  });
  const program = await connectTo(await openTarget(accepted));
  program.pause().on("error", () => {});
  const next = target.next();
  const far = await dialThrough(fixture.frontends[name], target.address, { allowHalfOpen: true });
  new Relay(await near, far, { traffic: { toTarget: 0, fromTarget: 0 }, idleTimeoutMs: 0, onEnd: () => {} });
  const endpoint = await next;
  endpoint.socket.on("error", () => {});
  return { program, endpoint };
}

function fateOf(socket: Socket): Promise<{ bytes: number; fate: string }> {
  return new Promise((resolve) => {
    let bytes = 0;
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.once("end", () => resolve({ bytes, fate: wasReset(socket) ? "ECONNRESET" : "end" }));
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve({ bytes, fate: code }));
    socket.resume();
  });
}

/** On a Unix socket between sidecar and server nothing tells a cut from an end. */
describe.each(FRONTENDS.filter((name) => name !== "connect-uds"))("through a %s frontend", (name) => {
  test("a target that resets: its program reads the whole answer, slowly, and is reset", async () => {
    const { program, endpoint } = await through(name);
    endpoint.socket.write(ANSWER);
    cutWhenSent(endpoint.socket, { clock: systemClock, withinMs: 9_000 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await fateOf(program)).toEqual({ bytes: ANSWER.length, fate: "ECONNRESET" });
  });

  test("an agent that is lost: the same", async () => {
    const { program, endpoint } = await through(name);
    const before = fixture.server.traffic.fromAgents;
    endpoint.socket.write(ANSWER.subarray(0, 50_000));
    const carried = () => fixture.server.traffic.fromAgents - before;
    await expect.poll(carried, { timeout: 10_000 }).toBe(50_000);
    // Watched from before: so few bytes never stop the socket's reading, and a reset that nobody hears of is gone.
    const fate = fateOf(program);
    await agent.stop();
    expect(await fate).toEqual({ bytes: 50_000, fate: "ECONNRESET" });
  });

  test("a program that resets: the target reads what it sent, and is reset", async () => {
    const { program, endpoint } = await through(name);
    const fate = fateOf(endpoint.socket);
    program.write(ANSWER);
    cutWhenSent(program, { clock: systemClock, withinMs: 9_000 });
    expect(await fate).toEqual({ bytes: ANSWER.length, fate: "ECONNRESET" });
  });

  test("a target that ends: an end", async () => {
    const { program, endpoint } = await through(name);
    endpoint.socket.end(ANSWER);
    expect(await fateOf(program)).toEqual({ bytes: ANSWER.length, fate: "end" });
    program.destroy();
  });
});
