/** `drawbridge nodepool controller`: the process that looks after pools, until it is told to end. */

import type { Flag, FlagSet } from "./flags/flag-set.js";
import { integer, string } from "./flags/flag-value.js";
import { type AccessFlags, checkAccess, clusterHelp, declareAccess, noWords, openObjects } from "./nodepool-flags.js";
import { refused, runPlainCommand } from "./plain-command.js";

const purpose = `Watches the pools of a namespace and keeps for each the token Secret, the user-data Secret and the status that go with its
configuration. Several replicas elect one that writes. It refuses to run where HyperShift does. With --directory it
works on YAML files instead of a cluster.

Conditions that need HyperShift are never set: ValidReleaseImage (unless something is wrong), SupportedVersionSkew,
AllMachinesReady, AllNodesHealthy.

${clusterHelp}`;

interface ControllerFlags extends AccessFlags {
  readonly healthAddress: Flag<string>;
  readonly healthPort: Flag<number>;
}

export function nodepoolController(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declare(set: FlagSet): ControllerFlags {
  const address = "Where /healthz, /readyz and /metrics are. If empty, everywhere.";
  return {
    ...declareAccess(set),
    healthAddress: set.add("health-bind-address", string, "", address),
    healthPort: set.add("health-port", integer, 0, "Port of these. If 0, none is opened."),
  };
}

function check(flags: ControllerFlags, words: readonly string[]): void {
  noWords(words);
  checkAccess(flags);
  const { value: port } = flags.healthPort;
  if (port < 0 || port > 65_535) throw refused(`--health-port must be 0 to 65535, got ${port}`);
}

async function run(flags: ControllerFlags): Promise<number> {
  const { runController } = await import("../nodepool/controller/run.js");
  const { healthAddress, healthPort } = flags;
  return runController({
    api: await openObjects(flags),
    namespace: flags.namespace.value,
    isCluster: flags.directory.value === "",
    health: healthPort.value === 0 ? undefined : { host: healthAddress.value, port: healthPort.value },
  });
}
