import { afterEach, describe, expect, test } from "vitest";
import type { ManualClock } from "../../../base/testing/manual-clock.js";
import { serverDialEnded, serverLinkRecycled, serverPathChecked } from "../../events/channels.js";
import { ECHO_ADDRESS } from "../../wire/destination.js";
import { type FakeAgent, type FakeBoard, FakeCaller, makeBoard } from "../testing/fakes.js";
import { Watchdog } from "./watchdog.js";

const SECOND = 1_000;
const config = { intervalMs: 30 * SECOND, timeoutMs: 10 * SECOND, failures: 3 };

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

interface Watched extends FakeBoard {
  readonly dog: Watchdog;
  readonly checks: Parameters<typeof serverPathChecked.publish>[0][];
  readonly recycled: Parameters<typeof serverLinkRecycled.publish>[0][];
}

function watched(): Watched {
  const fake = makeBoard();
  const { board, clock } = fake;
  clock.random = () => 0.5;
  const dog = new Watchdog({ source: board.source, registry: board.registry, runtime: clock, config });
  const checks: Watched["checks"] = [];
  const recycled: Watched["recycled"] = [];
  endings.push(
    serverPathChecked.subscribe((event) => checks.push(event), board.source),
    serverLinkRecycled.subscribe((event) => recycled.push(event), board.source),
    () => dog.stop(),
  );
  dog.start();
  return { ...fake, dog, checks, recycled };
}

const ours = (fake: FakeBoard, name = "a") => fake.agent(name, "", true, true);

/** Advances until the agent is asked, and answers how it goes on. */
function asked(agent: FakeAgent, clock: ManualClock): bigint {
  for (let waited = 0; waited < 100; waited++) {
    const packet = agent.stream.news().find(({ type }) => type === "DIAL_REQ");
    if (packet?.type === "DIAL_REQ") {
      expect(packet.address).toBe(ECHO_ADDRESS);
      return packet.random;
    }
    clock.advance(SECOND);
  }
  throw new Error("the agent was not asked");
}

const answer = ({ link }: FakeAgent, random: bigint, connectId = 7) =>
  link.onControl({ type: "DIAL_RSP", error: "", connectId, random });

/** Sends back what came last, in two pieces and one turn. */
function echo({ link, stream }: FakeAgent): void {
  const { connectId, bytes } = stream.data_.at(-1)!;
  link.onData(connectId, bytes.subarray(0, 5));
  link.onData(connectId, bytes.subarray(5));
  link.onSettle();
}

describe("an agent whose echo works", () => {
  test("is asked within two seconds, again after the interval, and shown with its round trip", () => {
    const world = watched();
    const agent = ours(world);
    expect(world.dog.pathOf(agent.link)).toEqual({ state: "unknown" });
    world.clock.advance(2 * SECOND);
    const random = asked(agent, world.clock);
    world.clock.advance(40);
    answer(agent, random);
    echo(agent);
    expect(world.dog.pathOf(agent.link)).toMatchObject({ state: "ok", roundTripMs: 40 });
    expect(world.dog.path()).toMatchObject({ state: "ok" });
    expect(agent.stream.news()).toEqual([{ type: "CLOSE_REQ", connectId: 7 }]);
    world.clock.advance(25 * SECOND);
    expect(agent.stream.news()).toEqual([]);
    world.clock.advance(6 * SECOND);
    expect(agent.stream.news().map(({ type }) => type)).toEqual(["DIAL_REQ"]);
  });

  test("has neither a tunnel nor a load, a dial or a packet more for it", () => {
    const world = watched();
    const dials: unknown[] = [];
    endings.push(serverDialEnded.subscribe((event) => dials.push(event), world.board.source));
    const agent = ours(world);
    const random = asked(agent, world.clock);
    const seen = () => [
      ...[agent.link.load, agent.link.pendingDials, agent.link.tunnels.size, [...agent.link.dials()].length],
      ...[world.board.pendingDials, world.board.establishedTunnels, dials.length],
    ];
    expect(seen()).toEqual([0, 0, 0, 0, 0, 0, 0]);
    answer(agent, random);
    expect(seen()).toEqual([0, 0, 0, 0, 0, 0, 0]);
    echo(agent);
    expect(seen()).toEqual([0, 0, 0, 0, 0, 0, 0]);
    // Whatever still comes for a connection that has ended is nothing to complain about.
    agent.stream.news();
    agent.link.onData(7, Buffer.from("late"));
    expect(agent.stream.news()).toEqual([]);
  });
});

describe("an agent that does not echo", () => {
  test.each([
    ["that does not answer", () => {}, "the agent did not answer a dial of its own echo within 10000 ms"],
    ["that only answers", answer, "the agent's echo sent back 0 of 16 bytes within 10000 ms"],
  ] as const)("%s fails at the deadline, is demoted, and its link is ended after three times", (_, act, error) => {
    const world = watched();
    const agent = ours(world);
    for (let failure = 1; failure <= 3; failure++) {
      act(agent, asked(agent, world.clock), failure);
      world.clock.advance(9 * SECOND);
      expect(world.checks).toHaveLength(failure - 1);
      world.clock.advance(2 * SECOND);
      expect(world.checks.at(-1)).toMatchObject({ failures: failure, error });
      expect(agent.link.demotedUntil).toBeGreaterThan(world.clock.now());
    }
    expect(world.recycled).toMatchObject([{ agentId: "a", failures: 3, error }]);
    expect([world.board.registry.size, agent.stream.closed, agent.stream.disconnected]).toEqual([0, true, false]);
    world.clock.advance(5 * SECOND);
    expect(agent.stream.disconnected).toBe(true);
  });

  test("is told apart from one that is slow: a link that carries bytes is not ended", () => {
    const world = watched();
    const agent = ours(world);
    const caller = new FakeCaller();
    world.board.dial(caller);
    agent.answer(1);
    agent.stream.news();
    for (let failure = 1; failure <= 5; failure++) {
      asked(agent, world.clock);
      agent.link.onData(1, Buffer.from("x"));
      world.clock.advance(11 * SECOND);
    }
    expect(world.dog.pathOf(agent.link)).toMatchObject({ state: "failing", failures: 5 });
    expect(world.recycled).toEqual([]);
    for (let failure = 1; failure <= 3; failure++) {
      asked(agent, world.clock);
      world.clock.advance(11 * SECOND);
    }
    expect(world.recycled).toHaveLength(1);
  });

  test("works again once it does, and answers that come too late are closed without a word", () => {
    const world = watched();
    const dials: unknown[] = [];
    endings.push(serverDialEnded.subscribe((event) => dials.push(event), world.board.source));
    const agent = ours(world);
    const late = asked(agent, world.clock);
    world.clock.advance(11 * SECOND);
    expect(world.dog.path()).toMatchObject({ state: "failing", failures: 1 });
    const next = asked(agent, world.clock);
    answer(agent, late, 3);
    expect(agent.stream.news()).toEqual([{ type: "CLOSE_REQ", connectId: 3 }]);
    answer(agent, next, 4);
    echo(agent);
    expect(world.dog.path()).toMatchObject({ state: "ok" });
    expect(world.checks.at(-1)).toMatchObject({ failures: 0, failuresBefore: 1 });
    expect(dials).toEqual([]);
  });

  test("a number that a caller's tunnel has is a failure, and the tunnel stays", () => {
    const world = watched();
    const agent = ours(world);
    const caller = new FakeCaller();
    world.board.dial(caller);
    const dialled = agent.stream.news().find(({ type }) => type === "DIAL_REQ") as { random: bigint };
    answer(agent, dialled.random, 7);
    const tunnel = agent.link.tunnels.get(7);
    answer(agent, asked(agent, world.clock), 7);
    expect(world.checks.at(-1)).toMatchObject({ failures: 1, error: expect.stringContaining("may not use") });
    expect(agent.link.tunnels.get(7)).toBe(tunnel);
    expect(tunnel?.closed).toBe(false);
  });

  test("other bytes than were sent are a failure, and so is an error", () => {
    const world = watched();
    const agent = ours(world);
    answer(agent, asked(agent, world.clock));
    agent.link.onData(7, Buffer.alloc(16));
    agent.link.onSettle();
    expect(world.checks.at(-1)?.error).toBe("the agent's echo sent back other bytes than it was sent");
    const random = asked(agent, world.clock);
    agent.link.onControl({ type: "DIAL_RSP", error: "no", connectId: 0, random });
    expect(world.checks.at(-1)).toMatchObject({ error: "the agent did not open its own echo: no", failures: 2 });
  });
});

describe("agents that the watchdog probes", () => {
  test("nobody who did not announce an echo: such a path is unknown", () => {
    const world = watched();
    const upstreams = world.agent("upstream");
    const older = world.agent("older drawbridge", "", true, false);
    world.clock.advance(120 * SECOND);
    expect([upstreams.stream.packets, older.stream.packets]).toEqual([[], []]);
    expect(world.dog.pathOf(upstreams.link)).toEqual({ state: "unknown" });
    expect(world.dog.path()).toEqual({ state: "unknown" });
  });

  test("a thousand agents are spread, by one timer", () => {
    const world = watched();
    const agents = Array.from({ length: 1000 }, (_, index) => ours(world, `agent-${index}`));
    const perTick: number[] = [];
    for (let tick = 0; tick < 30; tick++) {
      world.clock.advance(SECOND);
      perTick.push(agents.filter(({ stream }) => stream.news().length > 0).length);
      expect(world.clock.waiting).toHaveLength(1);
    }
    expect(perTick.reduce((sum, each) => sum + each)).toBeGreaterThanOrEqual(1000);
    expect(Math.max(...perTick)).toBeLessThanOrEqual(67);
  });

  test("nobody is blamed for the time in which the server itself was suspended", () => {
    const world = watched();
    const agent = ours(world);
    asked(agent, world.clock);
    world.clock.sleep(60 * SECOND);
    world.clock.advance(7 * SECOND);
    expect(world.checks).toEqual([]);
    world.clock.advance(4 * SECOND);
    expect(world.checks).toHaveLength(1);
  });

  test("none is probed once the watchdog has stopped", () => {
    const world = watched();
    const agent = ours(world);
    world.dog.stop();
    world.clock.advance(60 * SECOND);
    expect([agent.stream.packets, world.clock.waiting]).toEqual([[], []]);
  });
});

test("a caller cannot have an agent's echo", () => {
  const { board, agent } = makeBoard();
  const { stream } = agent("a", "", true, true);
  const caller = new FakeCaller(ECHO_ADDRESS);
  board.dial(caller);
  expect(caller.refusals).toEqual([
    { kind: "dial-error", text: "dial tcp: lookup echo.drawbridge.invalid: no such host" },
  ]);
  expect(stream.packets).toEqual([]);
});
