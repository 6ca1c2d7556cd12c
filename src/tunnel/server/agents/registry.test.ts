import { describe, expect, test } from "vitest";
import { makeBoard } from "../testing/fakes.js";

describe("several strategies", () => {
  test("destHost is asked before default", () => {
    const { board, agent } = makeBoard({ strategies: ["destHost", "default"] });
    const host = agent("host", "ipv4=10.0.0.1");
    const other = agent("other");
    for (let draw = 0; draw < 20; draw++) expect(board.registry.choose("10.0.0.1:443", [])).toBe(host.link);
    const seen = new Set(Array.from({ length: 100 }, () => board.registry.choose("10.9.9.9:443", [])));
    expect(seen).toEqual(new Set([host.link, other.link]));
  });

  test("ports and brackets do not matter, a zone and a last dot neither", () => {
    const { board, agent } = makeBoard({ strategies: ["destHost"] });
    const six = agent("six", "ipv6=fd00::1&ipv6=fe80::1&host=db").link;
    expect(board.registry.choose("[fd00::1]:443", [])).toBe(six);
    expect(board.registry.choose("[fe80::1%eth0]:443", [])).toBe(six);
    expect(board.registry.choose("db.:443", [])).toBe(six);
    expect(board.registry.choose("fd00::1", [])).toBe(six);
    expect(board.registry.choose("[fd00::2]:443", [])).toBeUndefined();
  });

  test("a draining match of an earlier strategy comes before a later strategy, as upstream has it", () => {
    const { board, agent } = makeBoard({ strategies: ["destHost", "default"] });
    const host = agent("host", "host=db").link;
    agent("other");
    host.draining = true;
    expect(board.registry.choose("db:5432", [])).toBe(host);
  });

  test("DRAIN moves an agent behind the others and is published once", () => {
    const { board, agent } = makeBoard();
    const leaving = agent("leaving").link;
    const staying = agent("staying").link;
    leaving.onControl({ type: "DRAIN" });
    leaving.onControl({ type: "DRAIN" });
    for (let draw = 0; draw < 20; draw++) expect(board.registry.choose("x:1", [])).toBe(staying);
    staying.onClosed({ status: 0, reason: "gone" });
    expect(board.registry.choose("x:1", [])).toBe(leaving);
  });
});

describe("readiness and gauges", () => {
  test("ready means the first strategy has someone", () => {
    const { board, agent } = makeBoard({ strategies: ["destHost", "default"] });
    agent("plain");
    expect(board.registry.ready).toBe(false);
    const host = agent("host", "host=a&host=b");
    expect(board.registry.ready).toBe(true);
    expect([...board.registry.readyBackends()]).toEqual([
      ["destHost", 2],
      ["default", 2],
    ]);
    host.lose();
    expect(board.registry.ready).toBe(false);
    expect(board.registry.size).toBe(1);
  });
});

describe("a host that is reserved for agents that claim it", () => {
  const strategies = ["destHost", "destCIDR", "defaultRoute"] as const;

  test("goes to nobody else while they are away, and other hosts are not affected", () => {
    const { board, agent } = makeBoard({ strategies, isReserved: (host) => host === "10.0.0.1" });
    const worker = agent("worker", "default-route=true").link;
    expect(board.registry.choose("10.0.0.1:443", [])).toBeUndefined();
    expect(board.registry.choose("10.0.0.2:443", [])).toBe(worker);
    const [considered] = board.explainChoice("10.0.0.1:443", []).considered;
    expect(considered?.passedOver).toContain("reserved for agents that claim it");
    const plane = agent("plane", "ipv4=10.0.0.1").link;
    expect(board.registry.choose("10.0.0.1:443", [])).toBe(plane);
    plane.onClosed({ status: 0, reason: "gone" });
    expect(board.registry.choose("10.0.0.1:443", [])).toBeUndefined();
  });
});

describe("the explanation of a refusal", () => {
  test("names who was there and why not, and the caller is told none of it", () => {
    const { board, agent } = makeBoard({ strategies: ["destHost"] });
    agent("secret-agent", "host=db");
    const { text } = board.explainNoAgent("web:80", []);
    expect(text).toMatch(/^No agent available \(1 connected.*reference [0-9a-f]{8}\)$/);
    expect(text).not.toContain("secret-agent");
    expect(board.explainChoice("web:80", [])).toMatchObject({
      host: "web",
      agentsConnected: 1,
      strategies: [{ name: "destHost", keys: 1, matches: 0 }],
      considered: [{ agentId: "secret-agent", status: "ready", passedOver: expect.stringContaining("no strategy") }],
    });
  });
});
