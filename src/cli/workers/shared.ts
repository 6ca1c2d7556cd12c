/** Flags that the workers commands share: the store, the clusters, and the shape of machines. */

import { resolve } from "node:path";
import { isNodeName, plainAddress } from "../../cluster/nodes/csr/names.js";
import type { ObjectName } from "../../cluster/nodes/objects.js";
import { PLACEHOLDERS_TEXT, splitCommand } from "../../cluster/nodes/providers/command.js";
import { FORMER_NONE, PROVIDERS, providerOf } from "../../cluster/nodes/providers/index.js";
import { shellText } from "../../cluster/nodes/providers/run.js";
import { ALL_SETTINGS, type MachineShape, settingFlag } from "../../cluster/nodes/providers/settings.js";
import { exclusively, withPoolLock } from "../../cluster/nodes/workers/lock.js";
import type { MachineTemplate } from "../../cluster/nodes/workers/machines.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import { WorkerStore } from "../../cluster/nodes/workers/store.js";
import { takeOver } from "../../cluster/nodes/workers/take-over.js";
import type { Addresses } from "../../cluster/nodes/workers/worker.js";
import { nodeCidrFlag } from "../csr/shared.js";
import {
  duration,
  type Flag,
  filePath,
  inGroup,
  list,
  maybe,
  number,
  oneOf,
  repeated,
  required,
  restricted,
  text,
  type Values,
  yesNo,
} from "../flags/flag.js";
import { hostedCluster, openCluster, secondClusterFlags } from "../flags/kubernetes.js";
import { missing, refused } from "../flags/parse.js";
import { type AccessFlags, accessFlags, openObjects } from "../framework/objects.js";

export const approverNamespaceFlag = inGroup("kubernetes", {
  "approver-namespace": text(
    "Namespace of the approver and of the Workers. If empty, --namespace, or drawbridge in a cluster of --hosted-kubeconfig.",
  ),
});

/** The two clusters, the namespace of the Workers, and this host's directory. */
export const workersFlags = {
  ...accessFlags,
  state: filePath("Directory of this host for the workers' user data.", "workers"),
  ...secondClusterFlags("hosted", "the cluster that machines join", "it is the cluster of their pool"),
  ...approverNamespaceFlag,
};

export type WorkersFlags = Values<typeof workersFlags>;

/** Each worker is an object, and there may be thousands. */
const LIMITS = { qps: 100, burst: 200 };

/** Closes them whatever happens. */
export async function withWorkersClusters<T>(flags: WorkersFlags, use: (clusters: Clusters) => Promise<T>): Promise<T> {
  const pools = await openObjects(flags, LIMITS);
  try {
    const joined = hostedCluster(flags);
    if (joined === undefined) return await use({ pools, nodes: pools });
    const nodes = await openCluster(joined, LIMITS);
    return await use({ pools, nodes }).finally(() => nodes.close());
  } finally {
    pools.close();
  }
}

type ApproverFlags = Pick<AccessFlags, "namespace"> &
  Pick<WorkersFlags, "kubeconfig" | "context" | "hostedKubeconfig" | "hostedContext"> & {
    readonly approverNamespace: string;
  };

/** The cluster that machines join need not have the namespace of their pool. */
export function approverNamespaceOf({ approverNamespace, namespace, ...flags }: ApproverFlags): string {
  if (approverNamespace !== "") return approverNamespace;
  return hostedCluster(flags) === undefined ? namespace : "drawbridge";
}

type StoreFlags = WorkersFlags & Partial<Values<typeof commandFlags>>;

/** The Workers, with what was remembered of them before there were such objects. */
export async function openStore(flags: StoreFlags, { nodes: api }: Clusters): Promise<WorkerStore> {
  const {
    createArg: createArguments = [],
    createCommand = [],
    deleteCommand = [],
    libvirtUri: connection = "",
  } = flags;
  const namespace = approverNamespaceOf(flags);
  const store = new WorkerStore({
    ...{ api, namespace, directory: flags.state },
    commands: {
      ...(createCommand.length > 0 && { createCommand }),
      ...(deleteCommand.length > 0 && { deleteCommand }),
      ...(createArguments.length > 0 && { createArguments }),
      ...(connection !== "" && { connection }),
    },
  });
  await takeOver({ api, namespace, store, say: (line) => process.stderr.write(`${line}\n`) });
  return store;
}

/** For commands that write user data; one at a time in a directory. */
export async function withState<T>(flags: StoreFlags, clusters: Clusters, use: (store: WorkerStore) => Promise<T>) {
  return exclusively(resolve(flags.state), async () => use(await openStore(flags, clusters)));
}

/** For commands that make machines; one at a time on a pool, wherever it runs. */
export function withPool<T>(
  flags: StoreFlags,
  clusters: Clusters,
  { name: pool }: ObjectName,
  use: (store: WorkerStore) => Promise<T>,
) {
  const lock = { api: clusters.nodes, namespace: approverNamespaceOf(flags), pool };
  return withState(flags, clusters, (store) => withPoolLock({ ...lock, store }, () => use(store)));
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

/** How machines are made and removed, and where, as far as no cluster may say it and this host does not remember it. */
export const commandFlags = inGroup("advanced", {
  "create-command": command("Command that makes one machine, for workers of --provider command."),
  "delete-command": command("Command that removes one machine, for workers of --provider command."),
  "create-arg": repeated("One more argument of gcloud or virt-install when it makes a machine; repeatable."),
  "libvirt-uri": text("Address of libvirt, for --provider libvirt. If empty, qemu:///system for new machines."),
});

/** `host-a=10.0.0.1`. */
const ownAddresses = (usage: string, form: string, isGood: (text: string) => boolean) =>
  inGroup("advanced", {
    flag: restricted(list(`${usage} ${form}.`), (pairs) => {
      const wrong = pairs.find((pair) => {
        const [name = "", value = "", ...rest] = pair.split("=");
        return !isNodeName(name) || !isGood(value) || rest.length > 0;
      });
      return wrong === undefined ? undefined : `has "${wrong}"; it must be ${form}`;
    }),
  }).flag;

const providerKind = oneOf(PROVIDERS, "What makes the machines; none was called files before.", "none");

const providerFlag: typeof providerKind = {
  ...providerKind,
  kind: {
    ...providerKind.kind,
    read: (given, earlier) => providerKind.kind.read(given === FORMER_NONE ? "none" : given, earlier),
  },
};

const isCount = (text: string) => (/^([1-9]\d{0,8})?$/.test(text) ? undefined : "must be a number");

/** Number, names and machines of new workers, for create and up. */
export const makingFlags = {
  ...commandFlags,
  ...nodeCidrFlag,
  ...tailoringFlags,
  ...prefixFlag,
  ...windowFlag,
  ...poolFlag,
  count: number(1, "How many workers of this prefix there should be.", { least: 1 }),
  names: restricted(
    list("Names of the workers, instead of a prefix and numbers, such as host-a,host-b.example."),
    (names) => {
      const wrong = names.find((name, index) => !isNodeName(name) || names.indexOf(name) !== index);
      return wrong === undefined ? undefined : `has "${wrong}", which is no node's name, or is there twice`;
    },
  ),
  reinstall: yesNo("With --names: also use names that were used before, for machines that are installed again."),
  ips: ownAddresses(
    "Address for a worker's serving certificates; repeatable.",
    "NAME=ADDRESS",
    (text) => plainAddress(text) !== undefined,
  ),
  "dns-names": ownAddresses("DNS name for a worker's serving certificates; repeatable.", "NAME=DNSNAME", isNodeName),
  zones: restricted(list("Zones in which machines are made, filled evenly."), (zones) =>
    zones.some((zone) => zone.trim() === "") ? "must not have an empty name" : undefined,
  ),
  provider: providerFlag,
  ...inGroup("advanced", {
    "disk-type": text("Type of the machines' boot disk, such as pd-ssd, for --provider gcloud."),
    tags: list("Network tags of the machines, for --provider gcloud."),
    labels: restricted(list("Labels of the machines, for --provider gcloud, such as team=a."), (labels) => {
      const wrong = labels.find((label) => !/^[^=]+=[^=]*$/.test(label));
      return wrong === undefined ? undefined : `has "${wrong}"; it must be KEY=VALUE`;
    }),
    "service-account": text("Service account of the machines, for --provider gcloud."),
    scopes: list("Scopes of the machines' service account, for --provider gcloud."),
    memory: restricted(text("Memory of the machines in MiB, for --provider libvirt. If empty, 8192."), isCount),
    vcpus: restricted(text("Number of the machines' virtual CPUs, for --provider libvirt. If empty, 2."), isCount),
    "storage-pool": text(
      "Storage pool of the machines' volumes and of the image, for --provider libvirt. If empty, default.",
    ),
  }),
  network: text("Network of the machines; libvirt also knows user, and bridge=NAME."),
  "machine-type": text("Type of the machines, such as n2-standard-4."),
  disk: restricted(text("Size of the machines' boot disk in GB."), (size) =>
    /^([1-9]\d{0,5})?$/.test(size) ? undefined : "must be a number of GB",
  ),
  subnet: text("Subnet of the machines."),
  image: text("Boot image of the machines; for libvirt a volume of the storage pool, in the format qcow2."),
  "image-project": text("Project that the boot image is in, for --provider gcloud."),
  project: text("Project of the machines, for --provider gcloud."),
  "own-token": maybe(
    "Give each worker a token of its own. If not given, where the Ignition server is drawbridge's: others know no such tokens.",
  ),
};

type MakingFlags = Values<typeof makingFlags> & { readonly namespace: string };

/** What each provider does, for --help. */
export const PROVIDERS_HELP = `Providers: none writes user data and leaves the machines to you; command runs --create-command for each worker, without
a shell, in which these are replaced: ${PLACEHOLDERS_TEXT};
gcloud runs gcloud compute instances create; libvirt runs virsh and virt-install, and gives Ignition its user data as fw_cfg. After a kill a command may be run once more for the same worker: it must then do nothing.`;

/** The commands behind a worker; each in a line of its own where there are several. */
export function commandsText(commands: readonly (readonly string[])[]): string {
  if (commands.length < 2) return commands.map((words) => `: ${shellText(words)}`).join("");
  return `:${commands.map((words) => `\n  ${shellText(words)}`).join("")}`;
}

/** The pool, the workers and the machines that these flags describe. */
export function makingOf(flags: MakingFlags) {
  const { createCommand, deleteCommand, ignitionAddress, ownToken, provider, setHostname, zones } = flags;
  const isCommand = provider === "command";
  if (isCommand && createCommand.length === 0) throw refused("--provider command needs --create-command");
  if (!isCommand && createCommand.length + deleteCommand.length > 0) {
    throw refused("--create-command and --delete-command go with --provider command");
  }
  const { connects = false, takesArguments = false, settings } = providerOf(provider);
  const { createArg: createArguments } = flags;
  if (createArguments.length > 0 && !takesArguments)
    throw refused("--create-arg goes with --provider gcloud or libvirt");
  if (flags.libvirtUri !== "" && !connects) throw refused("--libvirt-uri goes with --provider libvirt");
  const shape = shapeOf(flags);
  const unused = ALL_SETTINGS.find((key) => shape[key] !== "" && !settings.includes(key));
  if (unused !== undefined) throw refused(`--${settingFlag(unused)} means nothing to --provider ${provider}`);
  const template: MachineTemplate = {
    ...{ provider, ownToken, setHostname, ignitionAddress, createCommand, deleteCommand, createArguments, shape },
    ...(connects && { connection: flags.libvirtUri || "qemu:///system" }),
    networks: flags.nodeCidr,
  };
  if (flags.reinstall && flags.names.length === 0) throw refused("--reinstall goes with --names");
  const named = flags.names.length === 0 ? {} : { names: flags.names };
  const group = { ...groupOf(flags), ...named, zones, addresses: addressesOf(flags) };
  return { pool: poolOf(flags), group, template, reinstall: flags.reinstall };
}

function shapeOf(flags: MakingFlags): MachineShape {
  const { disk: diskGb, diskType, image, imageProject, machineType, memory: memoryMib, network, project } = flags;
  const { labels, scopes, serviceAccount, storagePool, subnet, tags, vcpus } = flags;
  return {
    ...{ diskGb, diskType, image, imageProject, machineType, memoryMib, network, project, serviceAccount },
    ...{ storagePool, subnet, vcpus, labels: labels.join(), scopes: scopes.join(), tags: tags.join() },
  };
}

function addressesOf({ dnsNames, ips }: Pick<MakingFlags, "dnsNames" | "ips">): ReadonlyMap<string, Addresses> {
  const found = new Map<string, Addresses>();
  const add = (key: keyof Addresses) => (pair: string) => {
    const [name = "", value = ""] = pair.split("=");
    const before = found.get(name) ?? {};
    found.set(name, { ...before, [key]: [...(before[key] ?? []), value] });
  };
  ips.forEach(add("ips"));
  dnsNames.forEach(add("dnsNames"));
  return found;
}

export function groupOf(flags: Pick<MakingFlags, "pool" | "namespace" | "namePrefix" | "count">) {
  const { name, namespace } = poolOf(flags);
  return { pool: `${namespace}/${name}`, prefix: flags.namePrefix || name, count: flags.count };
}
