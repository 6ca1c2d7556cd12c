/** `drawbridge bootstrap status`: parse, look, print; 1 when something is not as it should be. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { checkStateDirectory, DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import type { StatusOptions } from "../../cluster/bootstrap/host/status.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, string } from "../flags/flag-value.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { statusText } from "./status-report.js";

interface StatusConfig {
  readonly wishes: StatusOptions;
  readonly output: "text" | "json";
}

const purpose =
  "Shows how the bridge on this host stands, step by step. Ends with 1 when something is not as it should be.";

export function bootstrapStatus(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[], env: Environment): Invocation<StatusConfig> {
  const set = new FlagSet();
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    kubeconfig: set.add("kubeconfig", string, "", "An administrator's access. If empty, the one that up used."),
    stateDirectory: set.add("state-dir", string, DEFAULT_STATE_DIRECTORY, "Where the bridge's record and backups are."),
    output: set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text."),
  };
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw new DrawbridgeError("DB_FLAG_VALUE", `${quote(word)} belongs to no flag`);
  const stateDirectory = checkStateDirectory(flags.stateDirectory.value);
  const wishes = { stateDirectory, kubeconfig: flags.kubeconfig.value, env };
  const config = { wishes, output: flags.output.value ?? "text" } as const;
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

async function run({ wishes, output }: StatusConfig): Promise<number> {
  const [{ bridgeStatus }, { thisHost }, { openApi }] = await Promise.all([
    import("../../cluster/bootstrap/host/status.js"),
    import("../../cluster/bootstrap/host/host.js"),
    import("../../cluster/bootstrap/host/step.js"),
  ]);
  const status = await bridgeStatus(thisHost(), wishes, openApi);
  process.stdout.write(output === "json" ? `${JSON.stringify(status, undefined, 2)}\n` : statusText(status));
  return status.ok ? 0 : 1;
}
