/** `drawbridge workers doctor`: why machines do not become nodes, and what to do about it. */
import { join } from "node:path";
import type { RoundOptions } from "../../cluster/nodes/recovery/round.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import { declarePolicyFlags, policyOf } from "../csr/flags.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, string } from "../flags/flag-value.js";
import { parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { addOutput, json, refused, runPlainCommand } from "../framework/plain-command.js";
import { checkAccess, declareAccess } from "../nodepool/flags.js";
import { checkHealth, declareHealth, healthOf } from "../tunnel/health-flags.js";
import { roundsText, shownRounds } from "./doctor-report.js";
import { declareHosted, declareState, openState, poolOf, withClusters } from "./flags.js";
import { addApproverNamespace, approverNamespaceOf } from "./publishing.js";

const purpose = `Looks for whatever keeps a pool's machines from becoming nodes: a payload that is not made (511), user data that opens
nothing (401, a token that ended or is nobody's), an Ignition server that does not answer or whose certificate is for
another address, certificate requests that nobody approves, nodes that are not Ready, and the certificate that the cluster
network of a hosted control plane waits for. Each finding has a code, what shows it, and what to do. No machine's token is
used for that: the server is asked with one that nobody has.

With --fix it does what is safe: writes user data of machines that have not joined anew, approves requests that keep every
rule of the approver, copies the network's certificate. Each fix is a line in the fix log before and after. --dry-run says
what would be done. With --watch it looks again and again until it is told to end.

It needs, to look, where the pool is: nodepools get; secrets get, list in its namespace and in its control plane's; where
machines join: nodes and certificatesigningrequests list; configmaps get, and list without --inventory and --state, in the
approver's namespace; secrets get in openshift-ovn-kubernetes. To fix, as well: secrets create and update in the pool's
namespace, secrets create in its control plane's, and the rights of drawbridge csr approver.

Ends with 1 when something is wrong (after --fix: still wrong); warnings alone end with 0.`;

export function workersDoctor(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, words: " [NAME...]", declare, check, run });
}

// The return type is inferred: one entry a flag, each with the type its kind gives it.
function declare(set: FlagSet) {
  return {
    ...declareAccess(set),
    ...declareState(set),
    ...declarePolicyFlags(set),
    hostedKubeconfig: declareHosted(set),
    approverNamespace: addApproverNamespace(set),
    pool: set.add("pool", string, "", "Name of the pool. If empty, those of the workers that are remembered."),
    inventory: set.add(
      "inventory",
      string,
      "",
      "Directory with the approver's inventory. If empty, the workers' own in --state.",
    ),
    fix: set.add("fix", boolean, false, "Do what is safe about it."),
    dryRun: set.add("dry-run", boolean, false, "With --fix: say what would be done, and do nothing."),
    fixLog: set.add(
      "fix-log",
      string,
      "",
      "File to which fixes are appended as JSON. If empty, fixes.jsonl in --state.",
    ),
    watch: set.add("watch", boolean, false, "Look again and again, and log what changes."),
    interval: set.add("interval", duration, parseGoDuration("30s"), "Between two looks, with --watch."),
    ...declareHealth(set, ", with --watch"),
    output: addOutput(set),
  };
}

type DoctorFlags = ReturnType<typeof declare>;

function check(flags: DoctorFlags): void {
  checkAccess(flags);
  policyOf(flags);
  if (flags.pool.value !== "") poolOf(flags.pool, flags.namespace);
  if (flags.dryRun.value && !flags.fix.value)
    throw refused("--dry-run goes with --fix: without it nothing is done anyway");
  if (flags.watch.value && flags.output.value === "json") throw refused("--watch logs and has no --output json");
  if (toMilliseconds(flags.interval.value) < 100) throw refused("--interval must be at least 100ms");
  checkHealth(flags);
  if (flags.healthPort.value !== 0 && !flags.watch.value) throw refused("--health-port needs --watch");
}

function run(flags: DoctorFlags, names: readonly string[]): Promise<number> {
  return withClusters(flags, async (clusters) => {
    const options = await roundOptions(flags, names, clusters);
    if (flags.watch.value) {
      const { watchWorkers } = await import("../../cluster/nodes/recovery/watch.js");
      return watchWorkers({ ...options, health: healthOf(flags), intervalMs: toMilliseconds(flags.interval.value) });
    }
    const { isSick, makeRound } = await import("../../cluster/nodes/recovery/round.js");
    const rounds = await makeRound(options);
    const isJson = flags.output.value === "json";
    process.stdout.write(
      isJson ? json({ ok: !isSick(rounds), pools: shownRounds(rounds) }) : roundsText(rounds, flags.fix.value),
    );
    return isSick(rounds) ? 1 : 0;
  });
}

async function roundOptions(flags: DoctorFlags, names: readonly string[], clusters: Clusters): Promise<RoundOptions> {
  const [sources, { MemoryStore }, { APPROVER_NAME: approverName }] = await Promise.all([
    import("../../cluster/nodes/csr/inventory.js"),
    import("../../cluster/nodes/csr/memory.js"),
    import("../../cluster/nodes/permissions.js"),
  ]);
  const store = await openState(flags);
  const namespace = approverNamespaceOf(flags);
  const hasRecords = (await store.read()).length > 0;
  const expected =
    flags.inventory.value === "" && !hasRecords
      ? sources.configMapInventory(clusters.nodes, namespace)
      : sources.directoryInventory(flags.inventory.value || store.inventoryDirectory);
  const claims = sources.configMapInventory(clusters.pools, flags.namespace.value);
  const inventory = flags.requireClaim.value ? sources.withClaimsOf(expected, claims) : expected;
  const { dryRun, fix, fixLog, pool } = flags;
  const logFile = fixLog.value || join(store.directory, "fixes.jsonl");
  return {
    names,
    pool: pool.value === "" ? undefined : poolOf(pool, flags.namespace),
    treatment: fix.value ? { dryRun: dryRun.value, logFile, now: Date.now } : undefined,
    surgery: {
      ...{ clusters, store, inventory, policy: policyOf(flags), now: Date.now },
      isHosted: flags.hostedKubeconfig.value !== "",
      memory: () => new MemoryStore(clusters.nodes, { namespace, name: approverName }),
    },
  };
}
