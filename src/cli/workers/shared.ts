/** Flags that the workers commands share: the store, the clusters, and the shape of machines. */

import type { ObjectName } from "../../cluster/nodes/objects.js";
import { publishInventory } from "../../cluster/nodes/workers/approving.js";
import { type MachineTemplate, PLACEHOLDERS_TEXT, splitCommand } from "../../cluster/nodes/workers/machines.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import { exclusively, WorkerStore } from "../../cluster/nodes/workers/store.js";
import { PROVIDERS, type Worker } from "../../cluster/nodes/workers/worker.js";
import {
  duration,
  type Flag,
  filePath,
  inGroup,
  list,
  maybe,
  number,
  oneOf,
  required,
  restricted,
  text,
  type Values,
  yesNo,
} from "../flags/flag.js";
import { hostedCluster, openCluster, secondClusterFlags } from "../flags/kubernetes.js";
import { missing, refused } from "../flags/parse.js";
import { type AccessFlags, accessFlags, openObjects } from "../framework/objects.js";

export const stateFlag = { state: filePath("Directory that remembers workers and holds their user data.", "workers") };

/** The two clusters and the store. */
export const workersFlags = {
  ...accessFlags,
  ...stateFlag,
  ...secondClusterFlags("hosted", "the cluster that machines join", "it is the cluster of their pool"),
};

export type WorkersFlags = Values<typeof workersFlags>;

/** For commands that change something; one at a time. */
export function withState<T>(directory: string, use: (store: WorkerStore) => Promise<T>): Promise<T> {
  const store = new WorkerStore(directory);
  return exclusively(store.directory, () => use(store));
}

/** Closes them whatever happens. */
export async function withWorkersClusters<T>(flags: WorkersFlags, use: (clusters: Clusters) => Promise<T>): Promise<T> {
  const pools = await openObjects(flags);
  try {
    const joined = hostedCluster(flags);
    if (joined === undefined) return await use({ pools, nodes: pools });
    const nodes = await openCluster(joined);
    return await use({ pools, nodes }).finally(() => nodes.close());
  } finally {
    pools.close();
  }
}

export const approverNamespaceFlag = inGroup("kubernetes", {
  "approver-namespace": text(
    "Namespace of the approver. If empty, --namespace, or drawbridge in a cluster of --hosted-kubeconfig.",
  ),
});

export const publishingFlags = {
  publish: yesNo("Also put the inventory into the cluster, for an approver there."),
  ...approverNamespaceFlag,
};

type ApproverFlags = Pick<AccessFlags, "namespace"> &
  Pick<WorkersFlags, "kubeconfig" | "context" | "hostedKubeconfig" | "hostedContext"> & {
    readonly approverNamespace: string;
  };

/** The cluster that machines join need not have the namespace of their pool. */
export function approverNamespaceOf({ approverNamespace, namespace, ...flags }: ApproverFlags): string {
  if (approverNamespace !== "") return approverNamespace;
  return hostedCluster(flags) === undefined ? namespace : "drawbridge";
}

/** Does nothing unless it was asked for. */
export function publisher(flags: ApproverFlags & { readonly publish: boolean }, { nodes }: Clusters) {
  return async (workers: readonly Worker[]): Promise<void> => {
    if (!flags.publish) return;
    await publishInventory(nodes, approverNamespaceOf(flags), workers);
  };
}

export const poolFlag = { pool: required(text("Name of the pool."), "whose workers?") };

export function poolOf({ pool, namespace }: { readonly pool: string; readonly namespace: string }): ObjectName {
  if (!/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(pool)) {
    throw pool === "" ? missing("--pool is missing: whose workers?") : refused(`--pool "${pool}" is not a name`);
  }
  return { namespace, name: pool };
}

export const tailoringFlags = inGroup("advanced", {
  "set-hostname": yesNo("Let user data name the machine; its node has that name.", true),
  "ignition-address": text(
    "Address of the Ignition server for machines that cannot resolve its name; its certificate must have it.",
  ),
});

export const windowFlag = inGroup("advanced", {
  window: duration("2h", "How long a worker may take to ask for its first certificate.", { least: 60_000 }),
});

export const prefixFlag = { "name-prefix": text("Prefix of the workers' names. If empty, the pool's name.") };

/** A command line, as its words. */
const command = (usage: string): Flag<readonly string[]> => ({
  kind: { typeName: "string", read: splitCommand, showDefault: () => undefined },
  value: [],
  usage,
});

/** Number, names and machines of new workers, for create and up. */
export const makingFlags = {
  ...tailoringFlags,
  ...prefixFlag,
  ...windowFlag,
  ...poolFlag,
  count: number(1, "How many workers of this prefix there should be.", { least: 1 }),
  zones: restricted(list("Zones in which machines are made, filled evenly."), (zones) =>
    zones.some((zone) => zone.trim() === "") ? "must not have an empty name" : undefined,
  ),
  provider: oneOf(PROVIDERS, "What makes the machines.", "files"),
  "create-command": command("Command that makes one machine, for --provider command."),
  "delete-command": command("Command that removes one machine, for --provider command."),
  "machine-type": text("Type of the machines, such as n2-standard-4."),
  disk: restricted(text("Size of the machines' boot disk in GB."), (size) =>
    /^([1-9]\d{0,5})?$/.test(size) ? undefined : "must be a number of GB",
  ),
  subnet: text("Subnet of the machines."),
  image: text("Boot image of the machines."),
  "image-project": text("Project that the boot image is in, for --provider gcloud."),
  project: text("Project of the machines, for --provider gcloud."),
  "own-token": maybe(
    "Give each worker a token of its own. If not given, where the Ignition server is drawbridge's: others know no such tokens.",
  ),
};

type MakingFlags = Values<typeof makingFlags> & { readonly namespace: string };

/** What each provider does, for --help. */
export const PROVIDERS_HELP = `Providers: files writes user data and leaves the machines to you; command runs --create-command for each worker, without
a shell, in which these are replaced: ${PLACEHOLDERS_TEXT}; gcloud runs
gcloud compute instances create. After a kill a command may be run once more for the same worker: it must then do nothing.`;

/** The pool, the workers and the machines that these flags describe. */
export function makingOf(flags: MakingFlags) {
  const { createCommand, deleteCommand, ignitionAddress, ownToken, provider, setHostname, zones } = flags;
  const isCommand = provider === "command";
  if (isCommand && createCommand.length === 0) throw refused("--provider command needs --create-command");
  if (!isCommand && createCommand.length + deleteCommand.length > 0) {
    throw refused("--create-command and --delete-command go with --provider command");
  }
  const { disk: diskGb, image, imageProject, machineType, project, subnet } = flags;
  const shape = { machineType, diskGb, subnet, image, imageProject, project };
  const template: MachineTemplate = {
    ...{ provider, ownToken, setHostname, ignitionAddress, createCommand, deleteCommand, shape },
  };
  return { pool: poolOf(flags), group: { ...groupOf(flags), zones }, template };
}

export function groupOf(flags: Pick<MakingFlags, "pool" | "namespace" | "namePrefix" | "count">) {
  const { name, namespace } = poolOf(flags);
  return { pool: `${namespace}/${name}`, prefix: flags.namePrefix || name, count: flags.count };
}
