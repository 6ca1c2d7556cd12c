/** How many agents each strategy of a server has: its metric, and whoever reads it from outside. */

import { samplesOf } from "../../base/metrics/samples.js";
import type { StrategyCount } from "../events/facts.js";

export const STRATEGY_AGENTS_METRIC = "drawbridge_server_strategy_agents";
const LABEL = "proxy_strategy";

export const strategySamples = (counts: readonly StrategyCount[]) =>
  counts.map(({ name, agents }) => [{ [LABEL]: name }, agents] as const);

/** From a /metrics page; undefined where it does not say, as upstream's server. */
export function strategyCountsIn(page: string): readonly StrategyCount[] | undefined {
  const samples = samplesOf(page, STRATEGY_AGENTS_METRIC);
  const counts = samples.map(({ labels, value }) => ({ name: labels.get(LABEL) ?? "", agents: value }));
  return counts.length === 0 ? undefined : counts;
}

export const strategyCountsText = (counts: readonly StrategyCount[]): string =>
  `agents by strategy: ${counts.map(({ name, agents }) => `${name} ${agents}`).join(", ")}`;
