/** `drawbridge nodepool controller`: the process that looks after pools, until it is told to end. */
import { IGNITION_CA_SECRET, SERVING_CERTIFICATE_SECRET } from "../../cluster/nodes/objects.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean } from "../flags/flag-value.js";
import { runPlainCommand } from "../framework/plain-command.js";
import { checkHealth, declareHealth, type HealthFlags, healthOf } from "../tunnel/health-flags.js";
import { type AccessFlags, CLUSTER_HELP, checkAccess, declareAccess, noWords, openObjects } from "./flags.js";

const purpose = `Watches the pools of a namespace and keeps for each the token Secret, the user-data Secret and the status that go with its
configuration. Several replicas elect one that writes. It refuses to run where HyperShift does. With --directory it
works on YAML files instead of a cluster.

With --issue-certificate it also makes an authority and a certificate for the Ignition server (Secrets ${IGNITION_CA_SECRET} and
${SERVING_CERTIFICATE_SECRET}), for whatever addresses the clusters publish, anew when these change and a month
before its end. Clusters with an ignitionCA of their own are left out.

Conditions that need HyperShift are never set: ValidReleaseImage (unless something is wrong), SupportedVersionSkew,
AllMachinesReady, AllNodesHealthy.

${CLUSTER_HELP}`;

interface ControllerFlags extends AccessFlags, HealthFlags {
  readonly issueCertificate: Flag<boolean>;
}

export function nodepoolController(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declare(set: FlagSet): ControllerFlags {
  return {
    ...declareAccess(set),
    ...declareHealth(set),
    issueCertificate: set.add(
      "issue-certificate",
      boolean,
      false,
      `Keep the Ignition server's certificate in the Secret ${SERVING_CERTIFICATE_SECRET}, for the addresses of the clusters that name no ignitionCA.`,
    ),
  };
}

function check(flags: ControllerFlags, words: readonly string[]): void {
  noWords(words);
  checkAccess(flags);
  checkHealth(flags);
}

async function run(flags: ControllerFlags): Promise<number> {
  const { runController } = await import("../../cluster/nodes/controller/run.js");
  return runController({
    api: await openObjects(flags),
    namespace: flags.namespace.value,
    isCluster: flags.directory.value === "",
    issuesCertificate: flags.issueCertificate.value,
    health: healthOf(flags),
  });
}
