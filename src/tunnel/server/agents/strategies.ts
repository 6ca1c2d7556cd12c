/** The indexes of agents that strategies look destinations up in. Each keeps its own; an agent may be in several. */
import { judgedHost, parseHost } from "../../wire/destination.js";
import { type Address, parseAddress, parsePrefix } from "../../wire/prefix.js";
import type { StrategyName } from "../config.js";
import type { AgentLink } from "./agent-link.js";
import type { AgentCandidate, AgentGroup } from "./choice.js";

export interface Strategy {
  readonly name: StrategyName;
  /** Its agents reach any destination, as far as it knows. */
  readonly takesAnything: boolean;
  /** Distinct keys in the index: what upstream's ready_backends counts. */
  readonly keys: number;
  add(link: AgentLink): void;
  remove(link: AgentLink): void;
  /** Everyone who can reach `host`, best kind of match only. */
  matches(host: string): readonly AgentCandidate[];
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

const NOBODY: readonly AgentCandidate[] = [];

interface Entry extends AgentCandidate {
  readonly links: AgentLink[];
  /** Its place among its list's candidates. */
  at: number;
}

/** The agents of one key; which streams are one agent's is decided before. */
class CandidateList {
  readonly candidates: Entry[] = [];
  readonly #byGroup = new Map<AgentGroup, Entry>();

  add(link: AgentLink): void {
    const entry = this.#byGroup.get(link.group);
    if (entry === undefined) {
      const made: Entry = { group: link.group, links: [link], at: this.candidates.length };
      this.#byGroup.set(link.group, made);
      this.candidates.push(made);
      // An agent that names one destination twice does so in one go.
    } else if (entry.links.at(-1) !== link) entry.links.push(link);
  }

  remove(link: AgentLink): void {
    const entry = this.#byGroup.get(link.group);
    const at = entry?.links.indexOf(link) ?? -1;
    if (entry === undefined || at < 0) return;
    entry.links.splice(at, 1);
    if (entry.links.length > 0) return;
    this.#byGroup.delete(link.group);
    const last = this.candidates.pop()!;
    if (last === entry) return;
    this.candidates[entry.at] = last;
    last.at = entry.at;
  }
}

/** Candidates by key. */
class Index {
  readonly #lists = new Map<string, CandidateList>();

  get size(): number {
    return this.#lists.size;
  }

  get(key: string): readonly AgentCandidate[] {
    return this.#lists.get(key)?.candidates ?? NOBODY;
  }

  add(key: string, link: AgentLink): void {
    let list = this.#lists.get(key);
    if (list === undefined) {
      list = new CandidateList();
      this.#lists.set(key, list);
    }
    list.add(link);
  }

  remove(key: string, link: AgentLink): void {
    const list = this.#lists.get(key);
    list?.remove(link);
    if (list?.candidates.length === 0) this.#lists.delete(key);
  }
}

/** `default` and `defaultRoute`: any agent that qualifies reaches anything. */
class ByAgent implements Strategy {
  readonly name: StrategyName;
  readonly takesAnything = true;
  readonly #qualifies: (link: AgentLink) => boolean;
  readonly #all = new CandidateList();
  /** Streams by agentID. */
  readonly #ids = new Map<string, number>();

  constructor(name: StrategyName, qualifies: (link: AgentLink) => boolean) {
    this.name = name;
    this.#qualifies = qualifies;
  }

  get keys(): number {
    return this.#ids.size;
  }

  add(link: AgentLink): void {
    if (!this.#qualifies(link)) return;
    this.#all.add(link);
    this.#count(link.identity.agentId, 1);
  }

  remove(link: AgentLink): void {
    if (!this.#qualifies(link)) return;
    this.#all.remove(link);
    this.#count(link.identity.agentId, -1);
  }

  #count(agentId: string, change: number): void {
    const streams = (this.#ids.get(agentId) ?? 0) + change;
    if (streams > 0) this.#ids.set(agentId, streams);
    else this.#ids.delete(agentId);
  }

  matches(): readonly AgentCandidate[] {
    return this.#all.candidates;
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

  matches(host: string): readonly AgentCandidate[] {
    return this.#index.get(host);
  }
}

function hostKeys({ identity: { identifiers } }: AgentLink): string[] {
  return [...identifiers.ipv4, ...identifiers.ipv6, ...identifiers.host].map(canonicalHost);
}

/** Destinations come in their one form, so an agent's identifiers are brought into it, too; what is no host stays. */
function canonicalHost(identifier: string): string {
  return judgedHost(parseHost(identifier)?.text ?? identifier);
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

  matches(host: string): readonly AgentCandidate[] {
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

function prefixKey(address: Address, length: number): string {
  const bytes = address.toByteArray();
  let key = `${address.kind()}/${length}:`;
  for (let bit = 0; bit < length; bit += 8) {
    const keep = Math.min(8, length - bit);
    key += String.fromCharCode(bytes[bit / 8]! & (0xff00 >> keep));
  }
  return key;
}

/** Upstream never validated these; one that is no prefix matches nothing. */
function prefixesOf({ identity }: AgentLink): { family: "ipv4" | "ipv6"; key: string; length: number }[] {
  return identity.identifiers.cidr.flatMap((text) => {
    const prefix = text.includes("/") ? parsePrefix(text) : undefined;
    if (prefix === undefined) return [];
    const { address, length } = prefix;
    return [{ family: address.kind(), key: prefixKey(address, length), length }];
  });
}
