/** Flags that say what workers are made of: those of create and of up. */
import { placeholders, splitCommand, type Template } from "../../cluster/nodes/workers/machines.js";
import type { Wish } from "../../cluster/nodes/workers/worker.js";
import { choice } from "../flags/choice.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, duration, type FlagKind, integer, string, stringSlice } from "../flags/flag-value.js";
import { type GoDuration, parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { refused } from "../framework/plain-command.js";
import type { AccessFlags } from "../nodepool/flags.js";
import { declareTailoring, poolOf } from "./flags.js";

/** For --help. */
export const providersHelp = `Providers: files writes user data and leaves the machines to you; command runs --create-command for each worker, without
a shell, in which these are replaced: ${placeholders.map((name) => `{${name}}`).join(" ")}; gcloud runs
gcloud compute instances create. After a kill a command may be run once more for the same worker: it must then do nothing.`;

/** Yes, no, or up to us. */
const maybe: FlagKind<boolean | undefined> = { ...boolean, showDefault: () => undefined };

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareMaking(set: FlagSet) {
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  const providers = choice("files", "command", "gcloud");
  return {
    ...declareTailoring(set),
    pool: text("pool", "Name of the pool. Required."),
    count: set.add("count", integer, 1, "How many workers of this prefix there should be."),
    prefix: text("name-prefix", "Of the workers' names. If empty, the pool's name."),
    zones: set.add("zones", stringSlice, [], "Zones, filled evenly."),
    provider: set.add("provider", providers, undefined, "Who makes machines. If empty, files."),
    createCommand: text("create-command", "Makes one machine, for provider command."),
    deleteCommand: text("delete-command", "Removes one machine, for provider command."),
    machineType: text("machine-type", "Kind of machine."),
    diskGb: text("disk", "Size of the boot disk in GB."),
    subnet: text("subnet", "Network of the machines."),
    image: text("image", "Boot image."),
    imageProject: text("image-project", "Project that the image is in, for gcloud."),
    project: text("project", "Project of the machines, for gcloud."),
    ownToken: set.add(
      "own-token",
      maybe,
      undefined,
      "Give each worker a token that stands for it alone. If not given, where the Ignition server is drawbridge's own: others know no such tokens.",
    ),
    window: declareWindow(set),
  };
}

export const declareWindow = (set: FlagSet): Flag<GoDuration> =>
  set.add("window", duration, parseGoDuration("2h"), "How long a worker may take to ask for its certificate.");

export type MakingFlags = ReturnType<typeof declareMaking>;

export function checkMaking(flags: MakingFlags & AccessFlags): void {
  poolOf(flags.pool, flags.namespace);
  templateOf(flags);
  if (flags.count.value < 1) throw refused(`--count must be at least 1, got ${flags.count.value}`);
  if (flags.zones.value.some((zone) => zone.trim() === "")) throw refused("--zones has an empty name");
  checkWindow(flags.window);
  const { value: disk } = flags.diskGb;
  if (disk !== "" && !/^[1-9]\d{0,5}$/.test(disk)) throw refused(`--disk "${disk}" is not a number of GB`);
}

export function checkWindow(window: Flag<GoDuration>): void {
  if (toMilliseconds(window.value) < 60_000) throw refused("--window must be at least 1m");
}

export function wishOf(flags: MakingFlags & AccessFlags): Wish {
  const pool = poolOf(flags.pool, flags.namespace);
  return {
    pool: `${pool.namespace}/${pool.name}`,
    prefix: flags.prefix.value || pool.name,
    count: flags.count.value,
    zones: flags.zones.value,
  };
}

export function templateOf(flags: MakingFlags): Omit<Template, "ownToken"> & { ownToken: boolean | undefined } {
  const { createCommand, deleteCommand, provider } = flags;
  const isCommand = provider.value === "command";
  if (isCommand && createCommand.value === "") throw refused("--provider command needs --create-command");
  if (!isCommand && createCommand.value + deleteCommand.value !== "") {
    throw refused("--create-command and --delete-command go with --provider command");
  }
  return {
    provider: provider.value ?? "files",
    ownToken: flags.ownToken.value,
    setHostname: flags.setHostname.value,
    ignitionAddress: flags.ignitionAddress.value,
    createCommand: words(createCommand),
    deleteCommand: words(deleteCommand),
    shape: {
      machineType: flags.machineType.value,
      diskGb: flags.diskGb.value,
      subnet: flags.subnet.value,
      image: flags.image.value,
      imageProject: flags.imageProject.value,
      project: flags.project.value,
    },
  };
}

function words({ name, value }: Flag<string>): string[] {
  try {
    return value === "" ? [] : splitCommand(value);
  } catch (reason) {
    throw refused(`--${name}: ${(reason as Error).message}`);
  }
}
