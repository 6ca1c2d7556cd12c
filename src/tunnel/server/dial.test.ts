import { describe, expect, test } from "vitest";
import type { ManualClock } from "../../base/testing/manual-clock.js";
import { agentProbed, serverDialEnded } from "../events/channels.js";
import { ECHO_REFUSAL } from "../wire/destination.js";
import { newProbeDialId } from "../wire/dial-id.js";
import { statusOf } from "./agents/choice.js";
import { type FakeAgent, FakeCaller, makeBoard } from "./testing/fakes.js";

const TIMEOUT = "dial tcp 10.0.0.1:443: i/o timeout";
const REFUSED = "dial tcp 10.0.0.1:443: connect: connection refused";

/** The first pick falls on the agent with this index, the rest where the sequence says. */
function picks(...fractions: number[]): () => number {
  let at = 0;
  return () => fractions[at++ % fractions.length]!;
}

describe("a dial that goes well", () => {
  test("is forwarded with the caller's own ID and established on its answer", () => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const caller = new FakeCaller("10.0.0.1:443", 77n);
    board.dial(caller);
    expect(one.stream.packets).toEqual([{ type: "DIAL_REQ", protocol: "tcp", address: "10.0.0.1:443", random: 77n }]);
    expect(board.pendingDials).toBe(1);
    one.answer(5);
    expect(caller.accepted).toBe(5);
    expect([board.pendingDials, board.establishedTunnels]).toEqual([0, 1]);
    caller.port.near!.onNearLost("done");
    expect(board.establishedTunnels).toBe(0);
    expect(one.stream.packets.at(-1)).toEqual({ type: "CLOSE_REQ", connectId: 5 });
  });

  test("two callers with the same ID do not get each other's answers", () => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const first = new FakeCaller("a:1", 7n);
    const second = new FakeCaller("b:2", 7n);
    board.dial(first);
    board.dial(second);
    const ids = one.stream.packets.map((packet) => (packet.type === "DIAL_REQ" ? packet.random : -1n));
    expect(new Set(ids).size).toBe(2);
    one.answer(1);
    one.answer(2);
    expect([first.accepted, second.accepted]).toEqual([1, 2]);
  });

  test("leaves no timer behind", () => {
    const { board, agent, clock } = makeBoard();
    const one = agent("one");
    board.dial(new FakeCaller());
    one.answer(1);
    expect(clock.waiting).toEqual([]);
  });
});

describe("a probe of the port by which a sidecar asks for an agent", () => {
  const answered = "dial tcp 127.0.0.1:9: connect: connection refused";
  test.each<[string, string[], (agent: FakeAgent | undefined, clock: ManualClock) => void]>([
    ["the agent's refusal", [], (agent) => agent!.fail(answered)],
    ["a timeout", ["error_response"], (agent) => agent!.fail("dial tcp 127.0.0.1:9: i/o timeout")],
    ["a policy", ["error_response"], (agent) => agent!.fail("dial tcp 127.0.0.1:9: denied by policy")],
    ["the loss of the agent", ["backend_close"], (agent) => agent!.lose()],
    ["silence", ["backend_dial_timeout"], (_, clock) => clock.advance(30_000)],
    ["no agent", ["no_agent"], () => {}],
  ])("is over with %s as %j", (what, outcomes, end) => {
    const { board, agent, clock } = makeBoard();
    const one = what === "no agent" ? undefined : agent("one");
    const [seen, shown]: string[][] = [[], []];
    const unsubscribe = [
      serverDialEnded.subscribe(({ outcome }) => seen!.push(outcome), board.source),
      agentProbed.subscribe(({ address }) => shown!.push(address), board.source),
    ];
    const caller = new FakeCaller("127.0.0.1:9", newProbeDialId());
    board.dial(caller);
    end(one, clock);
    expect(seen).toEqual(outcomes);
    expect(shown).toEqual(outcomes.length === 0 ? ["127.0.0.1:9"] : []);
    expect(caller.refusals).toHaveLength(1);
    expect(board.pendingDials).toBe(0);
    for (const over of unsubscribe) over();
  });

  test.each([
    ["any other port", new FakeCaller("127.0.0.1:99", newProbeDialId())],
    ["this port without the mark of a probe", new FakeCaller("127.0.0.1:9")],
  ])("a refused dial of %s is a failed one", (_, caller) => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const seen: string[] = [];
    const over = serverDialEnded.subscribe(({ outcome }) => seen.push(outcome), board.source);
    board.dial(caller);
    one.fail(`dial tcp ${caller.address}: connect: connection refused`);
    expect(seen).toEqual(["error_response"]);
    over();
  });
});

describe("where a dial goes", () => {
  test.each([
    ["[::FFFF:10.0.0.1]:0443", "10.0.0.1:443"],
    ["[FD00:0::1]:443", "[fd00::1]:443"],
    ["0.0.0.0:80", "127.0.0.1:80"],
    [":80", "127.0.0.1:80"],
    ["Web.Shop.SVC.:80", "web.shop.svc.:80"],
    ["127.1:80", "127.1:80"],
  ])("%s is sent to the agent in its one form, %s", (asked, address) => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const dial = board.dial(new FakeCaller(asked));
    expect(one.stream.packets).toMatchObject([{ type: "DIAL_REQ", address }]);
    expect([dial.address, dial.asked.address]).toEqual([address, address]);
  });

  test.each(["127.0.0.1\0.svc.cluster.local:80", "ⓛocalhost:80", "a b:80", "a%41:80", "a..b:80", "a\u001bc:80"])(
    "%j reaches no agent, and the refusal says what a host is",
    (address) => {
      const { board, agent } = makeBoard();
      const one = agent("one");
      const caller = new FakeCaller(address);
      board.dial(caller);
      expect(one.stream.packets).toEqual([]);
      expect(caller.refusals).toEqual([
        {
          kind: "dial-error",
          text: expect.stringMatching(/^dial tcp: lookup .*: no such host \(a host is an IP address/),
        },
      ]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
      expect(JSON.stringify(caller.refusals)).not.toMatch(/[\x00-\x1f]|\\u00/);
      expect(board.pendingDials).toBe(0);
    },
  );

  test("an address of megabytes reaches neither an agent nor the log", () => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const caller = new FakeCaller(`${"a\n".repeat(1_000_000)}:80`);
    const dial = board.dial(caller);
    expect(one.stream.packets).toEqual([]);
    expect(caller.refusals).toEqual([
      { kind: "dial-error", text: "dial tcp: the address is longer than 300 characters" },
    ]);
    expect(dial.address.length).toBeLessThanOrEqual(300);
  });

  test("no spelling of a host gets past the agents that have it, or past a reservation of it", () => {
    const isReserved = (host: string): boolean => host === "db.acme.example";
    const { board, agent } = makeBoard({ strategies: ["destHost", "default"], isReserved });
    agent("anybody");
    const own = agent("own", "ipv4=10.0.0.1");
    board.dial(new FakeCaller("[::ffff:10.0.0.1]:443"));
    expect(own.stream.packets).toMatchObject([{ type: "DIAL_REQ", address: "10.0.0.1:443" }]);
    const caller = new FakeCaller("DB.acme.Example.:443");
    board.dial(caller);
    expect(caller.refusals).toMatchObject([{ kind: "no-agent" }]);
  });

  test.each(["ECHO.drawbridge.invalid:7", "echo.drawbridge.invalid.:7", "echo.drawbridge.invalid:07"])(
    "%s is nobody's destination, like the agent's echo in its own spelling",
    (address) => {
      const { board, agent } = makeBoard();
      const one = agent("one");
      const caller = new FakeCaller(address);
      board.dial(caller);
      expect([one.stream.packets, caller.refusals]).toEqual([[], [{ kind: "dial-error", text: ECHO_REFUSAL }]]);
    },
  );
});

describe("a dial that cannot be made", () => {
  test("is refused with upstream's words first when there is no agent", () => {
    const { board } = makeBoard();
    const caller = new FakeCaller();
    board.dial(caller);
    expect(caller.refusals).toMatchObject([{ kind: "no-agent", text: expect.stringMatching(/^No agent available/) }]);
    expect(board.pendingDials).toBe(0);
  });

  test("an endpoint's own refusal is passed on at once and costs the agent nothing", () => {
    const { board, agent } = makeBoard();
    const agents = [agent("one"), agent("two")];
    const caller = new FakeCaller();
    board.dial(caller);
    agents.find((each) => each.asked())!.fail(REFUSED);
    expect(caller.refusals).toEqual([{ kind: "dial-error", text: REFUSED }]);
    expect(agents.filter((each) => each.asked())).toHaveLength(1);
    expect(agents.map(({ link }) => link.demotedUntil)).toEqual([0, 0]);
  });

  test("an agent that closes the dial ends it", () => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const caller = new FakeCaller("a:1", 9n);
    board.dial(caller);
    one.link.onControl({ type: "DIAL_CLS", random: 9n });
    expect(caller.refusals).toMatchObject([{ kind: "closed-by-agent" }]);
  });

  test.each([0, -1])("an answer with connection number %i does not become a tunnel", (connectId) => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const caller = new FakeCaller();
    board.dial(caller);
    if (connectId === 0) {
      one.answer(0);
      expect(caller.refusals).toHaveLength(1);
      expect(board.establishedTunnels).toBe(0);
    } else {
      one.answer(4);
      const second = new FakeCaller();
      board.dial(second);
      one.answer(4);
      expect(second.refusals).toHaveLength(1);
      expect(board.establishedTunnels).toBe(1);
    }
  });
});

describe("one broken agent of three", () => {
  test("no request is lost to it, and it is asked once until its time is over", () => {
    const { board, agent, clock } = makeBoard();
    const broken = agent("broken");
    const good = [agent("good-1"), agent("good-2")];
    let ids = 0;
    let lost = 0;
    let askedBroken = 0;
    for (let request = 0; request < 300; request++) {
      const caller = new FakeCaller();
      board.dial(caller);
      for (let attempt = 0; attempt < 2; attempt++) {
        for (const each of [broken, ...good]) {
          if (each.asked() === undefined) continue;
          if (each === broken) {
            askedBroken++;
            each.fail(TIMEOUT);
          } else each.answer(++ids);
          each.stream.news();
        }
      }
      if (caller.accepted === undefined) lost++;
      else caller.port.near!.onNearLost("done");
      for (const each of [broken, ...good]) each.stream.news();
    }
    expect({ lost, askedBroken }).toEqual({ lost: 0, askedBroken: 1 });
    clock.advance(15_001);
    expect(broken.link.demotedUntil).toBeLessThan(clock.now());
  });

  test("each further failure keeps it away twice as long, a success ends it", () => {
    const { board, agent, clock } = makeBoard();
    const only = agent("only");
    const demotionFor = () => {
      board.dial(new FakeCaller());
      only.fail("dial tcp: socket: too many open files");
      return only.link.demotedUntil - clock.now();
    };
    expect([demotionFor(), demotionFor(), demotionFor()]).toEqual([15_000, 30_000, 60_000]);
    board.dial(new FakeCaller());
    only.answer(1);
    expect(only.link.demotedUntil).toBe(0);
    expect(demotionFor()).toBe(15_000);
  });
});

describe("a target that no agent finds a way to", () => {
  test("demotes none of those that tried", () => {
    const { board, agent } = makeBoard({ random: picks(0) });
    const agents = [agent("one"), agent("two"), agent("three")];
    board.dial(new FakeCaller("dead:1"));
    agents[0]!.fail(TIMEOUT);
    agents[1]!.fail(TIMEOUT);
    expect(agents.map(({ link }) => link.demotedUntil)).toEqual([0, 0, 0]);
  });

  test.each(["answers", "refuses"])("demotes the first when the target %s the second", (how) => {
    const { board, agent, clock } = makeBoard({ random: picks(0) });
    const agents = [agent("one"), agent("two")];
    board.dial(new FakeCaller("live:1"));
    agents[0]!.fail(TIMEOUT);
    if (how === "answers") agents[1]!.answer(3);
    else agents[1]!.fail(REFUSED);
    expect(agents.map(({ link }) => link.demotedUntil > clock.now())).toEqual([true, false]);
  });

  test.each([
    "dial tcp 10.0.0.1:443: refused by this agent's destination policy: no --allow rule covers it",
    "dial tcp: lookup live: no such host",
  ])("does not demote the first when the second says: %s", (error) => {
    const { board, agent } = makeBoard({ random: picks(0) });
    const agents = [agent("one"), agent("two")];
    board.dial(new FakeCaller("live:1"));
    agents[0]!.fail(TIMEOUT);
    agents[1]!.fail(error);
    expect(agents.map(({ link }) => link.demotedUntil)).toEqual([0, 0]);
  });

  test("demotes none that had less time than an endpoint may take", () => {
    const { board, agent, clock } = makeBoard({ dialTimeoutMs: 8_000, random: picks(0) });
    const agents = [agent("one"), agent("two")];
    const caller = new FakeCaller("dead:1");
    board.dial(caller);
    clock.advance(5_000);
    agents[0]!.fail(TIMEOUT);
    clock.advance(3_000);
    expect(caller.refusals).toMatchObject([{ kind: "timeout" }]);
    expect(agents.map(({ link }) => statusOf(link, clock.now()))).toEqual(["ready", "ready"]);
  });

  test("with a short deadline only keeps an agent back until it has answered a ping", () => {
    const { board, agent, clock } = makeBoard({ dialTimeoutMs: 3_000, random: picks(0) });
    const pings: (() => void)[] = [];
    const connection = { ping: (onAnswer: () => void) => void pings.push(onAnswer) };
    const one = agent("one", "", false, false, { connection });
    agent("two");
    board.dial(new FakeCaller("dead:1"));
    clock.advance(3_000);
    expect(statusOf(one.link, clock.now())).toBe("demoted");
    pings[0]!();
    expect(statusOf(one.link, clock.now())).toBe("ready");
  });
});

describe("a second attempt", () => {
  test("goes to another agent and its answer counts", () => {
    const { board, agent } = makeBoard({ random: picks(0) });
    const [one, two] = [agent("one"), agent("two")];
    const caller = new FakeCaller();
    board.dial(caller);
    one.fail(TIMEOUT);
    expect(caller.refusals).toEqual([]);
    two.answer(3);
    expect(caller.accepted).toBe(3);
  });

  test("is the last one", () => {
    const { board, agent } = makeBoard({ random: picks(0) });
    const agents = [agent("one"), agent("two"), agent("three")];
    const caller = new FakeCaller();
    board.dial(caller);
    agents[0]!.fail(TIMEOUT);
    agents[1]!.fail(TIMEOUT);
    expect(caller.refusals).toEqual([{ kind: "dial-error", text: TIMEOUT }]);
    expect(agents[2]!.asked()).toBeUndefined();
  });

  test("is made at once when the agent is lost", () => {
    const { board, agent } = makeBoard({ random: picks(0) });
    const [one, two] = [agent("one"), agent("two")];
    const caller = new FakeCaller();
    board.dial(caller);
    one.lose();
    expect(two.asked()).toBeDefined();
    two.lose();
    expect(caller.refusals).toMatchObject([{ kind: "agent-lost" }]);
    expect(board.pendingDials).toBe(0);
  });

  test("is made when an agent is silent for longer than an endpoint may be, and the silent one is told", () => {
    const { board, agent, clock } = makeBoard({ random: picks(0) });
    const [one, two] = [agent("one"), agent("two")];
    const caller = new FakeCaller("a:1", 5n);
    board.dial(caller);
    clock.advance(5_999);
    expect(two.asked()).toBeUndefined();
    clock.advance(1);
    expect(two.asked()).toBeDefined();
    expect(one.stream.packets.at(-1)).toEqual({ type: "DIAL_CLS", random: 5n });
    clock.advance(23_999);
    expect(caller.refusals).toEqual([]);
    clock.advance(1);
    expect(caller.refusals).toMatchObject([{ kind: "timeout" }]);
    expect(two.stream.packets.at(-1)).toMatchObject({ type: "DIAL_CLS" });
    expect(clock.waiting).toEqual([]);
  });

  test("an answer that comes too late is closed at its agent and disturbs nobody", () => {
    const { board, agent, clock } = makeBoard({ random: picks(0) });
    const [one, two] = [agent("one"), agent("two")];
    const caller = new FakeCaller();
    board.dial(caller);
    clock.advance(6_000);
    one.answer(11);
    expect(one.stream.packets.at(-1)).toEqual({ type: "CLOSE_REQ", connectId: 11 });
    two.answer(12);
    expect(caller.accepted).toBe(12);
    expect(board.establishedTunnels).toBe(1);
  });

  test("without another agent the first one keeps its whole time", () => {
    const { board, agent, clock } = makeBoard();
    const only = agent("only");
    const caller = new FakeCaller();
    board.dial(caller);
    clock.advance(29_999);
    expect(caller.refusals).toEqual([]);
    only.answer(1);
    expect(caller.accepted).toBe(1);
  });

  test("a short deadline is not split", () => {
    const { board, agent, clock } = makeBoard({ dialTimeoutMs: 8_000, random: picks(0) });
    const [, two] = [agent("one"), agent("two")];
    const caller = new FakeCaller();
    board.dial(caller);
    clock.advance(7_999);
    expect(two.asked()).toBeUndefined();
    clock.advance(1);
    expect(caller.refusals).toMatchObject([{ kind: "timeout" }]);
  });

  test("without a deadline a dial waits for its agent", () => {
    const { board, agent, clock } = makeBoard({ dialTimeoutMs: 0 });
    const only = agent("only");
    const caller = new FakeCaller();
    board.dial(caller);
    clock.advance(24 * 3_600_000);
    only.answer(1);
    expect(caller.accepted).toBe(1);
  });
});

describe("a caller that gives up", () => {
  test("cancels the dial at the agent and a late answer is closed", () => {
    const { board, agent, clock } = makeBoard();
    const one = agent("one");
    const caller = new FakeCaller("a:1", 3n);
    const dial = board.dial(caller);
    dial.cancel();
    dial.cancel();
    expect(one.stream.packets.filter(({ type }) => type === "DIAL_CLS")).toEqual([{ type: "DIAL_CLS", random: 3n }]);
    expect([board.pendingDials, clock.waiting]).toEqual([0, []]);
    one.answer(8);
    expect(one.stream.packets.at(-1)).toEqual({ type: "CLOSE_REQ", connectId: 8 });
    expect(caller.accepted).toBeUndefined();
    expect(caller.refusals).toEqual([]);
  });

  test("just before the answer: the connection is closed at the agent", () => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    const caller = new FakeCaller();
    board.dial(caller);
    caller.gone = true;
    one.answer(8);
    expect(one.stream.packets.at(-1)).toEqual({ type: "CLOSE_REQ", connectId: 8 });
    expect([board.pendingDials, board.establishedTunnels]).toEqual([0, 0]);
  });
});

describe("an agent that is lost", () => {
  test("takes only its own tunnels with it", () => {
    const { board, agent } = makeBoard({ random: picks(0) });
    const one = agent("same-id");
    const first = new FakeCaller();
    board.dial(first);
    one.answer(1);
    const two = agent("same-id");
    one.link.draining = true;
    const second = new FakeCaller();
    board.dial(second);
    two.answer(1);
    one.lose();
    expect(first.port.log).toEqual(["cut"]);
    expect(second.port.log).toEqual([]);
    expect(board.establishedTunnels).toBe(1);
  });

  test("DATA for a connection nobody knows is answered with CLOSE_REQ, for one just closed it is not", () => {
    const { board, agent } = makeBoard();
    const one = agent("one");
    one.link.onData(99, Buffer.from("?"));
    one.link.onData(0, Buffer.from("?"));
    expect(one.stream.news()).toEqual([{ type: "CLOSE_REQ", connectId: 99 }]);
    const caller = new FakeCaller();
    board.dial(caller);
    one.answer(4);
    caller.port.near!.onNearLost("gone");
    one.stream.news();
    one.link.onData(4, Buffer.from("in flight"));
    expect(one.stream.news()).toEqual([]);
  });
});
