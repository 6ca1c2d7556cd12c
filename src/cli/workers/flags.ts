/** What the workers commands have in common: whose workers, where they are remembered, and which clusters they are about. */

import type { ObjectName } from "../../cluster/nodes/objects.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import type { WorkerStore } from "../../cluster/nodes/workers/store.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, string } from "../flags/flag-value.js";
import { refused } from "../framework/plain-command.js";
import { type AccessFlags, openObjects } from "../nodepool/flags.js";

export interface StateFlags {
  readonly state: Flag<string>;
}

export function declareState(set: FlagSet): StateFlags {
  return { state: set.add("state", string, "workers", "Directory that remembers workers and holds their user data.") };
}

export async function openState({ state }: StateFlags): Promise<WorkerStore> {
  const { WorkerStore } = await import("../../cluster/nodes/workers/store.js");
  return new WorkerStore(state.value);
}

/** For commands that change something; one at a time. */
export async function withState<T>(flags: StateFlags, use: (store: WorkerStore) => Promise<T>): Promise<T> {
  const [store, { exclusively }] = await Promise.all([
    openState(flags),
    import("../../cluster/nodes/workers/store.js"),
  ]);
  return exclusively(store.directory, () => use(store));
}

export interface NodesFlags extends AccessFlags {
  readonly hostedKubeconfig: Flag<string>;
}

export const declareHosted = (set: FlagSet): Flag<string> =>
  set.add(
    "hosted-kubeconfig",
    string,
    "",
    "Access to the cluster that machines join, where that is not the one of their pool. If empty, the same.",
  );

/** Closes them whatever happens. */
export async function withClusters<T>(flags: NodesFlags, use: (clusters: Clusters) => Promise<T>): Promise<T> {
  const pools = await openObjects(flags);
  const { hostedKubeconfig } = flags;
  try {
    if (hostedKubeconfig.value === "") return await use({ pools, nodes: pools });
    const { openKubeApi } = await import("../../cluster/kube/open.js");
    const nodes = await openKubeApi({ kubeconfig: hostedKubeconfig.value, qps: 0, burst: 0 });
    try {
      return await use({ pools, nodes });
    } finally {
      nodes.close();
    }
  } finally {
    pools.close();
  }
}

export interface TailorFlags {
  readonly setHostname: Flag<boolean>;
  readonly ignitionAddress: Flag<string>;
}

export function declareTailoring(set: FlagSet): TailorFlags {
  return {
    setHostname: set.add("set-hostname", boolean, true, "Let user data name the machine; its node has that name."),
    ignitionAddress: set.add(
      "ignition-address",
      string,
      "",
      "Address of the Ignition server for machines that cannot resolve its name; its certificate must have it.",
    ),
  };
}

export function poolOf(pool: Flag<string>, namespace: Flag<string>): ObjectName {
  if (!/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(pool.value)) {
    throw refused(pool.value === "" ? "--pool is missing: whose workers?" : `--pool "${pool.value}" is not a name`);
  }
  return { namespace: namespace.value, name: pool.value };
}

/** A shell script could not tell a name from a flag that came too late. */
export function nameOrRefuse(words: readonly string[], what: string): string {
  const [name, more] = words;
  if (name === undefined) throw refused(`${what} is missing`);
  if (more !== undefined) throw refused(`"${more}" is one word too many`);
  return name;
}
