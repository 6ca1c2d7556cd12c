/** `drawbridge workers create`: from a pool to machines. */
import { placeholders, shellText, splitCommand } from "../nodepool/workers/command-line.js";
import type { Made } from "../nodepool/workers/machines.js";
import type { Provider } from "../nodepool/workers/worker.js";
import { choice } from "./flags/choice.js";
import type { Flag, FlagSet } from "./flags/flag-set.js";
import { boolean, duration, integer, string, stringSlice } from "./flags/flag-value.js";
import { type GoDuration, parseGoDuration, toMilliseconds } from "./flags/go-duration.js";
import { type AccessFlags, checkAccess, declareAccess, noWords, withObjects } from "./nodepool-flags.js";
import { addOutput, refused, runPlainCommand } from "./plain-command.js";
import {
  declareState,
  declareTailoring,
  json,
  openState,
  poolOf,
  type StateFlags,
  type TailorFlags,
} from "./workers-flags.js";

const purpose = `Sees to it that a pool has --count workers named PREFIX-0, PREFIX-1, ...: writes for each the user data with the pool's token of
today into --state, records it in the inventory that drawbridge csr approver reads (--inventory STATE/inventory, or
--publish for one in the cluster), and makes the machine. Workers that were made before are kept, so the command can be
repeated after a failure. The pool may be HyperShift's or our own controller's.

Providers: files writes user data and leaves the machines to you; command runs --create-command for each worker, without
a shell, in which these are replaced: ${placeholders.map((name) => `{${name}}`).join(" ")}; gcloud runs
gcloud compute instances create. --dry-run prints what would be run.`;

interface CreateFlags extends AccessFlags, StateFlags, TailorFlags {
  readonly pool: Flag<string>;
  readonly count: Flag<number>;
  readonly prefix: Flag<string>;
  readonly zones: Flag<readonly string[]>;
  readonly provider: Flag<Provider | undefined>;
  readonly createCommand: Flag<string>;
  readonly deleteCommand: Flag<string>;
  readonly shape: ReturnType<typeof declareShape>;
  readonly ownToken: Flag<boolean>;
  readonly window: Flag<GoDuration>;
  readonly publish: Flag<boolean>;
  readonly dryRun: Flag<boolean>;
  readonly output: Flag<"text" | "json" | undefined>;
}

export function workersCreate(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declareShape(set: FlagSet) {
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  return {
    machineType: text("machine-type", "Kind of machine."),
    diskGb: text("disk", "Size of the boot disk in GB."),
    subnet: text("subnet", "Network of the machines."),
    image: text("image", "Boot image."),
    imageProject: text("image-project", "Project that the image is in, for gcloud."),
    project: text("project", "Project of the machines, for gcloud."),
  };
}

function declare(set: FlagSet): CreateFlags {
  return {
    ...declareAccess(set),
    ...declareState(set),
    ...declareTailoring(set),
    pool: set.add("pool", string, "", "Name of the pool."),
    count: set.add("count", integer, 1, "How many workers of this prefix there should be."),
    prefix: set.add("name-prefix", string, "", "Of the workers' names. If empty, the pool's name."),
    zones: set.add("zones", stringSlice, [], "Zones, filled evenly."),
    provider: set.add(
      "provider",
      choice("files", "command", "gcloud"),
      undefined,
      "Who makes machines. If empty, files.",
    ),
    createCommand: set.add("create-command", string, "", "Makes one machine, for provider command."),
    deleteCommand: set.add("delete-command", string, "", "Removes one machine, for provider command."),
    shape: declareShape(set),
    ownToken: set.add(
      "own-token",
      boolean,
      false,
      "Give each worker a token that stands for it alone; only drawbridge's own Ignition server knows such.",
    ),
    window: set.add(
      "window",
      duration,
      parseGoDuration("2h"),
      "How long a worker may take to ask for its certificate.",
    ),
    publish: set.add("publish", boolean, false, "Also put the inventory into the cluster, for an approver there."),
    dryRun: set.add("dry-run", boolean, false, "Write user data and records, print commands, run none."),
    output: addOutput(set),
  };
}

function check(flags: CreateFlags, words: readonly string[]): void {
  noWords(words);
  checkAccess(flags);
  poolOf(flags.pool, flags.namespace);
  templateOf(flags);
  if (flags.count.value < 1) throw refused(`--count must be at least 1, got ${flags.count.value}`);
  if (flags.zones.value.some((zone) => zone.trim() === "")) throw refused("--zones has an empty name");
  if (toMilliseconds(flags.window.value) < 60_000) throw refused("--window must be at least 1m");
  const { value: disk } = flags.shape.diskGb;
  if (disk !== "" && !/^[1-9]\d{0,5}$/.test(disk)) throw refused(`--disk "${disk}" is not a number of GB`);
}

function templateOf({ createCommand, deleteCommand, ownToken, provider, shape }: CreateFlags) {
  const isCommand = provider.value === "command";
  if (isCommand && createCommand.value === "") throw refused("--provider command needs --create-command");
  if (!isCommand && createCommand.value + deleteCommand.value !== "") {
    throw refused("--create-command and --delete-command go with --provider command");
  }
  const words = ({ name, value }: Flag<string>) => {
    try {
      return value === "" ? [] : splitCommand(value);
    } catch (reason) {
      throw refused(`--${name}: ${(reason as Error).message}`);
    }
  };
  return {
    provider: provider.value ?? "files",
    ownToken: ownToken.value,
    createCommand: words(createCommand),
    deleteCommand: words(deleteCommand),
    shape: {
      machineType: shape.machineType.value,
      diskGb: shape.diskGb.value,
      subnet: shape.subnet.value,
      image: shape.image.value,
      imageProject: shape.imageProject.value,
      project: shape.project.value,
    },
  };
}

async function run(flags: CreateFlags): Promise<number> {
  const [{ createWorkers }, { ensureTokens }, { poolUserData }, { publishInventory }] = await Promise.all([
    import("../nodepool/workers/machines.js"),
    import("../nodepool/workers/own-tokens.js"),
    import("../nodepool/workers/pool-user-data.js"),
    import("../nodepool/workers/publish.js"),
  ]);
  const store = await openState(flags);
  const pool = poolOf(flags.pool, flags.namespace);
  const made = await withObjects(flags, async (api) =>
    createWorkers({
      store,
      wish: {
        pool: `${pool.namespace}/${pool.name}`,
        prefix: flags.prefix.value || pool.name,
        count: flags.count.value,
        zones: flags.zones.value,
      },
      userData: await poolUserData(api, pool),
      template: templateOf(flags),
      setHostname: flags.setHostname.value,
      ignitionAddress: flags.ignitionAddress.value,
      windowMs: toMilliseconds(flags.window.value),
      now: Date.now(),
      dryRun: flags.dryRun.value,
      ownTokens: async (names) => (names.length === 0 ? new Map() : ensureTokens(api, pool, names)),
      beforeMachines: async (workers) => {
        if (flags.publish.value) await publishInventory(api, pool.namespace, workers);
      },
    }),
  );
  process.stdout.write(
    flags.output.value === "json"
      ? json({ workers: made, inventory: store.inventoryDirectory })
      : report(made, store.inventoryDirectory, flags.publish.value),
  );
  return 0;
}

function report(made: readonly Made[], inventory: string, isPublished: boolean): string {
  const lines = made.map(({ action, command, name, userData, zone }) => {
    const where = zone === "" ? "" : ` in ${zone}`;
    const how = command.length > 0 ? `: ${shellText(command)}` : action === "kept" ? "" : `: ${userData}`;
    return `${name}${where} ${action}${how}\n`;
  });
  const hasFiles = made.some(({ action }) => action === "user data written");
  return [
    ...lines,
    hasFiles
      ? "Give each machine its file as Ignition user data at first boot; the token in it rotates, so do it now or print it\nagain later with drawbridge workers userdata.\n"
      : "",
    isPublished ? "" : `Let them in with drawbridge csr approver --inventory ${inventory}\n`,
  ].join("");
}
