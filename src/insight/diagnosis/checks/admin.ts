/** The admin port: whether the process can be asked, and what it says about its peers, its path and its doors. */

import { plainText } from "../../../base/text.js";
import { roughly } from "../../../tunnel/pki/inspect/duration.js";
import type { Overview, PathHealth } from "../../observe/admin/contract.js";
import type { DoctorContext } from "../context.js";
import { type Check, type Outcome, ok, type Role, skipped, warning, wrong } from "../diagnosis.js";

/** Those whose programs have an admin port. */
export const withAdmin: readonly Role[] = ["server", "agent", "bootstrap", "sidecar", "ignition"];

export const adminApi: Check<DoctorContext> = {
  id: "admin-api",
  roles: withAdmin,
  async run({ admin }) {
    if (admin.state === "closed") return [skipped("the process was not asked through its admin port", admin.remedy)];
    if (admin.state === "failed") return [wrong(admin.why, admin.remedy)];
    const { role, version, id } = admin.overview.process;
    return [ok(`the ${role} ${plainText(id)} answers on its admin port ${admin.address}`, `drawbridge ${version}`)];
  },
};

/** A check of what the process said. Without an answer there is nothing to check, and admin-api says why. */
export function ofOverview(
  id: string,
  among: readonly Role[],
  judge: (overview: Overview, context: DoctorContext) => readonly Outcome[] | Promise<readonly Outcome[]>,
): Check<DoctorContext> {
  return {
    id,
    roles: among,
    run: async (context) => (context.admin.state === "open" ? judge(context.admin.overview, context) : []),
  };
}

/** Connected is not the same as working: the watchdog, or the sidecar's probe, sends bytes all the way. */
export const path = ofOverview("path", ["server", "bootstrap", "sidecar"], ({ path: whole, agents = [], process }) => {
  const failing = agents.filter((agent) => agent.path?.state === "failing");
  const lines = failing.map(({ id, path: its }) => `${plainText(id)}: ${because(its)}`);
  if (whole?.state === "failing") {
    const finding = `bytes do not get through: ${because(whole)}`;
    return [wrong(finding, pathRemedy(process.role), ...lines)];
  }
  if (failing.length > 0) {
    const finding = `${failing.length} of ${agents.length} agents are connected but carry nothing`;
    return [warning(finding, pathRemedy(process.role), ...lines)];
  }
  if (whole?.state === "ok") return [ok("bytes get through the tunnel")];
  return [skipped("nobody has tried yet whether bytes get through the tunnel")];
});

function because({ error, failures }: PathHealth = { state: "unknown" }): string {
  const times = failures === undefined || failures < 2 ? "" : ` (${failures} times in a row)`;
  return `${plainText(error ?? "no answer")}${times}`;
}

function pathRemedy(role: string): string {
  return role === "sidecar"
    ? "See the check frontend; beside the server drawbridge doctor and drawbridge trace HOST:PORT say where it ends."
    : "Look at those agents' logs and hosts; drawbridge trace HOST:PORT shows where a dial ends.";
}

export const agentsConnected = ofOverview("agents-connected", ["server", "bootstrap"], ({ agents = [], process }) => {
  if (agents.length === 0) {
    const remedy =
      "Look at the agents: drawbridge doctor beside one says what keeps it from here; whom the server rejected is in its log.";
    return [wrong("no agent is connected, so every dial is refused", remedy, ...reasonOf(process))];
  }
  const useful = agents.filter(({ draining, demotedUntil }) => !draining && demotedUntil === undefined);
  const lines = agents
    .slice(0, 20)
    .map(({ id, remote, tunnels }) => `${plainText(id)} from ${remote}, ${tunnels} tunnels`);
  const count = new Set(agents.map(({ id }) => id)).size;
  if (useful.length === 0) {
    const finding = `none of the ${agents.length} connected agents is a good choice: they drain, or their dials failed`;
    return [warning(finding, "Look at those agents' logs: the dials fail for reasons of their own hosts.", ...lines)];
  }
  const servers = process.serverCount ?? 1;
  const others = servers > 1 ? `; agents should know ${servers} servers` : "";
  return [ok(`${count} agents are connected${others}`, ...lines)];
});

const reasonOf = ({ unreadyReason }: Overview["process"]): string[] =>
  unreadyReason === undefined ? [] : [plainText(unreadyReason)];

const KNOWN_SERVERS = /^konnectivity_network_proxy_agent_known_server_count(?:\{[^}]*\})? (\d+)/m;

export const serversConnected = ofOverview("servers-connected", ["agent"], ({ servers = [], process }, { admin }) => {
  const lines = servers.map(({ id = "?", address }) => `${plainText(id)} at ${address}`);
  if (servers.length === 0) {
    const remedy = "See the check server-reachable, and the agent's log.";
    return [wrong("the agent has no server", remedy, ...reasonOf(process))];
  }
  const known = Number(admin.state === "open" ? KNOWN_SERVERS.exec(admin.metrics)?.[1] : undefined);
  if (known > servers.length) {
    const finding = `the agent has ${servers.length} of the ${known} servers it should know`;
    const remedy =
      "Check --server-count of the servers against how many run, and that a load balancer in front of them leads to each.";
    return [warning(finding, remedy, ...lines)];
  }
  return [ok(`the agent has ${servers.length} of ${known || servers.length} servers`, ...lines)];
});

const RECENT_MS = 10 * 60_000;

export const refusals = ofOverview("refusals", withAdmin, ({ refusals: all, process }) => {
  const recent = all.filter(({ at }) => process.now - at <= RECENT_MS);
  if (recent.length === 0) return [ok(`nobody was turned away in the last ${roughly(RECENT_MS)}`)];
  const lines = recent
    .slice(0, 10)
    .map(
      ({ at, target, why, id }) => `${roughly(process.now - at)} ago, ${plainText(target)}: ${plainText(why)} (${id})`,
    );
  const remedy =
    process.role === "ignition"
      ? "See the check ignition-tokens; drawbridge workers doctor says for each machine what is wrong with its user data."
      : "Ask drawbridge explain HOST:PORT for one of these targets.";
  return [warning(`${recent.length} were turned away in the last ${roughly(RECENT_MS)}`, remedy, ...lines)];
});
