/** How dials are shared among agents, however many streams each of them has. */
import { describe, expect, test } from "vitest";
import { type FakeAgent, FakeCaller, type FakePlace, makeBoard } from "../testing/fakes.js";
import { seeded } from "../testing/seeded.js";

const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));
const connection = () => ({ ping: (onAnswer: () => void) => onAnswer() });
/** A connection whose peer is silent until it is told to answer. */
function silentConnection() {
  const questions: (() => void)[] = [];
  return {
    questions,
    ping: (onAnswer: () => void) => void questions.push(onAnswer),
    answer: () => {
      for (const question of questions.splice(0)) question();
    },
  };
}

type Join = (agentId: string, place?: FakePlace) => FakeAgent;

function world(seed: number) {
  const { board, clock, agent } = makeBoard({ random: seeded(seed) });
  const join: Join = (agentId, place) => agent(agentId, "", false, false, place);
  const choose = () => board.registry.choose("x:1", []);
  return { board, clock, join, choose };
}

describe("an honest agent gets half of the dials beside one other that", () => {
  test.each<[string, (join: Join) => unknown]>([
    ["has 2,000 streams under one agentID", (join) => times(2000, () => join("greedy"))],
    [
      "has 2,000 streams under 2,000 agentIDs on one connection",
      (join) => {
        const place = { connection: connection() };
        return times(2000, (index) => join(`greedy-${index}`, place));
      },
    ],
    [
      "has 2,000 streams on 100 connections, whose first is always the same agentID",
      (join) =>
        times(100, (at) => {
          const place = { connection: connection() };
          join("greedy", place);
          return times(19, (index) => join(`greedy-${at}-${index}`, place));
        }),
    ],
  ])("%s", (_what, arrive) => {
    const { join, choose } = world(1);
    arrive(join);
    const honest = join("honest");
    const share = times(10_000, choose).filter((link) => link === honest.link).length;
    expect(share).toBeGreaterThan(4_500);
    expect(share).toBeLessThan(5_500);
  });
});

describe("1,000 agents with one certificate", () => {
  test("share 100,000 short dials evenly: chi-square within 5 standard deviations", () => {
    const { join, choose } = world(2);
    const agents = times(1000, (index) => join(`node-${index}`, { principal: "CN=konnectivity-agent" }));
    const counts = new Map(agents.map(({ link }) => [link, 0]));
    for (const link of times(100_000, choose)) counts.set(link!, counts.get(link!)! + 1);
    const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - 100) ** 2 / 100, 0);
    expect(chiSquare).toBeGreaterThan(999 - 5 * Math.sqrt(2 * 999));
    expect(chiSquare).toBeLessThan(999 + 5 * Math.sqrt(2 * 999));
  });

  test("share 10,000 open tunnels so that none has more than twice its part", () => {
    const { board, join } = world(3);
    const agents = times(1000, (index) => join(`node-${index}`, { principal: "CN=konnectivity-agent" }));
    for (let dial = 0; dial < 10_000; dial++) board.dial(new FakeCaller());
    const loads = agents.map(({ link }) => link.load);
    expect(loads.reduce((sum, load) => sum + load)).toBe(10_000);
    expect([Math.min(...loads) >= 5, Math.max(...loads) <= 20]).toEqual([true, true]);
  });
});

describe("an agent that uses another's agentID", () => {
  test("gets none of its dials while the other answers", () => {
    const { join, choose } = world(4);
    const victim = join("victim");
    times(50, () => join("victim"));
    expect(new Set(times(100, choose))).toEqual(new Set([victim.link]));
  });

  test("is an agent of its own when it has another certificate", () => {
    const { join, choose } = world(5);
    const victim = join("victim", { principal: "CN=a" });
    const other = join("victim", { principal: "CN=b" });
    expect(new Set(times(100, choose))).toEqual(new Set([victim.link, other.link]));
  });

  test("cannot make two others one by using both their agentIDs on one connection", () => {
    const { board, join, choose } = world(6);
    const victims = ["a", "b"].map((id) => join(id));
    const place = { connection: connection() };
    for (const id of ["c", "a", "b"]) join(id, place);
    expect(board.registry.agents).toBe(3);
    const chosen = times(9_000, choose);
    for (const { link } of victims) expect(chosen.filter((each) => each === link).length).toBeGreaterThan(2_700);
  });

  test("can put it in question only for one answer every ten seconds", () => {
    const { clock, join, choose } = world(7);
    const line = silentConnection();
    const victim = join("victim", { connection: line });
    join("victim");
    expect([line.questions.length, choose() === victim.link]).toEqual([1, false]);
    line.answer();
    times(100, () => join("victim"));
    expect([line.questions.length, choose() === victim.link]).toEqual([0, true]);
    clock.advance(10_000);
    join("victim");
    expect(line.questions).toHaveLength(1);
  });
});

describe("an agent that comes back before its old stream is known to be dead", () => {
  test("is used on the new one at once, and on the old one again should that answer", () => {
    const { join, choose } = world(8);
    const line = silentConnection();
    const old = join("a", { connection: line });
    expect(choose()).toBe(old.link);
    const back = join("a");
    expect(new Set(times(20, choose))).toEqual(new Set([back.link]));
    line.answer();
    expect(choose()).toBe(old.link);
    old.lose();
    expect(choose()).toBe(back.link);
  });

  test("is not blamed for the old one", () => {
    const { board, join } = world(9);
    const old = join("a", { connection: silentConnection() });
    const back = join("a");
    board.registry.demote(old.link);
    expect(board.explainChoice("x:1", []).considered.map(({ status }) => status)).toEqual(["demoted", "ready"]);
    board.registry.demote(back.link);
    expect(back.link.group.demotedUntil).toBeGreaterThan(0);
  });
});

test("groups leave nothing behind when their streams are gone, and a connection may be used again", () => {
  const { board, join, choose } = world(10);
  const place = { connection: connection() };
  const first = join("a", place);
  const second = join("b", place);
  expect(board.registry.agents).toBe(1);
  first.lose();
  expect([board.registry.agents, choose() === second.link]).toEqual([1, true]);
  second.lose();
  expect([board.registry.agents, choose()]).toEqual([0, undefined]);
  const third = join("c", place);
  expect([board.registry.agents, choose() === third.link]).toEqual([1, true]);
});
