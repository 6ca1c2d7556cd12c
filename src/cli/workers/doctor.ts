/** `drawbridge workers doctor`: why machines do not become nodes, and what to do about it. */

import { join } from "node:path";
import { configMapInventory, withClaimsOf } from "../../cluster/nodes/csr/inventory.js";
import { doctorRules, rulesText } from "../../cluster/nodes/permissions.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import {
  diagnosePools,
  diagnosesJson,
  diagnosesText,
  haveFailed,
  type PoolDiagnosis,
} from "../../insight/diagnosis/workers/doctor.js";
import { accessOf, policyFlags, policyOf } from "../csr/shared.js";
import { duration, filePath, text, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { healthFlags, healthOf } from "../framework/objects.js";
import { approverNamespaceOf, openStore, poolOf, withWorkersClusters, workersFlags } from "./shared.js";

const doctorFlags = {
  ...workersFlags,
  ...policyFlags,
  ...healthFlags(", with --watch"),
  pool: text("Name of the pool. If empty, the pools of all workers."),
  inventory: filePath(
    "Directory with the approver's inventory. If empty, the Workers and the ConfigMaps of the approver's namespace.",
  ),
  fix: yesNo("Fix what can be fixed safely."),
  "dry-run": yesNo("With --fix: say what would be done, and change nothing."),
  "fix-log": filePath("File to which fixes are appended as JSON. If empty, fixes.jsonl in --state."),
  watch: yesNo("Look again and again, and log what changes."),
  interval: duration("30s", "Time between two looks, with --watch."),
};

type WorkersDoctorFlags = Values<typeof doctorFlags>;

const PLACES: Readonly<Record<keyof typeof doctorRules, string>> = {
  pool: "in the pool's namespace",
  controlPlane: "in its control plane's",
  cluster: "where machines join",
  approver: "in the approver's namespace there",
  network: "in openshift-ovn-kubernetes there",
};

function rightsText(purpose: "look" | "fix"): string {
  const places = Object.keys(PLACES) as (keyof typeof doctorRules)[];
  const texts = places.flatMap((place) => {
    const rules = doctorRules[place][purpose];
    return rules.length === 0 ? [] : [`${PLACES[place]}: ${rulesText(rules)}`];
  });
  return texts.join("; ");
}

export default defineCommand({
  purpose: `Looks for whatever keeps a pool's machines from becoming nodes: a payload that is not made (511), user data that is
refused (401, a token that ended or is not known), an Ignition server that does not answer or whose certificate is for
another address, a credential to join with that the API server refuses, certificate requests that are not approved, nodes that are not Ready and their networks' pods, and Secrets
that the cluster network of a hosted control plane waits for. Each finding has a code, its evidence, and what to do. No
machine's token is used for that: the Ignition server is asked with a random one. The credential of the Secret
bootstrap-kubeconfig is shown to the API server that it names, and only after that server's certificate was verified.

With --fix it does what is safe: it writes the user data of machines that have not joined again, approves requests that
keep every rule of the approver, makes the network's Secrets as HyperShift does, and deletes the pods that have waited for
them, so that they start at once. Each fix is a line in the fix log before and after.
--dry-run lists what would be done. With --watch it looks again and again until it gets a signal.

It needs, to look, ${rightsText("look")}. With --require-claim it needs configmaps list in the pool's namespace.
To fix, it needs the rights of drawbridge csr approver as well, and ${rightsText("fix")}.

It ends with 1 when a check failed (after --fix: still fails); warnings alone end with 0.`,
  words: "[NAME...]",
  examples: ["drawbridge workers doctor --pool demo --fix --dry-run"],
  flags: doctorFlags,
  run(flags, { words: names, output }) {
    check(flags, output);
    return withWorkersClusters(flags, async (clusters): Promise<readonly PoolDiagnosis[]> => {
      const options = await doctorOptions(flags, names, clusters);
      if (flags.watch) {
        const { watchWorkers } = await import("../../insight/diagnosis/workers/watch.js");
        await watchWorkers({ ...options, health: healthOf(flags), intervalMs: flags.interval });
        return [];
      }
      return diagnosePools(options);
    });
  },
  show: {
    text: (diagnoses, { fix, watch }) => (watch ? "" : diagnosesText(diagnoses, fix)),
    json: diagnosesJson,
  },
  exitCode: (diagnoses) => (haveFailed(diagnoses) ? 1 : 0),
});

function check(flags: WorkersDoctorFlags, output: string): void {
  if (flags.pool !== "") poolOf(flags);
  if (flags.dryRun && !flags.fix) throw refused("--dry-run goes with --fix: without it nothing is done anyway");
  if (flags.watch && output === "json") throw refused("--watch logs and has no --output json");
  if (flags.interval < 100) throw refused("--interval must be at least 100ms");
  if (healthOf(flags) !== undefined && !flags.watch) throw refused("--health-port needs --watch");
}

async function doctorOptions(flags: WorkersDoctorFlags, names: readonly string[], clusters: Clusters) {
  const store = await openStore(flags, clusters);
  const access = () => accessOf(clusters.nodes, flags.inventory, approverNamespaceOf(flags));
  const claims = configMapInventory(clusters.pools, flags.namespace);
  const expected = access().inventory;
  const inventory = flags.requireClaim ? withClaimsOf(expected, claims) : expected;
  const { dryRun, fix, fixLog, pool } = flags;
  const logFile = fixLog || join(store.directory, "fixes.jsonl");
  return {
    names,
    pool: pool === "" ? undefined : poolOf(flags),
    fix: fix ? { dryRun, logFile, now: Date.now } : undefined,
    context: {
      ...{ clusters, store, inventory, policy: policyOf(flags), now: Date.now },
      isHosted: flags.hostedKubeconfig !== "",
      memory: () => access().store,
    },
  };
}
