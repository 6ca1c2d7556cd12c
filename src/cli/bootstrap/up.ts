/** `drawbridge bootstrap up`: parse, bring the bridge up, say how far it came. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import type { UpOptions } from "../../cluster/bootstrap/host/plan.js";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { declareUpFlags, upWishes } from "./up-flags.js";
import { progressOn, upText } from "./up-report.js";

interface UpConfig {
  readonly wishes: UpOptions;
  readonly output: "text" | "json";
}

const purpose = `Brings the bridge up on this host of a kubeadm or bare control plane, or what is missing of it.

Run it again at any time, also after it was killed: what is there already stays as it is. What it makes is recorded before
it is made, and drawbridge bootstrap teardown takes all of it away.`;

const SHORTEST_MS = 60_000;

export function bootstrapUp(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[], env: Environment): Invocation<UpConfig> {
  const { set, flags } = declareUpFlags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  const [word] = positional;
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
  const asked = upWishes(flags);
  checkStateDirectory(asked.stateDirectory);
  if (flags.restoreCommand.value !== "" && asked.applyCommand === undefined)
    throw refused("--restore-command belongs to --apply-command");
  if ((asked.validForMs ?? SHORTEST_MS) < SHORTEST_MS) throw refused("--for must be at least one minute");
  if (asked.timeoutMs <= 0) throw refused("--timeout must be more than nothing");
  const wishes = { ...asked, version: version(), ownProgram: ownProgram(), env };
  const config = { wishes, output: flags.output.value ?? "text" } as const;
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

/** The proxy-server that was installed with this program. */
function ownProgram(): string | undefined {
  const [, script = ""] = process.argv;
  if (!existsSync(script)) return undefined;
  const beside = join(dirname(realpathSync(script)), "proxy-server");
  return existsSync(beside) ? beside : undefined;
}

async function run({ wishes, output }: UpConfig): Promise<number> {
  const [{ bringUp }, { thisHost }, { openApi }] = await Promise.all([
    import("../../cluster/bootstrap/host/up.js"),
    import("../../cluster/bootstrap/host/host.js"),
    import("../../cluster/bootstrap/host/step.js"),
  ]);
  const result = await bringUp(thisHost(), wishes, openApi, progressOn(process.stderr));
  process.stdout.write(output === "json" ? `${JSON.stringify(result, undefined, 2)}\n` : upText(result));
  return 0;
}

function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}
