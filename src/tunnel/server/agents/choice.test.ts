import { describe, expect, test } from "vitest";
import type { AgentLink } from "./agent-link.js";
import { AgentGroup, chooseAmong } from "./choice.js";

const NOW = 1000;

function link(name: string, { load = 0, draining = false, demotedUntil = 0, group = new AgentGroup(name) } = {}) {
  const made = { name, load, draining, demotedUntil, inQuestion: false, group } as unknown as AgentLink;
  group.links.push(made);
  return made;
}

/** Who is chosen over many draws, with a generator that visits every pair. */
function chosen(matches: AgentLink[], tried: AgentLink[] = []): Set<AgentLink | undefined> {
  const found = new Set<AgentLink | undefined>();
  const steps = [0, 0.2, 0.4, 0.6, 0.8, 0.999];
  for (const first of steps) {
    for (const second of steps) {
      const draws = [first, second, first, second];
      let at = 0;
      const candidates = [...new Set(matches.map(({ group }) => group))].map((group) => ({
        group,
        links: matches.filter((each) => each.group === group),
      }));
      found.add(chooseAmong(candidates, tried, NOW, () => draws[at++ % draws.length]!));
    }
  }
  return found;
}

describe("the choice of the agent that takes a dial", () => {
  test("is nobody when no agent matches", () => {
    expect(chosen([])).toEqual(new Set([undefined]));
  });

  test("of two the less loaded, but never always the emptiest of all", () => {
    const [busy, middle, idle] = [link("busy", { load: 9 }), link("middle", { load: 5 }), link("idle", { load: 1 })];
    const both = chosen([busy, idle]);
    expect(both.has(idle)).toBe(true);
    const fromThree = chosen([busy, middle, idle]);
    expect(fromThree.has(middle)).toBe(true);
  });

  test("an agent that is ready before one demoted before one draining", () => {
    const ready = link("ready", { load: 100 });
    const demoted = link("demoted", { demotedUntil: NOW + 1 });
    const draining = link("draining", { draining: true });
    expect(chosen([demoted, ready, draining])).toEqual(new Set([ready]));
    expect(chosen([draining, demoted])).toEqual(new Set([demoted]));
    expect(chosen([draining])).toEqual(new Set([draining]));
  });

  test("a demotion ends by itself", () => {
    const past = link("past", { demotedUntil: NOW });
    const busy = link("busy", { load: 5 });
    expect(chosen([past, busy]).has(past)).toBe(true);
  });

  test("one that was tried is not tried again, however good", () => {
    const tried = link("tried");
    const draining = link("draining", { draining: true });
    expect(chosen([tried, draining], [tried])).toEqual(new Set([draining]));
    expect(chosen([tried], [tried])).toEqual(new Set([undefined]));
  });

  test("of one agent's streams the oldest, then the oldest that is not demoted or draining", () => {
    const group = new AgentGroup("one");
    const draining = link("draining", { draining: true, group });
    const demoted = link("demoted", { demotedUntil: NOW + 1, group });
    const [older, newer] = [link("older", { load: 9, group }), link("newer", { group })];
    expect(chosen([older, newer])).toEqual(new Set([older]));
    expect(chosen([draining, demoted, older, newer])).toEqual(new Set([older]));
    expect(chosen([draining, demoted])).toEqual(new Set([demoted]));
  });

  test("an agent that was tried is tried on another of its streams only when there is no other agent", () => {
    const group = new AgentGroup("one");
    const [tried, second] = [link("tried", { group }), link("second", { group })];
    const other = link("other", { draining: true });
    expect(chosen([tried, second, other], [tried])).toEqual(new Set([other]));
    expect(chosen([tried, second], [tried])).toEqual(new Set([second]));
  });

  test("a demoted agent comes behind others with all its streams", () => {
    const group = new AgentGroup("one");
    group.demotedUntil = NOW + 1;
    const streams = [link("first", { group }), link("second", { group })];
    const other = link("other", { load: 100 });
    expect(chosen([...streams, other])).toEqual(new Set([other]));
    expect(chosen(streams)).toEqual(new Set([streams[0]]));
  });
});
