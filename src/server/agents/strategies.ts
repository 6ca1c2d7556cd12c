/** The indexes of agents that strategies look destinations up in. Each keeps its own; an agent may be in several. */
import ipaddr from "ipaddr.js";
import type { StrategyName } from "../config.js";
import type { AgentLink } from "./agent-link.js";

export interface Strategy {
  readonly name: StrategyName;
  /** Its agents reach any destination, as far as it knows. */
  readonly takesAnything: boolean;
  /** Distinct keys in the index: what upstream's ready_backends counts. */
  readonly keys: number;
  add(link: AgentLink): void;
  remove(link: AgentLink): void;
  /** Everyone who can reach `host`, best kind of match only. */
  matches(host: string): readonly AgentLink[];
}

export function createStrategy(name: StrategyName): Strategy {
  switch (name) {
    case "default":
      return new ByAgent(name, () => true);
    case "defaultRoute":
      return new ByAgent(name, (link) => link.identity.identifiers.defaultRoute);
    case "destHost":
      return new ByHost();
    case "destCIDR":
      return new ByPrefix();
  }
}

const NOBODY: readonly AgentLink[] = [];

/** A bag of links per key. */
class Index {
  readonly #lists = new Map<string, AgentLink[]>();

  get size(): number {
    return this.#lists.size;
  }

  get(key: string): readonly AgentLink[] {
    return this.#lists.get(key) ?? NOBODY;
  }

  add(key: string, link: AgentLink): void {
    const list = this.#lists.get(key);
    if (list === undefined) this.#lists.set(key, [link]);
    else if (!list.includes(link)) list.push(link);
  }

  remove(key: string, link: AgentLink): void {
    const list = this.#lists.get(key);
    const at = list?.indexOf(link) ?? -1;
    if (list === undefined || at < 0) return;
    list.splice(at, 1);
    if (list.length === 0) this.#lists.delete(key);
  }
}

/** `default` and `defaultRoute`: any agent that qualifies reaches anything. */
class ByAgent implements Strategy {
  readonly name: StrategyName;
  readonly takesAnything = true;
  readonly #qualifies: (link: AgentLink) => boolean;
  readonly #byId = new Index();
  readonly #all: AgentLink[] = [];

  constructor(name: StrategyName, qualifies: (link: AgentLink) => boolean) {
    this.name = name;
    this.#qualifies = qualifies;
  }

  get keys(): number {
    return this.#byId.size;
  }

  add(link: AgentLink): void {
    if (!this.#qualifies(link)) return;
    this.#byId.add(link.identity.agentId, link);
    this.#all.push(link);
  }

  remove(link: AgentLink): void {
    this.#byId.remove(link.identity.agentId, link);
    const at = this.#all.indexOf(link);
    if (at < 0) return;
    const last = this.#all.pop()!;
    if (last !== link) this.#all[at] = last;
  }

  matches(): readonly AgentLink[] {
    return this.#all;
  }
}

/** `destHost`: the destination's host is among the agent's `ipv4`, `ipv6` or `host` identifiers. */
class ByHost implements Strategy {
  readonly name = "destHost";
  readonly takesAnything = false;
  readonly #index = new Index();

  get keys(): number {
    return this.#index.size;
  }

  add(link: AgentLink): void {
    for (const key of hostKeys(link)) this.#index.add(key, link);
  }

  remove(link: AgentLink): void {
    for (const key of hostKeys(link)) this.#index.remove(key, link);
  }

  matches(host: string): readonly AgentLink[] {
    return this.#index.get(canonicalHost(host));
  }
}

function hostKeys({ identity: { identifiers } }: AgentLink): string[] {
  return [...identifiers.ipv4, ...identifiers.ipv6, ...identifiers.host].map(canonicalHost);
}

/** One spelling per address, so that `fd00:0::1` finds `fd00::1`; names stay as they are, as upstream compares them. */
export function canonicalHost(host: string): string {
  return host.includes(":") && ipaddr.IPv6.isValid(host) ? ipaddr.IPv6.parse(host).toString() : host;
}

/** `destCIDR`: the destination's address lies in one of the agent's `cidr` identifiers; the longest prefix wins. */
class ByPrefix implements Strategy {
  readonly name = "destCIDR";
  readonly takesAnything = false;
  readonly #index = new Index();
  /** Prefix lengths in use per family, longest first, so that a look-up is a few Map probes. */
  #lengths: Record<"ipv4" | "ipv6", number[]> = { ipv4: [], ipv6: [] };
  readonly #lengthUse = new Map<string, number>();

  get keys(): number {
    return this.#index.size;
  }

  add(link: AgentLink): void {
    for (const { family, key, length } of prefixesOf(link)) {
      this.#index.add(key, link);
      this.#count(family, length, 1);
    }
  }

  remove(link: AgentLink): void {
    for (const { family, key, length } of prefixesOf(link)) {
      this.#index.remove(key, link);
      this.#count(family, length, -1);
    }
  }

  matches(host: string): readonly AgentLink[] {
    const address = parseAddress(host);
    if (address === undefined) return NOBODY;
    const family = address.kind();
    for (const length of this.#lengths[family]) {
      const found = this.#index.get(prefixKey(address, length));
      if (found.length > 0) return found;
    }
    return NOBODY;
  }

  #count(family: "ipv4" | "ipv6", length: number, change: number): void {
    const key = `${family}/${length}`;
    const use = (this.#lengthUse.get(key) ?? 0) + change;
    this.#lengthUse.set(key, use);
    const lengths = this.#lengths[family].filter((each) => each !== length);
    if (use > 0) lengths.push(length);
    this.#lengths[family] = lengths.sort((a, b) => b - a);
  }
}

type Address = ReturnType<typeof ipaddr.process>;

/** IPv4 in IPv6 clothes counts as IPv4. */
export function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return text.includes(":") && ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : undefined;
}

function prefixKey(address: Address, length: number): string {
  const bytes = address.toByteArray();
  let key = `${address.kind()}/${length}:`;
  for (let bit = 0; bit < length; bit += 8) {
    const keep = Math.min(8, length - bit);
    key += String.fromCharCode(bytes[bit / 8]! & (0xff00 >> keep));
  }
  return key;
}

function prefixesOf({ identity }: AgentLink): { family: "ipv4" | "ipv6"; key: string; length: number }[] {
  return identity.identifiers.cidr.flatMap((text) => {
    const slash = text.lastIndexOf("/");
    const address = parseAddress(text.slice(0, slash));
    const digits = text.slice(slash + 1);
    const length = Number(digits);
    // Upstream never validated these; one that is no prefix matches nothing.
    if (slash < 0 || address === undefined || !/^\d{1,3}$/.test(digits)) return [];
    if (length > (address.kind() === "ipv4" ? 32 : 128)) return [];
    return [{ family: address.kind(), key: prefixKey(address, length), length }];
  });
}
