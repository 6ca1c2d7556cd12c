/** `drawbridge workers create`: from a pool to machines. */

import { firewallRule } from "../../cluster/nodes/providers/gcloud.js";
import type { MachineStep } from "../../cluster/nodes/providers/provider.js";
import { requireTools, runSteps, shellText } from "../../cluster/nodes/providers/run.js";
import { ignitionPort, type PoolUserData, poolUserData } from "../../cluster/nodes/token/user-data.js";
import { hasApprover } from "../../cluster/nodes/workers/approving.js";
import { createWorkers, type MachineTemplate, type MadeWorker } from "../../cluster/nodes/workers/machines.js";
import { machineNetworks } from "../../cluster/nodes/workers/networks.js";
import { requireHostedAccess } from "../../cluster/nodes/workers/status.js";
import { yesNo } from "../flags/flag.js";
import { hostedCluster } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import {
  approverNamespaceOf,
  commandsText,
  makingFlags,
  makingOf,
  PROVIDERS_HELP,
  type WorkersFlags,
  withPool,
  withWorkersClusters,
  workersFlags,
} from "./shared.js";

export default defineCommand({
  purpose: `Sees to it that a pool has --count workers named PREFIX-0, PREFIX-1, ...: makes a Worker for each in the cluster that it joins,
by which drawbridge csr approver expects it, writes its user data with the pool's token of today into --state, and makes the
machine. Workers that were made before are kept, so the command can be repeated after a failure, by anybody and from
anywhere; a name is never used twice. With --names workers have names of their own. The pool may be HyperShift's or our own controller's. It waits for nothing:
drawbridge workers verify does, and drawbridge workers up does everything.

${PROVIDERS_HELP}
--dry-run prints what would be run.`,
  examples: ["drawbridge workers create --pool demo --count 3"],
  flags: {
    ...workersFlags,
    ...makingFlags,
    "open-ignition-port": yesNo(
      "With --provider gcloud: also make the firewall rule by which the machines reach the Ignition server in their network.",
    ),
    "dry-run": yesNo("Say which workers would be made, by which commands, and change nothing."),
  },
  async run(flags) {
    const { group, pool, reinstall, template } = makingOf(flags);
    const { dryRun, window: joinWithinMs } = flags;
    return withWorkersClusters(flags, async (clusters) => {
      const userData = await poolUserData(clusters.pools, pool);
      requireHostedAccess(clusters, userData.object);
      const networks = await machineNetworks(clusters.pools, userData.object, flags.nodeCidr);
      const rule = ruleOf(template, userData, pool.name, networks);
      if (flags.openIgnitionPort && rule === undefined) {
        throw refused("--open-ignition-port goes with --provider gcloud and needs --tags or --node-cidr");
      }
      return withPool(flags, clusters, pool, async (store) => {
        const isOpened = flags.openIgnitionPort && !dryRun;
        if (isOpened && rule !== undefined) await open(rule);
        const firewall = isOpened ? [] : (rule?.command ?? []);
        const options = { pool, store, clusters, userData, now: Date.now(), dryRun, joinWithinMs, reinstall };
        const workers = await createWorkers(options, group, { ...template, networks });
        const isApproved = await hasApprover(clusters.nodes, approverNamespaceOf(flags), Date.now());
        const hasAddresses = networks.length > 0 || workers.every(({ name }) => group.addresses.has(name));
        const ownToken = template.ownToken ?? userData.isOurs;
        const ends = new Date(options.now + joinWithinMs).toISOString();
        return { workers, approver: isApproved ? "" : approverCommand(flags), hasAddresses, ownToken, ends, firewall };
      });
    });
  },
  show: createdText,
});

/** The firewall rule that machines may need to reach the Ignition server; undefined for those of other providers. */
function ruleOf(
  { ignitionAddress, provider, shape }: MachineTemplate,
  { text }: PoolUserData,
  pool: string,
  networks: readonly string[],
): MachineStep | undefined {
  if (provider !== "gcloud") return undefined;
  return firewallRule({ pool, networks, shape, port: ignitionPort(text, ignitionAddress) });
}

async function open(rule: MachineStep): Promise<void> {
  await requireTools([rule]);
  await runSteps("the firewall", [rule]);
}

/** The approver that admits these workers, as a person can type it. */
function approverCommand(flags: WorkersFlags): string {
  const { context, kubeconfig } = hostedCluster(flags) ?? flags;
  const given = { directory: flags.directory, kubeconfig, context, namespace: approverNamespaceOf(flags) };
  const words = Object.entries(given).flatMap(([name, value]) => (value === "" ? [] : [`--${name}`, value]));
  return shellText(["drawbridge", "csr", "approver", ...words]);
}

interface Created {
  readonly workers: readonly MadeWorker[];
  /** Empty when one runs. */
  readonly approver: string;
  readonly hasAddresses: boolean;
  readonly ownToken: boolean;
  /** When the windows of new workers close. */
  readonly ends: string;
  /** What would let the machines reach the Ignition server, where the provider has such a rule and nobody asked for it. */
  readonly firewall: readonly string[];
}

function createdText({ approver, ends, firewall, hasAddresses, ownToken, workers }: Created): string {
  const lines = workers.map(({ action, commands, name, userData, zone }) => {
    const where = zone === "" ? "" : ` in ${zone}`;
    const how = commands.length > 0 ? commandsText(commands) : action === "kept" ? "" : `: ${userData}`;
    return `${name}${where} ${action}${how}\n`;
  });
  if (workers.some(({ action }) => action === "would be made")) return [...lines, firewallText(firewall)].join("");
  const isNew = workers.some(({ action }) => action !== "kept");
  const hasFiles = workers.some(({ action }) => action === "user data written");
  return [
    ...lines,
    hasFiles ? "Give each machine its file as Ignition user data at first boot.\n" : "",
    isNew ? firewallText(firewall) : "",
    isNew ? tokenText(ownToken, ends) : "",
    hasAddresses
      ? ""
      : "Their serving certificates stay pending, and kubectl logs does not work, until their addresses are known: give --node-cidr\nor --ips here, --node-cidr to the approver, or networks.machine in the cluster's ConfigMap.\n",
    approver === "" ? "The approver that runs admits them.\n" : `Admit them with ${approver}\n`,
  ].join("");
}

const firewallText = (command: readonly string[]): string =>
  command.length === 0
    ? ""
    : `An Ignition server in their network is reached after this, or with --open-ignition-port: ${shellText(command)}\n`;

function tokenText(ownToken: boolean, ends: string): string {
  return ownToken
    ? `The token of each is its own. It ends when its node is Ready, and at ${ends} at the latest; drawbridge workers userdata NAME --renew\nopens it again.\n`
    : "The token is the pool's, and rotates: boot the machines now, or print it again later with drawbridge workers userdata.\n";
}
