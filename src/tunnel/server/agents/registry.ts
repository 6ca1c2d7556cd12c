/** All agent streams that are connected, and the choice among them. */

import { hostOfAddress } from "../../../base/address.js";
import type { Runtime } from "../../../base/runtime.js";
import type { StrategyCount } from "../../events/facts.js";
import { judgedHost } from "../../wire/destination.js";
import type { StrategyName } from "../config.js";
import type { AgentLink } from "./agent-link.js";
import { type AgentCandidate, AgentGroup, chooseAmong, preferredOf } from "./choice.js";
import { Searchers } from "./searchers.js";
import { Strategy } from "./strategies.js";

/** The first own failure keeps an agent out of favour this long; each further one doubles it. */
const DEMOTION_MS = 15_000;
const MAX_DEMOTION_MS = 5 * 60_000;

export class AgentRegistry {
  readonly #links = new Set<AgentLink>();
  readonly searchers = new Searchers();
  readonly #groups = new Map<string, AgentGroup>();
  readonly #groupOfConnection = new WeakMap<object, AgentGroup>();
  readonly #strategies: readonly Strategy[];
  readonly #runtime: Pick<Runtime, "now" | "random">;
  readonly #random: () => number;
  readonly #isReserved: (host: string) => boolean;
  /** The value of upstream's deprecated gauge: the keys of the strategy that changed last. */
  lastReadyBackends = 0;

  constructor(
    strategies: readonly StrategyName[],
    runtime: Pick<Runtime, "now" | "random">,
    /** Whether only agents that claim this host may have its dials. */
    isReserved: (host: string) => boolean = () => false,
  ) {
    this.#strategies = strategies.map((name) => new Strategy(name));
    this.#runtime = runtime;
    this.#random = () => runtime.random();
    this.#isReserved = isReserved;
  }

  get size(): number {
    return this.#links.size;
  }

  /** Agents as the choice counts them: several streams may be one. */
  get agents(): number {
    return this.#groups.size;
  }

  links(): IterableIterator<AgentLink> {
    return this.#links.values();
  }

  /** Upstream's readiness: the first strategy has someone. */
  get ready(): boolean {
    return (this.#strategies[0]?.keys ?? 0) > 0;
  }

  /** How many agents each strategy can choose from, in the order of the strategies. */
  strategyCounts(): readonly StrategyCount[] {
    return this.#strategies.map(({ name, agents }) => ({ name, agents }));
  }

  /** Keys per strategy. */
  *readyBackends(): Iterable<[string, number]> {
    for (const strategy of this.#strategies) yield [strategy.name, strategy.keys];
  }

  add(link: AgentLink): void {
    this.#links.add(link);
    this.searchers.add(link.identity);
    const { groupKey } = link.identity;
    let group = this.#groupOfConnection.get(link.connection);
    if (group === undefined || group.links.length === 0) {
      group = this.#groups.get(groupKey) ?? new AgentGroup(groupKey);
      this.#groups.set(groupKey, group);
      this.#groupOfConnection.set(link.connection, group);
    }
    group.links.push(link);
    // An agent that lost its connection comes back before the server has noticed: whoever is alive says so.
    const before = preferredOf(group.links, this.#runtime.now());
    if (before !== undefined && before.connection !== link.connection) before.confirmAlive();
    link.group = group;
    for (const strategy of this.#strategies) strategy.add(link);
    this.#noteChange();
  }

  remove(link: AgentLink): void {
    if (!this.#links.delete(link)) return;
    this.searchers.remove(link.identity);
    for (const strategy of this.#strategies) strategy.remove(link);
    const { key, links } = link.group;
    links.splice(links.indexOf(link), 1);
    if (links.length === 0) this.#groups.delete(key);
    this.#noteChange();
  }

  #noteChange(): void {
    this.lastReadyBackends = this.#strategies.at(-1)?.keys ?? 0;
  }

  /**
   * Strategies in order; the first that has a match decides, also when all its matches were tried: another strategy's
   * agents may stand in another network, where the same address is somebody else.
   */
  choose(address: string, tried: readonly AgentLink[]): AgentLink | undefined {
    const host = judgedHost(hostOfAddress(address));
    const now = this.#runtime.now();
    for (const strategy of this.#strategies) {
      const matches = this.#matches(strategy, host);
      if (matches.length > 0) return chooseAmong(matches, tried, now, this.#random);
    }
    return undefined;
  }

  #matches(strategy: Strategy, host: string): readonly AgentCandidate[] {
    return strategy.takesAnything && this.#isReserved(host) ? [] : strategy.matches(host);
  }

  /** The agent failed for a reason of its own: others first, for a while. Another of its streams does not help it. */
  demote(link: AgentLink): void {
    const now = this.#runtime.now();
    const isPreferred = preferredOf(link.group.links, now) === link;
    demoteFrom(now, link);
    if (isPreferred) demoteFrom(now, link.group);
  }

  restore(link: AgentLink): void {
    const { group } = link;
    link.ownFailures = group.ownFailures = 0;
    link.demotedUntil = group.demotedUntil = 0;
  }

  /**
   * The matches of a destination now, by strategy and in order: the first with a match decides. `host` is the destination's
   * as agents are chosen by it; when it is reserved, only agents that claim it may have its dials.
   */
  matchesFor(address: string) {
    const host = judgedHost(hostOfAddress(address));
    const strategies = this.#strategies.map((strategy) => {
      return { name: strategy.name, keys: strategy.keys, candidates: this.#matches(strategy, host) };
    });
    return { host, isReserved: this.#isReserved(host), strategies };
  }
}

function demoteFrom(now: number, whom: Pick<AgentLink, "demotedUntil" | "ownFailures">): void {
  whom.demotedUntil = now + Math.min(MAX_DEMOTION_MS, DEMOTION_MS * 2 ** whom.ownFailures);
  whom.ownFailures++;
}
