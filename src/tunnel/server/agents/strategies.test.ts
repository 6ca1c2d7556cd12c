import { describe, expect, test } from "vitest";
import { parseIdentifiers } from "../../wire/identifiers.js";
import type { AgentLink } from "./agent-link.js";
import { AgentGroup } from "./choice.js";
import { Strategy } from "./strategies.js";

/** As much of a link as an index looks at. */
function link(agentId: string, identifiers = "", group = new AgentGroup(agentId)): AgentLink {
  return { identity: { agentId, identifiers: parseIdentifiers(identifiers) }, group } as unknown as AgentLink;
}

const idsOf = (strategy: Strategy, host: string) =>
  strategy
    .matches(host)
    .flatMap(({ links }) => links.map(({ identity }) => identity.agentId))
    .sort();

describe("default and defaultRoute", () => {
  test("default takes everyone, defaultRoute only who says so", () => {
    const everyone = new Strategy("default");
    const routed = new Strategy("defaultRoute");
    for (const each of [link("plain"), link("router", "default-route=true"), link("not", "default-route=yes")]) {
      everyone.add(each);
      routed.add(each);
    }
    expect(idsOf(everyone, "anything")).toEqual(["not", "plain", "router"]);
    expect(idsOf(routed, "anything")).toEqual(["router"]);
  });

  test("several streams of one agent are one key and one candidate, the oldest first", () => {
    const strategy = new Strategy("default");
    const group = new AgentGroup("same");
    const [first, second] = [link("same", "", group), link("same", "", group)];
    strategy.add(first);
    strategy.add(second);
    expect(strategy.keys).toBe(1);
    expect(strategy.matches("x").map(({ links }) => links)).toEqual([[first, second]]);
    strategy.remove(first);
    expect(strategy.matches("x").map(({ links }) => links)).toEqual([[second]]);
    expect(strategy.keys).toBe(1);
    strategy.remove(second);
    expect([strategy.keys, strategy.matches("x").length]).toEqual([0, 0]);
  });

  test("removing one of many keeps the rest, whichever it is", () => {
    for (let gone = 0; gone < 4; gone++) {
      const strategy = new Strategy("default");
      const links = ["a", "b", "c", "d"].map((id) => link(id));
      for (const each of links) strategy.add(each);
      strategy.remove(links[gone]!);
      expect(idsOf(strategy, "x")).toEqual(["a", "b", "c", "d"].filter((_id, index) => index !== gone));
    }
  });
});

describe("destHost", () => {
  test("matches ipv4, ipv6 and host identifiers", () => {
    const strategy = new Strategy("destHost");
    strategy.add(link("a", "ipv4=10.0.0.1&host=db&ipv6=fd00::1"));
    strategy.add(link("b", "host=db"));
    expect(idsOf(strategy, "10.0.0.1")).toEqual(["a"]);
    expect(idsOf(strategy, "db")).toEqual(["a", "b"]);
    expect(idsOf(strategy, "10.0.0.2")).toEqual([]);
    expect(strategy.keys).toBe(3);
  });

  test.each([
    ["ipv6=fd00:0::1", "fd00::1"],
    ["ipv6=FD00:0:0:0:0:0:0:0001", "fd00::1"],
    ["ipv6=::ffff:10.0.0.1", "10.0.0.1"],
    ["host=DB.example.", "db.example"],
  ])("an agent with %s has the dials of %s: identifiers count in the one form that dials have", (identifier, host) => {
    const strategy = new Strategy("destHost");
    strategy.add(link("a", identifier));
    expect(idsOf(strategy, host)).toEqual(["a"]);
  });

  test("an agent that names an address twice leaves no trace when it goes", () => {
    const strategy = new Strategy("destHost");
    const twice = link("a", "ipv6=fd00::1&ipv6=fd00:0::1&host=fd00::1");
    strategy.add(twice);
    expect([strategy.keys, strategy.matches("fd00::1").length]).toEqual([1, 1]);
    strategy.remove(twice);
    expect([strategy.keys, strategy.matches("fd00::1").length]).toEqual([0, 0]);
  });
});

describe("destCIDR", () => {
  test("the longest prefix wins, per family", () => {
    const strategy = new Strategy("destCIDR");
    strategy.add(link("wide", "cidr=10.0.0.0/8&cidr=::/0"));
    strategy.add(link("narrow", "cidr=10.128.0.0/14"));
    strategy.add(link("host", "cidr=10.128.1.10/32"));
    strategy.add(link("six", "cidr=fd00:10::/32"));
    expect(idsOf(strategy, "10.1.2.3")).toEqual(["wide"]);
    expect(idsOf(strategy, "10.131.255.255")).toEqual(["narrow"]);
    expect(idsOf(strategy, "10.132.0.0")).toEqual(["wide"]);
    expect(idsOf(strategy, "10.128.1.10")).toEqual(["host"]);
    expect(idsOf(strategy, "fd00:10::5")).toEqual(["six"]);
    expect(idsOf(strategy, "fd00:11::5")).toEqual(["wide"]);
    expect(idsOf(strategy, "11.0.0.1")).toEqual([]);
    expect(idsOf(strategy, "a-name")).toEqual([]);
  });

  test("when the narrow one goes, the wide one takes over", () => {
    const strategy = new Strategy("destCIDR");
    const narrow = [link("n1", "cidr=10.1.0.0/16"), link("n2", "cidr=10.1.0.0/16&cidr=10.1.0.0/16")];
    strategy.add(link("wide", "cidr=10.0.0.0/8"));
    for (const each of narrow) strategy.add(each);
    expect(idsOf(strategy, "10.1.2.3")).toEqual(["n1", "n2"]);
    for (const each of narrow) strategy.remove(each);
    expect(idsOf(strategy, "10.1.2.3")).toEqual(["wide"]);
    expect(strategy.keys).toBe(1);
  });

  test("prefixes of length 0 and of odd lengths match", () => {
    const strategy = new Strategy("destCIDR");
    strategy.add(link("all", "cidr=0.0.0.0/0"));
    strategy.add(link("odd", "cidr=192.168.4.0/23"));
    expect(idsOf(strategy, "8.8.8.8")).toEqual(["all"]);
    expect(idsOf(strategy, "192.168.5.255")).toEqual(["odd"]);
    expect(idsOf(strategy, "192.168.6.0")).toEqual(["all"]);
    expect(idsOf(strategy, "fd00::1")).toEqual([]);
  });

  test("an IPv4 address mapped into IPv6 counts as IPv4", () => {
    const strategy = new Strategy("destCIDR");
    strategy.add(link("four", "cidr=10.0.0.0/8"));
    expect(idsOf(strategy, "::ffff:10.1.2.3")).toEqual(["four"]);
  });

  test.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "/8", "x/8", "fd00::/129", ""])(
    "%j is no prefix and matches nothing",
    (text) => {
      const strategy = new Strategy("destCIDR");
      const odd = link("odd", `cidr=${text}`);
      strategy.add(odd);
      expect(strategy.keys).toBe(0);
      expect(idsOf(strategy, "10.0.0.0")).toEqual([]);
      strategy.remove(odd);
    },
  );
});
