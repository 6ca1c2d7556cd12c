/** drawbridge firewall: what the network must let through for the bridge, opened and taken away again. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { type PlanInput, type Platform, platforms } from "../../cluster/bootstrap/firewall/plan.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, string, stringSlice } from "../flags/flag-value.js";
import { quote } from "../flags/go-text.js";
import { type ExitCodes, runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Invocation } from "../framework/invocation.js";
import { type Command, type Family, MISUSE, runFamily } from "../framework/subcommands.js";

interface Asked {
  readonly platform: Platform | undefined;
  readonly upi: boolean;
  readonly byoNetwork: boolean;
  readonly infraId: string | undefined;
  readonly machineNetworks: readonly string[];
  readonly dir: string | undefined;
  readonly output: "text" | "json";
}

type Run = (asked: Asked) => Promise<number>;

export function firewallCommand(program: string, argv: readonly string[]): Promise<number> {
  const family: Family = {
    program,
    purpose: "Lets agents through to the bootstrap host, and nobody for longer than bootstrap takes.",
    commands: {
      plan: subcommand(`${program} plan`, "Say what to open, who does it and when, and how it goes away", plan),
      patch: subcommand(
        `${program} patch`,
        "Open the port in the installer's manifests before create cluster",
        (asked) => edit(asked, "open"),
      ),
      remove: subcommand(`${program} remove`, "Take what patch opened out of the manifests again", (asked) =>
        edit(asked, "close"),
      ),
    },
  };
  return runFamily(family, argv);
}

function subcommand(program: string, summary: string, run: Run): Command {
  const exitCodes: ExitCodes = { misuse: MISUSE };
  const parse = (argv: readonly string[]) => parseFirewallArgs(argv, program, `${summary}.`);
  return { summary, run: (argv) => runRole({ parse, run }, program, argv, exitCodes) };
}

async function plan(asked: Asked): Promise<number> {
  const { firewallPlan } = await import("../../cluster/bootstrap/firewall/make-plan.js");
  const { showPlan } = await import("../../cluster/bootstrap/firewall/make-plan.js");
  const found = firewallPlan(await complete(asked));
  print(asked, found, () => showPlan(found));
  return 0;
}

async function edit(asked: Asked, direction: "open" | "close"): Promise<number> {
  const { patchManifest } = await import("../../cluster/bootstrap/firewall/manifest/patch.js");
  const { showPatch } = await import("../../cluster/bootstrap/firewall/make-plan.js");
  const { dir } = asked;
  if (dir === undefined) throw new DrawbridgeError("DB_FLAG_VALUE", "--dir must name the install directory.");
  const { platform, rule } = await complete(asked);
  const result = await patchManifest({ dir, platform, rule, direction });
  print(asked, result, () => showPatch(result, direction === "open" ? "opened" : "closed"));
  return 0;
}

/** Flags first, then what the install directory says. */
async function complete(asked: Asked): Promise<PlanInput> {
  const { readInstallDir } = await import("../../cluster/bootstrap/firewall/install-dir.js");
  const { bridgeModel } = await import("../../cluster/bootstrap/model/model.js");
  const { firewallRule } = await import("../../cluster/bootstrap/model/created.js");
  const found = asked.dir === undefined ? undefined : await readInstallDir(asked.dir);
  const platform = asked.platform ?? found?.platform;
  if (platform === undefined) {
    throw new DrawbridgeError("DB_FLAG_VALUE", `--platform must be one of ${platforms.join(", ")}.`);
  }
  return {
    rule: firewallRule(bridgeModel({ for: "openshift" })),
    platform,
    upi: asked.upi,
    byoNetwork: asked.byoNetwork,
    infraId: asked.infraId ?? found?.infraId,
    machineNetworks: asked.machineNetworks.length > 0 ? asked.machineNetworks : (found?.machineNetworks ?? []),
  };
}

function print({ output }: Asked, value: object, text: () => string): void {
  process.stdout.write(output === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : text());
}

function parseFirewallArgs(argv: readonly string[], program: string, purpose: string): Invocation<Asked> {
  const set = new FlagSet();
  const flags = {
    platform: set.add(
      "platform",
      string,
      "",
      `One of ${platforms.join(", ")}. If empty, as the install directory says.`,
    ),
    upi: set.add("upi", boolean, false, "The infrastructure is user-provisioned."),
    byoNetwork: set.add("byo-network", boolean, false, "The installer's machines stand in a network of your own."),
    infraId: set.add(
      "infra-id",
      string,
      "",
      "Infrastructure ID of the cluster. If empty, from --dir or a placeholder.",
    ),
    machineNetwork: set.add(
      "machine-network",
      stringSlice,
      [],
      "Prefix of the nodes; repeatable. If empty, from --dir.",
    ),
    dir: set.add("dir", string, "", "Install directory of openshift-install."),
    output: set.add("output", string, "text", "text or json.", { shorthand: "o" }),
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
  };
  const { positional } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
  return {
    config: {
      platform: oneOf("platform", flags.platform.value, platforms),
      upi: flags.upi.value,
      byoNetwork: flags.byoNetwork.value,
      infraId: flags.infraId.value || undefined,
      machineNetworks: flags.machineNetwork.value,
      dir: flags.dir.value || undefined,
      output: oneOf("output", flags.output.value, ["text", "json"] as const) ?? "text",
    },
    logging: { verbosity: 0, format: "text" },
    warnings: [],
  };
}

function oneOf<T extends string>(flag: string, value: string, known: readonly T[]): T | undefined {
  if (value === "") return undefined;
  const found = known.find((candidate) => candidate === value);
  if (found === undefined) throw refused(`--${flag} must be one of ${known.join(", ")}, got ${quote(value)}`);
  return found;
}

function refused(message: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", message);
}
