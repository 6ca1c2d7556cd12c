/** The indexes of agents that strategies look destinations up in. Each keeps its own; an agent may be in several. */
import { judgedHost, parseHost } from "../../wire/destination.js";
import { type Address, type Prefix, parseAddress, parsePrefix } from "../../wire/prefix.js";
import type { StrategyName } from "../config.js";
import type { AgentLink } from "./agent-link.js";
import type { AgentCandidate, AgentGroup } from "./choice.js";

/** The keys under which each strategy finds an agent: its agentID, or what it says it reaches. */
const KEYS_OF: Readonly<Record<StrategyName, (link: AgentLink) => readonly string[]>> = {
  default: ({ identity }) => [identity.agentId],
  defaultRoute: ({ identity }) => (identity.identifiers.defaultRoute ? [identity.agentId] : []),
  destHost({ identity: { identifiers } }) {
    const hosts = [...identifiers.ipv4, ...identifiers.ipv6, ...identifiers.host];
    // Destinations come in their one form, so identifiers are brought into it, too; what is no host stays.
    return hosts.map((host) => judgedHost(parseHost(host)?.text ?? host));
  },
  destCIDR: (link) => prefixesOf(link).map(({ address, length }) => prefixKey(address, length)),
};

const NOBODY: readonly AgentCandidate[] = [];

export class Strategy {
  readonly name: StrategyName;
  /** Its agents reach any destination, as far as it knows. */
  readonly takesAnything: boolean;
  readonly #all = new CandidateList();
  readonly #byKey = new Map<string, CandidateList>();
  /** Prefix lengths that were ever in use per family, longest first, so that a look-up is a few Map probes. */
  readonly #lengths: Record<"ipv4" | "ipv6", number[]> = { ipv4: [], ipv6: [] };

  constructor(name: StrategyName) {
    this.name = name;
    this.takesAnything = name === "default" || name === "defaultRoute";
  }

  /** Distinct keys in the index: what upstream's ready_backends counts. */
  get keys(): number {
    return this.#byKey.size;
  }

  /** Agents in the index, as the choice counts them. */
  get agents(): number {
    return this.#all.candidates.length;
  }

  add(link: AgentLink): void {
    for (const key of KEYS_OF[this.name](link)) {
      this.#all.add(link);
      let list = this.#byKey.get(key);
      if (list === undefined) {
        list = new CandidateList();
        this.#byKey.set(key, list);
      }
      list.add(link);
    }
    for (const { address, length } of this.name === "destCIDR" ? prefixesOf(link) : []) {
      const lengths = this.#lengths[address.kind()];
      if (!lengths.includes(length)) lengths.push(length);
      lengths.sort((a, b) => b - a);
    }
  }

  remove(link: AgentLink): void {
    this.#all.remove(link);
    for (const key of KEYS_OF[this.name](link)) {
      const list = this.#byKey.get(key);
      list?.remove(link);
      if (list?.candidates.length === 0) this.#byKey.delete(key);
    }
  }

  /** Everyone who can reach `host`, best kind of match only. */
  matches(host: string): readonly AgentCandidate[] {
    if (this.takesAnything) return this.#all.candidates;
    if (this.name === "destHost") return this.#byKey.get(host)?.candidates ?? NOBODY;
    const address = parseAddress(host);
    if (address === undefined) return NOBODY;
    for (const length of this.#lengths[address.kind()]) {
      const found = this.#byKey.get(prefixKey(address, length));
      if (found !== undefined) return found.candidates;
    }
    return NOBODY;
  }
}

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
function prefixesOf({ identity }: AgentLink): Prefix[] {
  return identity.identifiers.cidr.flatMap((text) => (text.includes("/") ? (parsePrefix(text) ?? []) : []));
}
