/** Dials for which no agent is connected: `--wait-for-agent`. */
import { describe, expect, test } from "vitest";
import { noteChannel, serverDialEnded, serverRefused } from "../events/channels.js";
import { newProbeDialId } from "../wire/dial-id.js";
import { FakeCaller, makeBoard } from "./testing/fakes.js";
import { GIVE_UP_MS, MAX_WAITING } from "./waiting-dials.js";

const WAIT_MS = 5_000;
const make = (plan: Parameters<typeof makeBoard>[0] = {}) => makeBoard({ waitForAgentMs: WAIT_MS, ...plan });

describe("without an agent", () => {
  test("a dial is refused at once by default", () => {
    const { board } = makeBoard();
    const caller = new FakeCaller();
    board.dial(caller);
    expect(caller.refusals).toHaveLength(1);
  });

  test("a dial waits, and is served by the agent that comes", () => {
    const { board, clock, agent } = make();
    const caller = new FakeCaller();
    board.dial(caller);
    expect([caller.refusals, board.waiting.size, board.pendingDials]).toEqual([[], 1, 1]);
    clock.advance(WAIT_MS - 1);
    const one = agent("one");
    expect(board.waiting.size).toBe(0);
    one.answer(5);
    expect([caller.accepted, caller.refusals]).toEqual([5, []]);
    expect(clock.waiting).toEqual([]);
  });

  test("when the time is over it is refused as it would have been, with an explanation", () => {
    const { board, clock } = make();
    const seen: string[] = [];
    const unsubscribe = serverRefused.subscribe(({ referenceId }) => seen.push(referenceId), board.source);
    const caller = new FakeCaller();
    board.dial(caller);
    clock.advance(WAIT_MS - 1);
    expect(caller.refusals).toEqual([]);
    clock.advance(1);
    const text = `No agent available (0 connected, none for this destination; waited 5.0 s for one; reference ${seen[0]})`;
    expect(caller.refusals).toEqual([{ kind: "no-agent", text }]);
    expect([board.waiting.size, board.pendingDials, clock.waiting]).toEqual([0, 0, []]);
    unsubscribe();
  });

  test("it does not wait beyond its own deadline", () => {
    const { board, clock } = make({ dialTimeoutMs: 2_000 });
    const caller = new FakeCaller();
    board.dial(caller);
    clock.advance(2_000);
    expect(caller.refusals).toMatchObject([{ kind: "no-agent" }]);
  });

  test("what it waited is taken from the time for the dial itself", () => {
    const { board, clock, agent } = make({ dialTimeoutMs: 10_000 });
    const caller = new FakeCaller();
    board.dial(caller);
    clock.advance(4_000);
    agent("silent");
    clock.advance(6_000);
    expect(caller.refusals).toMatchObject([{ kind: "timeout" }]);
  });

  test("however many wait, they have one timer", () => {
    const { board, clock } = make();
    for (let dials = 0; dials < 100; dials++) {
      board.dial(new FakeCaller());
      clock.advance(10);
    }
    expect([board.waiting.size, clock.waiting.length]).toEqual([100, 1]);
    clock.advance(WAIT_MS);
    expect([board.waiting.size, clock.waiting]).toEqual([0, []]);
  });

  test("a caller that hangs up waits no longer", () => {
    const { board, clock, agent } = make();
    const caller = new FakeCaller();
    board.dial(caller).cancel();
    expect([board.waiting.size, board.pendingDials, clock.waiting]).toEqual([0, 0, []]);
    expect(agent("one").asked()).toBeUndefined();
  });

  test("who only asks whether an agent answers is told at once", () => {
    const { board } = make();
    const caller = new FakeCaller("127.0.0.1:9", newProbeDialId());
    board.dial(caller);
    expect(caller.refusals).toMatchObject([{ kind: "no-agent" }]);
  });

  test("first come, first served", () => {
    const { board, agent } = make();
    const targets = Array.from({ length: 20 }, (_, index) => `10.0.0.${index}:443`);
    for (const target of targets) board.dial(new FakeCaller(target));
    const asked = agent("one").stream.packets.map((packet) => packet.type === "DIAL_REQ" && packet.address);
    expect(asked).toEqual(targets);
  });

  test("an agent that does not take its destination leaves it waiting", () => {
    const { board, agent } = make({ strategies: ["destHost"] });
    const [first, second] = [new FakeCaller("10.0.0.1:443"), new FakeCaller("10.0.0.2:443")];
    for (const caller of [first, second]) board.dial(caller);
    agent("two", "ipv4=10.0.0.2").answer(7);
    expect([board.waiting.size, second.accepted]).toEqual([1, 7]);
    agent("one", "ipv4=10.0.0.1").answer(8);
    expect([board.waiting.size, first.accepted]).toEqual([0, 8]);
  });

  test("only so many wait; one more is refused at once, and those that came first stay", () => {
    const { board } = make();
    const callers = Array.from({ length: MAX_WAITING + 1 }, () => new FakeCaller());
    for (const caller of callers) board.dial(caller);
    expect(board.waiting.size).toBe(MAX_WAITING);
    expect(callers.map(({ refusals }) => refusals.length)).toEqual([...Array(MAX_WAITING).fill(0), 1]);
    expect(callers.at(-1)!.refusals[0]!.text).toMatch(
      /^No agent available \(0 connected, none for this destination; 1024 dials wait for one already; reference /,
    );
  });
});

describe("an agent that is lost during the dial", () => {
  test("is waited for, within the same time", () => {
    const { board, clock, agent } = make();
    const caller = new FakeCaller();
    const one = agent("one");
    board.dial(caller);
    clock.advance(1_000);
    one.lose();
    expect([caller.refusals, board.waiting.size]).toEqual([[], 1]);
    agent("one").answer(9);
    expect(caller.accepted).toBe(9);
  });

  test("and when none comes, the refusal is the one of today", () => {
    const { board, clock, agent } = make();
    const caller = new FakeCaller();
    const one = agent("one");
    board.dial(caller);
    one.lose();
    clock.advance(WAIT_MS);
    expect(caller.refusals).toMatchObject([{ kind: "agent-lost", text: "Backend context error: context canceled" }]);
  });
});

describe("a control plane without nodes", () => {
  test("refuses at once after half a minute of waiting in vain, until an agent has connected", () => {
    const { board, clock, agent } = make();
    const waits = () => {
      const caller = new FakeCaller();
      board.dial(caller);
      return caller.refusals.length === 0;
    };
    for (let ms = 0; ms < GIVE_UP_MS; ms += WAIT_MS) {
      expect(waits()).toBe(true);
      clock.advance(WAIT_MS);
    }
    expect([waits(), board.waiting.givenUp]).toEqual([false, expect.any(String)]);
    clock.advance(3_600_000);
    expect(waits()).toBe(false);
    // It has been seen that agents come: the next time without one is another.
    agent("one").lose();
    expect([waits(), board.waiting.givenUp]).toEqual([true, undefined]);
  });

  test("says so once, with the time since when no agent has connected, and once that dials wait again", () => {
    const { board, clock, agent } = make();
    const notes: string[] = [];
    const unsubscribe = noteChannel.subscribe(({ level, message }) => notes.push(`${level}: ${message}`), board.source);
    const refusalOf = () => {
      const caller = new FakeCaller();
      board.dial(caller);
      return caller.refusals[0]?.text.replace(/reference \w+/, "reference X");
    };
    expect(refusalOf()).toBeUndefined();
    clock.advance(GIVE_UP_MS);
    expect(notes).toEqual([]);
    const since = "no agent has connected since 2031-01-01T00:00:00.000Z, so dials no longer wait until one connects";
    const text = `No agent available (0 connected, none for this destination; ${since}; reference X)`;
    expect([refusalOf(), refusalOf()]).toEqual([text, text]);
    expect(notes.splice(0)).toEqual([`warn: ${since} (--wait-for-agent)`]);
    agent("one").lose();
    expect(notes).toEqual(["info: an agent has connected: dials wait for one again (--wait-for-agent)"]);
    unsubscribe();
  });

  test("a server that nobody gave up waiting at says nothing when agents come and go", () => {
    const { board, clock, agent } = make();
    const notes: string[] = [];
    const unsubscribe = noteChannel.subscribe(({ message }) => notes.push(message), board.source);
    agent("one").lose();
    clock.advance(3_600_000);
    agent("one").lose();
    expect(notes).toEqual([]);
    unsubscribe();
  });

  test("an agent that is lost may come back, however long ago somebody waited in vain for another", () => {
    const { board, clock, agent } = make({ strategies: ["destHost"] });
    const one = agent("one", "ipv4=10.0.0.1");
    board.dial(new FakeCaller("10.0.0.9:443"));
    clock.advance(3_600_000);
    one.lose();
    const caller = new FakeCaller("10.0.0.1:443");
    board.dial(caller);
    expect(caller.refusals).toEqual([]);
  });
});

describe("the time that a dial took", () => {
  const dialled = (after: (fake: ReturnType<typeof make>) => void) => {
    const fake = make();
    const ends: (number | undefined)[][] = [];
    const unsubscribe = serverDialEnded.subscribe(
      ({ durationMs, waitedMs }) => ends.push([durationMs, waitedMs]),
      fake.board.source,
    );
    fake.board.dial(new FakeCaller());
    after(fake);
    unsubscribe();
    return ends;
  };

  test("does not contain what it waited for an agent", () => {
    const ends = dialled(({ clock, agent }) => {
      clock.advance(4_900);
      const one = agent("one");
      clock.advance(13);
      one.answer(5);
    });
    expect(ends).toEqual([[13, 4_900]]);
  });

  test("nor when none came", () => {
    expect(dialled(({ clock }) => clock.advance(WAIT_MS))).toEqual([[0, WAIT_MS]]);
  });

  test("is counted of both agents, when the first was lost and another came", () => {
    const ends = dialled(({ clock, agent }) => {
      const one = agent("one");
      clock.advance(100);
      one.lose();
      clock.advance(1_000);
      const two = agent("two");
      clock.advance(10);
      two.answer(5);
    });
    expect(ends).toEqual([[110, 1_000]]);
  });

  test("has no wait where an agent is connected", () => {
    const { board, agent } = make();
    const ends: object[] = [];
    const unsubscribe = serverDialEnded.subscribe((end) => ends.push(end), board.source);
    const one = agent("one");
    board.dial(new FakeCaller());
    one.answer(5);
    expect(ends).toEqual([expect.not.objectContaining({ waitedMs: expect.anything() })]);
    unsubscribe();
  });
});

test("a server that begins to end refuses those that wait, and lets none wait any more", () => {
  const { board, clock } = make();
  const callers = [new FakeCaller(), new FakeCaller()];
  board.dial(callers[0]!);
  board.leave(clock.now() + 1_000);
  board.dial(callers[1]!);
  const text = "No agent available (this server is shutting down; dial again to reach another)";
  expect(callers.map(({ refusals }) => refusals)).toEqual([[{ kind: "no-agent", text }], [{ kind: "no-agent", text }]]);
});
