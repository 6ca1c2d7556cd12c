/** What the workers commands have in common: whose workers, and where they are remembered. */
import type { ObjectName } from "../nodepool/objects.js";
import type { Flag, FlagSet } from "./flags/flag-set.js";
import { boolean, string } from "./flags/flag-value.js";
import { refused } from "./plain-command.js";

export interface StateFlags {
  readonly state: Flag<string>;
}

export function declareState(set: FlagSet): StateFlags {
  return { state: set.add("state", string, "workers", "Directory that remembers workers and holds their user data.") };
}

export async function openState({ state }: StateFlags) {
  const { WorkerStore } = await import("../nodepool/workers/store.js");
  return new WorkerStore(state.value);
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

export const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;
