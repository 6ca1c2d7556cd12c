/** The last ten minutes, as the process itself remembers them: targets that fail, agents that are slow or gone. */
import { hostOfAddress } from "../../../base/address.js";
import { type Judgement, ok, warning } from "../../../base/finding.js";
import { sum } from "../../../base/sum.js";
import { roughDuration } from "../../../base/text.js";
import { DialRefusedError } from "../../../tunnel/client/errors.js";
import type { AgentPeer, FailureGroup, HistoryInfo, LeftPeer, TargetHistory } from "../../observe/admin/contract.js";
import { defineCheck } from "../check.js";
import { isFailing, targetState } from "../failing.js";
import { traceCommand } from "../trace-command.js";

const MOST_NAMED = 10;

export const targets = defineCheck({
  ...{ id: "targets", about: "The targets that are dialled answer", needs: ["history"], uses: ["overview"] },
  judge({ history, overview }) {
    const failing = history.targets.filter(isFailing).sort((one, other) => sum(other.failures) - sum(one.failures));
    const dials = sum(history.total.dials);
    if (failing.length === 0) {
      const count = history.targets.length;
      const which =
        count === 1
          ? "the only target of the last 10 minutes answers"
          : `the ${count} targets of the last 10 minutes answer`;
      return dials === 0 || count === 0 ? undefined : ok(which);
    }
    const names = new Set(failing.map(({ target }) => target));
    const groups = history.failures.filter(({ target }) => names.has(target));
    const share = Math.max(1, Math.round((sum(groups.map(({ count }) => count)) / Math.max(1, dials)) * 100));
    const atTimes = failing.every((target) => targetState(target) === "fails at times") ? " at times" : "";
    const who = failing.length === 1 ? `the target ${failing[0]!.target} fails` : `${failing.length} targets fail`;
    const message = `${who}${atTimes}: ${share} % of all dials of the last 10 minutes`;
    const lines = groups
      .slice(0, MOST_NAMED)
      .map(({ target, reason, count, peers }) => `${target}: ${reason} (${times(count)}${through(peers)})`);
    const asked = overview && `${traceCommand(failing[0]!.target, overview)} dials it once and says where that ends.`;
    const remedy = [...remediesOf(groups), ...(asked === undefined ? [] : [asked])].join(" ");
    const short = `${shortNames(failing)}${atTimes} (${share} % of all dials)`;
    return { ...warning(message, remedy, ...lines), short };
  },
});

/** What to do about each cause; which targets have it is said where there are several causes. */
function remediesOf(groups: readonly FailureGroup[]): string[] {
  const byRemedy = new Map<string, Set<string>>();
  for (const { target, reason } of groups) {
    const { remedy } = new DialRefusedError(target, reason);
    byRemedy.set(remedy, (byRemedy.get(remedy) ?? new Set()).add(target));
  }
  if (byRemedy.size === 1) return [...byRemedy.keys()];
  return [...byRemedy].map(([remedy, targets]) => `${listed(targets)}: ${remedy}`);
}

const MOST_LISTED = 2;

function listed(targets: ReadonlySet<string>): string {
  const names = [...targets].slice(0, MOST_LISTED).join(", ");
  return targets.size > MOST_LISTED ? `${names} and ${targets.size - MOST_LISTED} more` : names;
}

/** The worst two by name. */
function shortNames(failing: readonly TargetHistory[]): string {
  const [one, two, ...more] = failing.map(({ target }) => target);
  if (two === undefined) return `${one} fails`;
  return more.length === 0
    ? `${one} and ${two} fail`
    : `${one}, ${two} and ${more.length} more ${more.length === 1 ? "target" : "targets"} fail`;
}

const times = (count: number): string => (count === 1 ? "once" : `${count} times`);
const through = (peers: readonly string[]): string => (peers.length === 0 ? "" : `, through ${peers.join(", ")}`);

/** More of them are told by their number. */
const MOST_SHORT = 3;

function eachOf<T>(all: readonly T[], what: string, judge: (one: T) => Judgement): Judgement[] {
  const counted = all.length > MOST_SHORT ? { short: `${all.length} ${what}`, details: { total: all.length } } : {};
  return all.slice(0, MOST_NAMED).map((one) => ({ ...judge(one), ...counted }));
}

/** Below this nobody waits. */
const SLOW_MS = 200;
/** How much slower than the others an agent must be, where there are others. */
const SLOWER_THAN_OTHERS = 3;

export const slowAgents = defineCheck({
  ...{ id: "slow-agents", about: "Agents answer without delay", needs: ["overview"], uses: ["history"] },
  judge({ overview: { agents = [] }, history }) {
    const measured = agents.map((agent) => ({ agent, ms: delayOf(agent, history) }));
    const usual = measured.map(({ ms }) => ms).sort((one, other) => one - other)[Math.floor((measured.length - 1) / 2)];
    const isSlow = (ms: number): boolean =>
      ms >= SLOW_MS && (measured.length === 1 || ms >= SLOWER_THAN_OTHERS * usual! || usual! >= SLOW_MS);
    const slow = measured.filter(({ ms }) => isSlow(ms)).sort((one, other) => other.ms - one.ms);
    return eachOf(slow, "agents are slow", ({ agent: { id, remote }, ms }) => {
      const delay = `${Math.round(ms)} ms`;
      const remedy =
        "Look at the way between the server and the agent's host (ping, traceroute) and at the load of that host.";
      const judged = warning(`the agent ${id} (${remote}) answers after ${delay}`, remedy);
      return { ...judged, subject: id, short: `${id} ${delay}` };
    });
  },
});

/** Fewer dials say more of their targets than of the agent. */
const ENOUGH_DIALS = 10;

/** The round trip of its link, or what half of its dials take. */
function delayOf({ id, roundTripMs = 0 }: AgentPeer, history: HistoryInfo | undefined): number {
  const dialled = history?.peers.find((peer) => peer.id === id);
  const isMeasured = dialled !== undefined && sum(dialled.dials) - sum(dialled.failures) >= ENOUGH_DIALS;
  return Math.max(roundTripMs, (isMeasured && dialled.p50Ms) || 0);
}

/** Without those that drained first, and those in whose place another came from the same address, under a new name perhaps. */
function missing(left: HistoryInfo["left"], agents: readonly AgentPeer[]): LeftPeer[] {
  const successors = new Set(agents);
  const gone = left.filter(({ isDrained }) => isDrained !== true);
  // The oldest first: one successor stands for one that left.
  return gone.toReversed().filter(({ address, leftAt }) => {
    const successor = [...successors].find(
      ({ connectedAt, remote }) => connectedAt >= leftAt && hostOfAddress(remote) === hostOfAddress(address),
    );
    if (successor !== undefined) successors.delete(successor);
    return successor === undefined;
  });
}

export const agentsLeft = defineCheck({
  ...{ id: "agents-left", about: "Agents that were connected still are", needs: ["overview", "history"] },
  judge({ overview: { agents = [], process }, history }) {
    return eachOf(missing(history.left, agents), "agents are gone", ({ id, address, leftAt, reason }) => {
      const gone = roughDuration(process.now - leftAt);
      const message = `the agent ${id} (${address}) disconnected ${gone} ago and did not come back: ${reason}`;
      const remedy = "Look at that agent's host and log; drawbridge doctor beside it says what keeps it from here.";
      return { ...warning(message, remedy), subject: id, short: `${id} gone for ${gone}` };
    });
  },
});
