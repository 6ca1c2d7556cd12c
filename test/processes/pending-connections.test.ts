/** Connections of a real server whose peers are not known yet, with a clock that stands still. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { Connections } from "../../src/base/connections.js";
import { ManualClock } from "../../src/base/testing/manual-clock.js";
import { waitUntil } from "../support/processes/deadline.js";
import { startEcho } from "../support/targets/echo.js";
import { connectCaller, readHead } from "./fixture/connect.js";
import { type Fixture, type FixturePlan, openFixture } from "./fixture/fixture.js";
import { rawAgent } from "./fixture/grpc.js";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

class ListenerHarness {
  readonly clock = new ManualClock();
  readonly connections = new Connections({ clock: this.clock });

  async open(plan: FixturePlan = {}): Promise<Fixture> {
    const fixture = await openFixture({ agents: 0, ...plan, parts: { ...plan.parts, connections: this.connections } });
    endings.push(() => fixture.close());
    return fixture;
  }

  pending(listener: string): number | undefined {
    return this.connections.readings().find(({ name }) => name === listener)?.pending;
  }

  pass(ms: number): void {
    for (let passed = 0; passed < ms; passed += 500) this.clock.advance(500);
  }
}

test("an agent's connection is pending until its token was accepted, and closed when it was not", async () => {
  const harness = new ListenerHarness();
  const decide = new Map<string, (isGood: boolean) => void>();
  const tokens = {
    authenticate: ([header = ""]: readonly string[]) =>
      new Promise<string>((resolve, reject) => {
        decide.set(header, (isGood) => (isGood ? resolve("a/b") : reject(new Error("no"))));
      }),
  };
  const fixture = await harness.open({ agentsShowCertificates: false, parts: { tokens } });
  const agents = ["Bearer good", "Bearer bad"].map((authorization) =>
    rawAgent(fixture, { agentid: "a", authorization }),
  );
  endings.push(() => {
    for (const { socket } of agents) socket.destroy();
  });
  await waitUntil("both tokens to be looked at", () => decide.size === 2);
  expect(harness.pending("agent")).toBe(2);
  decide.get("Bearer good")!(true);
  decide.get("Bearer bad")!(false);
  await Promise.all(agents.map(({ headers }) => headers));
  expect(harness.pending("agent")).toBe(1);
  harness.pass(200_000);
  await waitUntil("the stranger's connection to be closed", () => agents[1]!.socket.destroyed);
  expect(agents[0]!.ended()).toBeUndefined();
  expect(fixture.server.board.registry.size).toBe(1);
});

test("an agent with a certificate that never opens a stream is closed after a minute", async () => {
  const harness = new ListenerHarness();
  const fixture = await harness.open();
  const agent = rawAgent(fixture);
  endings.push(() => agent.socket.destroy());
  await agent.headers;
  const tls = { ...fixture.pki.clientTls, host: "127.0.0.1", port: fixture.agentPort, ALPNProtocols: ["h2"] };
  const silent = connectTls(tls).on("error", () => {});
  endings.push(() => silent.destroy());
  // The server's settings.
  await once(silent, "data");
  harness.pass(59_000);
  expect(harness.pending("agent")).toBe(1);
  harness.pass(3_000);
  await waitUntil("it to be closed", () => silent.closed);
  expect(agent.ended()).toBeUndefined();
});

test("callers on Unix sockets that say nothing are closed after a minute; one that sends its head byte by byte is served", async () => {
  const harness = new ListenerHarness();
  const fixture = await harness.open({ agents: 1 });
  const echo = await startEcho();
  endings.push(() => echo.close());
  const silent: Socket[] = [fixture.connectPath, fixture.grpcPath].map((path) => connect(path).resume());
  endings.push(() => {
    for (const socket of silent) socket.destroy();
  });
  const slow = await connectCaller(fixture);
  endings.push(() => slow.destroy());
  for (const byte of Buffer.from(`CONNECT ${echo.address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)) {
    slow.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  expect(await readHead(slow)).toMatch(/^HTTP\/1\.1 200 /);
  await waitUntil(
    "both to be accepted",
    () => harness.pending("grpc frontend") === 1 && harness.pending("http-connect frontend") === 1,
  );
  harness.pass(61_000);
  await waitUntil("both to be closed", () => silent.every(({ closed }) => closed));
  expect(slow.destroyed).toBe(false);
});
