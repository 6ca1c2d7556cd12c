/** The admin port: whether the process can be asked, and its agents, its path, its certificates, its listeners. */
import { splitHostPort } from "../../../base/address.js";
import { remedies } from "../../../base/errors/catalogue.js";
import { causeText } from "../../../base/errors/error.js";
import { type Finding, failed, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { isoTime, roughDuration } from "../../../base/text.js";
import type { ShownCertificate, StrategyCount } from "../../../tunnel/events/facts.js";
import { strategyCountsText } from "../../../tunnel/server/strategy-counts.js";
import {
  type AgentPeer,
  type CertificateInfo,
  type HistoryInfo,
  NO_AGENT_CONNECTED,
  type Overview,
  type PathHealth,
  type Refusal,
  type RefusedPeerRow,
} from "../../observe/admin/contract.js";
import { overText } from "../../observe/over.js";
import { gaveUp, kindOfPeer } from "../../observe/refused-peers.js";
import { type Check, defineCheck } from "../check.js";
import type { TcpListener } from "../facts.js";
import type { DoctorRole } from "../programs.js";
import { runChecks } from "../run.js";
import { traceCommand } from "../trace-command.js";
import { judgeLife } from "./certificates.js";
import { agentsLeft, slowAgents, targets } from "./dials.js";

export const adminApi = defineCheck({
  ...{ id: "admin-api", about: "The process answers on its admin port", needs: ["adminPort"] },
  judge({ adminPort: { address, overview } }) {
    const { role, version, id } = overview.process;
    return ok(`the ${role} ${id} answers on its admin port ${address}`, `drawbridge ${version}`);
  },
});

/** An agent that is connected may still not work: the watchdog, or the sidecar's probe, sends bytes through the tunnel. */
export const path = defineCheck({
  ...{ id: "path", about: "Bytes get through the tunnel", needs: ["overview"] },
  judge({ overview }) {
    const { path: whole, agents = [], process } = overview;
    const failing = agents.filter((agent) => agent.path?.state === "failing");
    const lines = failing.map(({ id, path: its }) => `${id}: ${describeFailure(its)}`);
    const remedy =
      process.role === "sidecar"
        ? "Run drawbridge doctor here, which dials the frontend as the sidecar does, then beside the server."
        : `Look at those agents' logs and hosts; ${traceCommand("HOST:PORT", overview)} shows where a dial ends.`;
    const own = whole?.state === "failing" && ownCause("bytes do not get through", process);
    if (own) return own;
    if (whole?.state === "failing")
      return failed(`bytes do not get through: ${describeFailure(whole)}`, remedy, ...lines);
    if (failing.length > 0) {
      const message = `${failing.length} of ${agents.length} agents are connected but carry no bytes`;
      return warning(message, remedy, ...lines);
    }
    if (whole?.state === "ok") return ok("bytes get through the tunnel");
    return skipped(
      agents.length === 0 && process.role === "server"
        ? "no agent is connected that a probe could be sent to"
        : "no probe has been sent through the tunnel yet",
    );
  },
});

function describeFailure({ error, failures }: PathHealth = { state: "unknown" }): string {
  const times = failures === undefined || failures < 2 ? "" : ` (${failures} times in a row)`;
  return `${error ?? "no answer"}${times}`;
}

export const agentsConnected = defineCheck({
  ...{ id: "agents-connected", about: "Agents are connected to the server", needs: ["overview"] },
  judge({ overview: { agents = [], process, refusedPeers: peers = [] } }) {
    if (agents.length === 0) {
      const areRefused = peers.some(({ at, listener }) => listener === "agents" && process.now - at <= RECENT_MS);
      const remedy = areRefused
        ? "Put right what is said here of the peers that were refused; drawbridge doctor beside an agent says what keeps it away."
        : "Start an agent; beside one that runs, drawbridge doctor says what keeps it away.";
      const judged = failed("no agent is connected, so no dial can be served", remedy, ...unreadyReason(process));
      return { ...judged, short: "no agent is connected" };
    }
    const useful = agents.filter(({ draining, demotedUntil }) => !draining && demotedUntil === undefined);
    const lines = agents.slice(0, 20).map(({ id, remote, tunnels }) => `${id} from ${remote}, ${tunnels} tunnels`);
    if (useful.length === 0) {
      if (agents.every(({ draining }) => draining)) return { ...allDrain(agents), evidence: lines };
      const message =
        "no connected agent is a good choice: each drains, or found no way to a target that another agent reached";
      return warning(message, "Look at those agents' logs and at the networks of their hosts.", ...lines);
    }
    const count = new Set(agents.map(({ id }) => id)).size;
    const servers = process.serverCount ?? 1;
    const others = servers > 1 ? `; agents should know ${servers} servers` : "";
    return ok(`${count === 1 ? "1 agent is" : `${count} agents are`} connected${others}`, ...lines);
  },
});

function allDrain(agents: readonly AgentPeer[]): Judgement {
  const who = agents.length === 1 ? `the only agent, ${agents[0]!.id}, drains` : `all ${agents.length} agents drain`;
  const remedy = "Start another agent before a draining one ends: until then it still gets new tunnels.";
  return { ...warning(`${who}, and no other is connected`, remedy), short: who };
}

/** Strategies that take any destination. */
const CATCH_ALL: readonly string[] = ["default", "defaultRoute"];

/** Whether /readyz says 200 looks at the first strategy alone: which destinations can be reached, the counts say. */
export const strategies = defineCheck({
  ...{ id: "strategies", about: "Every destination has agents to be reached through", needs: ["overview"] },
  judge({ overview: { agents = [], process } }) {
    const { strategyCounts: counts = [] } = process;
    if (agents.length === 0 || counts.length === 0) return undefined;
    if (counts.every(({ agents: count }) => count === 0)) {
      const message = `${agents.length} agents are connected, but none claims what a strategy looks for, so no dial can be served`;
      return failed(message, claimRemedy(counts), strategyCountsText(counts));
    }
    const { unreadyReason: reason = "" } = process;
    if (reason.endsWith("(--readiness=all)")) {
      const remedy = `Start the server with --readiness=any, or the agents that are missing. ${claimRemedy(counts)}`;
      return warning(`the server is not ready: ${reason}`, remedy, strategyCountsText(counts));
    }
    return judgeStrategies(counts);
  },
});

/** Never the strategy default: it has everybody, so that agents of one network would get the dials of another's. */
function claimRemedy(counts: readonly StrategyCount[]): string {
  const listed = isForTheRest(counts) ? "" : " and list defaultRoute last in the server's --proxy-strategies";
  return `Give agents that may take any destination --agent-identifiers=default-route=true${listed}; host=, ipv4= and cidr= are for agents that alone reach those.`;
}

const isForTheRest = (counts: readonly StrategyCount[]) => counts.some(({ name }) => CATCH_ALL.includes(name));

/** Of a server that has agents at all. */
export function judgeStrategies(counts: readonly StrategyCount[]): Judgement {
  const all = counts.filter(({ name }) => CATCH_ALL.includes(name));
  if (all.length === 0 || all.some(({ agents }) => agents > 0)) return ok(strategyCountsText(counts));
  const message =
    "only destinations that an agent claims can be reached, whatever /readyz says: no agent takes the others";
  return warning(message, claimRemedy(counts), strategyCountsText(counts));
}

/** Where it says more than that there is no agent. */
const unreadyReason = ({ unreadyReason: reason }: Overview["process"]): string[] =>
  reason === undefined || reason === "no agent is connected" ? [] : [reason];

/** What keeps a process from its servers, where it knows that itself. */
function ownCause(what: string, { unreadyCauses = [] }: Overview["process"]): Judgement | undefined {
  const known = unreadyCauses.find(({ code }) => code !== undefined);
  if (known === undefined) return undefined;
  const { code, remedy = "", sentence } = known;
  const others = unreadyCauses.filter((each) => each !== known).map(causeText);
  return { ...failed(`${what}: ${sentence}`, remedy, ...others), code };
}

const KNOWN_SERVERS = /^konnectivity_network_proxy_agent_known_server_count(?:\{[^}]*\})? (\d+)/m;

export const serversConnected = defineCheck({
  ...{ id: "servers-connected", about: "The agent is connected to every server" },
  ...{ needs: ["overview"], uses: ["adminPort"] },
  judge({ overview: { servers = [], process }, adminPort }) {
    const lines = servers.map(({ id = "?", address }) => `${id} at ${address}`);
    if (servers.length === 0) {
      const remedy = "Read the agent's log, and run drawbridge doctor beside it, which dials the server as it does.";
      const own = ownCause("the agent has no server", process);
      if (own !== undefined) return own;
      return failed("the agent has no server", remedy, ...unreadyReason(process));
    }
    const known = process.serverCount ?? Number(KNOWN_SERVERS.exec(adminPort?.metrics ?? "")?.[1]);
    if (known > servers.length) {
      const message = `the agent has ${servers.length} of the ${known} servers it should know`;
      const remedy =
        "Check --server-count of the servers against how many run, that each has a --server-id of its own, and that a load balancer in front of them leads to each.";
      return warning(message, remedy, ...lines);
    }
    return ok(`the agent has ${servers.length} of ${known || servers.length} servers`, ...lines);
  },
});

/** Of itself; of its agents a server says it. */
export const draining = defineCheck({
  ...{ id: "draining", about: "The agent is not about to end", needs: ["overview"] },
  judge({ overview: { process } }) {
    if (!process.draining) return undefined;
    const { drainingSinceAt: since } = process;
    const short = since === undefined ? "drains" : `drains since ${isoTime(since)}`;
    const remedy =
      "A second signal ends it; to take the draining back, end it and start it again: it then takes new tunnels as before.";
    return { ...warning(`the agent ${short}: its servers prefer other agents for new tunnels`, remedy), short };
  },
});

const RECENT_MS = 10 * 60_000;

export const refusals = defineCheck({
  ...{ id: "refusals", about: "Dials and requests are taken on", needs: ["overview"], uses: ["history"] },
  judge({ overview: { agents = [], refusals: all, process }, history }) {
    // Whoever is refused at a listener never comes to ask for one: see refused-peers.
    const what = process.role === "ignition" ? "request" : "dial";
    const recent = all.filter(({ at }) => process.now - at <= RECENT_MS);
    const within = `in the last ${roughDuration(RECENT_MS)}`;
    if (recent.length === 0) return ok(`no ${what} was refused ${within}`);
    const isOver = ({ at, target, why }: Refusal): boolean =>
      (why.startsWith(NO_AGENT_CONNECTED) && agents.length > 0) || wasReachedAfter(history, target, at);
    const open = recent.filter((refusal) => !isOver(refusal));
    const counted = (count: number): string => `${count} ${what}${count === 1 ? "" : "s"}`;
    if (open.length === 0) return ok(`${counted(recent.length)} refused ${within}, for reasons that are over`);
    const lines = open
      .slice(0, 10)
      .map(({ at, target, why, id }) => `${roughDuration(process.now - at)} ago, ${target}: ${why} (${id})`);
    const remedy =
      process.role === "ignition"
        ? "Run drawbridge workers doctor, which says for each machine what is wrong with its user data."
        : `Ask drawbridge explain ${open[0]!.id}, which says how that was decided.`;
    const message = `${counted(open.length)} ${open.length === 1 ? "was" : "were"} refused ${within}`;
    return { ...warning(message, remedy, ...lines), short: `${counted(open.length)} refused` };
  },
});

/** Whether a dial to the target succeeded in a later step. */
function wasReachedAfter(history: HistoryInfo | undefined, target: string, at: number): boolean {
  const series = history?.targets.find((each) => each.target === target);
  const first = history === undefined ? 0 : Math.ceil((at - history.fromAt) / history.stepMs);
  return series?.dials.some((dials, step) => step >= first && dials > series.failures[step]!) === true;
}

/** Agents, callers and admin clients that were refused before they could ask for anything. */
export const refusedPeers = defineCheck({
  ...{ id: "refused-peers", about: "Whoever connects to a listener is accepted", needs: ["overview"] },
  judge({ overview: { refusedPeers: all, process } }) {
    const recent = all?.filter(({ at }) => process.now - at <= RECENT_MS) ?? [];
    // Of the others it is only the admin port, and beside an agent it would be read as the server's.
    if (recent.length === 0 && process.role !== "server") return undefined;
    if (all === undefined) return skipped("this version of the process keeps no list of refused peers");
    if (recent.length === 0) return ok(`nobody was refused at a listener in the last ${roughDuration(RECENT_MS)}`);
    // Those that nobody has put right yet come first.
    const [open, over] = [recent.filter((peer) => !isOver(peer)), recent.filter(isOver)];
    return [...open, ...over].slice(0, MOST_PEERS).map((peer) => judgePeer(peer, process.now));
  },
});

const MOST_PEERS = 10;

const isOver = (peer: RefusedPeerRow): boolean => overText(peer) !== undefined;

function judgePeer(peer: RefusedPeerRow, now: number): Judgement {
  const { address, agentId, at, certificate, code, count, firstAt, listener, reason, remedy } = peer;
  const kind = kindOfPeer(peer);
  const who = `${kind.startsWith("a") ? "an" : "a"} ${kind}`;
  const last = `${roughDuration(now - at)} ago`;
  const times = count === 1 ? last : `${count} times since ${roughDuration(now - firstAt)} ago, the last time ${last}`;
  const evidence = [
    ...(agentId === undefined ? [] : [`it calls itself ${JSON.stringify(agentId)}`]),
    ...(certificate === undefined ? [] : [certificateLine(certificate)]),
  ];
  const [became, short] = gaveUp(peer) ? ["gave up at", "gave up"] : ["was refused by", "refused"];
  const message = `${who} from ${address} ${became} the listener ${listener} ${times}: ${reason}`;
  const over = overText(peer);
  if (over !== undefined) return { ...ok(`${message}; ${over}`, ...evidence), subject: address };
  const gist = `${kind} ${short}: ${firstClause(reason)}`;
  return { ...warning(message, remedy, ...evidence), code, subject: address, short: gist };
}

/** Up to a date, or the first sign that ends a clause; a name in quotes is not cut. */
const firstClause = (reason: string): string => /^(?:"[^"]*"|(?! on \d)[^":;,(])*/.exec(reason)![0].trim();

function certificateLine({ subject, issuer, serial, notBeforeAt, notAfterAt }: ShownCertificate): string {
  const [from, until] = [notBeforeAt, notAfterAt].map((at) => new Date(at).toISOString());
  return `its certificate: ${JSON.stringify(subject)} of ${JSON.stringify(issuer)}, serial ${serial}, from ${from} until ${until}`;
}

/** The files may have been replaced while the process still uses the certificates that it read before. */
export const certificatesInUse = defineCheck({
  ...{ id: "certificates-in-use", about: "The certificates that the process has loaded are valid" },
  needs: ["overview", "now"],
  judge({ overview: { certificates, agents = [], servers = [] }, now }) {
    if (certificates.length === 0) return skipped("the process uses no certificate");
    // A link that is open is not judged again.
    const linked = [...(agents.length > 0 ? ["agents"] : []), ...(servers.length > 0 ? ["servers"] : [])];
    const found = certificates.flatMap((certificate) => {
      const judged = judgeUsed(certificate, now);
      return linked.includes(certificate.use) ? judged.map(stillLinked) : judged;
    });
    if (found.length > 0) return found;
    const earliest = certificates.reduce((one, other) => (other.notAfterAt < one.notAfterAt ? other : one));
    const lines = certificates.map(
      ({ file, use, names }) => `${file}: ${use}${names.length > 0 ? ` for ${names.join(", ")}` : ""}`,
    );
    const until = new Date(earliest.notAfterAt).toISOString();
    return ok(`the ${certificates.length} certificates in use last until ${until}`, ...lines);
  },
});

function judgeUsed({ file, use, kind, subject, notBeforeAt, notAfterAt }: CertificateInfo, now: Date): Judgement[] {
  const what = `${kind === "own" ? "certificate" : "authority"} for ${use}`;
  const life = { notBefore: new Date(notBeforeAt), notAfter: new Date(notAfterAt) };
  const remedy = "Renew it (drawbridge pki renew --all --dir DIR, or whoever issued it) and put it at the same path.";
  const found = judgeLife(
    `the ${what} (${file})`,
    life,
    now,
    remedy,
    `${subject}, until ${life.notAfter.toISOString()}`,
  );
  const left = notAfterAt - now.getTime();
  const end = left > 0 ? `ends in ${roughDuration(left)}` : `ended ${roughDuration(-left)} ago`;
  return found.map((each) => ({
    ...each,
    short: notBeforeAt > now.getTime() ? `${what} is not valid yet` : `${what} ${end}`,
  }));
}

function stillLinked(judged: Judgement): Judgement {
  if (judged.state !== "failed") return judged;
  const message = `${judged.message}; the links that are open work until they are next connected`;
  const short = judged.short && `${judged.short}; open links work until they are next connected`;
  return { ...judged, state: "warning", message, short };
}

/** What is on disk counts after the next start, or from the next connection on. */
export const filesOnDisk = defineCheck({
  ...{ id: "files-on-disk", about: "The process uses the files that are on disk", needs: ["overview"] },
  judge({ overview: { unusedFiles, process } }) {
    if (unusedFiles === undefined) return undefined;
    if (unusedFiles.length === 0) return ok("the certificates and rules on disk are those in use");
    const readsEachTime = process.role === "agent" || process.role === "sidecar";
    return unusedFiles.map(({ use, files, code, reason, sinceAt }) => {
      const effect =
        readsEachTime && use !== "admin"
          ? "open connections go on, and new ones fail"
          : "those of before stay in use, and a restart would fail";
      const changed = `changed ${roughDuration(process.now - sinceAt)} ago`;
      const message = `the files on disk for ${use}, ${changed}, were not taken: ${reason}; ${effect}`;
      return { ...warning(message, remedies[code], ...files), code, subject: use };
    });
  },
});

/** A listener that the process reports as open may be unreachable, and no client can tell the process. */
export const ownListeners = defineCheck({
  ...{ id: "listeners", about: "Whatever the process listens on can be reached" },
  needs: ["overview", "deadSockets", "listeners", "program"],
  judge({ overview: { listeners: reported }, deadSockets, listeners: open, program }) {
    const found = reported.flatMap(({ what, address }) => {
      const problem = address.startsWith("/")
        ? deadSockets.includes(address) &&
          `${address} leads nowhere: the socket was removed, or replaced by another process'`
        : portProblem(address, open, program.running?.pid);
      if (!problem) return [];
      return failed(`${what}: ${problem}`, "Restart the process; it opens its listeners again.", `${what} ${address}`);
    });
    if (found.length > 0) return found;
    const lines = reported.map(({ what, address }) => `${what} ${address}`);
    return ok(`its ${reported.length} listeners are open`, ...lines);
  },
});

function portProblem(address: string, open: readonly TcpListener[], pid: number | undefined): string | undefined {
  const split = splitHostPort(address);
  if ("error" in split) return undefined;
  const listener = open.find(({ port }) => port === Number(split.port));
  if (listener === undefined) return `nothing listens on ${address}`;
  return listener.owner === undefined || listener.owner.pid === pid
    ? undefined
    : `${address} belongs to process ${listener.owner.pid}`;
}

const all: readonly DoctorRole[] = ["server", "agent", "bootstrap", "sidecar", "ignition"];

/** With the roles whose processes have that API, or that part of it. */
export const adminChecks: readonly (readonly [Check, readonly DoctorRole[]])[] = [
  [adminApi, all],
  [agentsConnected, ["server", "bootstrap"]],
  [strategies, ["server", "bootstrap"]],
  [serversConnected, ["agent"]],
  [draining, ["agent"]],
  [path, ["server", "bootstrap", "sidecar"]],
  [certificatesInUse, all],
  [filesOnDisk, all],
  [ownListeners, all],
  [targets, ["server", "bootstrap", "agent", "sidecar"]],
  [slowAgents, ["server", "bootstrap"]],
  [agentsLeft, ["server", "bootstrap"]],
  [refusals, all],
  [refusedPeers, all],
];

/** The findings that a process can make of itself, for its own admin API and page. */
export async function processFindings(overview: Overview, history?: HistoryInfo): Promise<Finding[]> {
  const { role, now } = overview.process;
  const checks = adminChecks.flatMap(([check, roles]) => (roles.some((each) => each === role) ? [check] : []));
  const source = { overview: () => overview, now: () => new Date(now) };
  return await runChecks(checks, history === undefined ? source : { ...source, history: () => history });
}
