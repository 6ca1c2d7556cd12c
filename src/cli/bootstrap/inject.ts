/** `drawbridge bootstrap inject`: parse, change or look at a bootstrap.ign, report. */

import { DrawbridgeError } from "../../base/errors/error.js";
import type { Injection } from "../../cluster/bootstrap/inject/inject.js";
import type { InjectOptions } from "../../cluster/bootstrap/inject/payload.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { declareInjectFlags, type InjectFlags, optionsOf } from "./inject-flags.js";
import { reportChange, reportChecks, reportFiles } from "./inject-report.js";

interface InjectConfig {
  readonly file: string;
  readonly action: "inject" | "remove" | "check" | "show";
  /** Where the result goes. */
  readonly target: string;
  readonly output: "text" | "json";
  readonly options: InjectOptions;
}

const purpose = `Puts the bridge into the bootstrap.ign that openshift-install create ignition-configs wrote, or takes it out.

The release is taken from the installer's version in the file, else from the tag of its release image, else from its
scripts. A file that has the bridge already is brought up to date; what was said with flags the last time still holds.`;

export function bootstrapInject(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[], env: Environment): Invocation<InjectConfig> {
  const { set, flags } = declareInjectFlags(program, env);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(`${program} FILE`, purpose, set) };
  const [file, extra] = positional;
  if (file === undefined) throw refused(`the file is missing: ${program} bootstrap.ign`);
  if (extra !== undefined) throw refused(`${quote(extra)} is one file too many`);
  const config: InjectConfig = {
    file,
    action: actionOf(flags),
    target: targetOf(flags, file),
    output: flags.output.value ?? "text",
    options: optionsOf(flags),
  };
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

function actionOf(flags: InjectFlags): InjectConfig["action"] {
  const asked = (["remove", "check", "show"] as const).filter((name) => flags[name].value);
  if (asked.length > 1) throw refused(`--${asked.join(" and --")} exclude each other`);
  return asked[0] ?? "inject";
}

function targetOf({ inPlace, out, check, show }: InjectFlags, file: string): string {
  if (inPlace.value && out.changed) throw refused("--in-place and --out exclude each other");
  if ((check.value || show.value) && (inPlace.value || out.changed))
    throw refused("--check and --show write nothing; leave --in-place and --out away");
  if (out.changed && out.value === "") throw refused("--out needs a file");
  return out.value || file;
}

const refused = (sentence: string) => new DrawbridgeError("DB_FLAG_VALUE", sentence);

async function run(config: InjectConfig): Promise<number> {
  const { readConfigFile } = await import("../../cluster/bootstrap/inject/config-file.js");
  const text = await readConfigFile(config.file);
  if (config.action === "check") return checkFile(config, text);
  if (config.action === "show") return showFile(config, text);
  const change = config.action === "remove" ? await removed(text) : await injected(text, config.options);
  const written = change.changed || config.target !== config.file;
  if (written) {
    const { replaceConfigFile } = await import("../../cluster/bootstrap/inject/config-file.js");
    await replaceConfigFile(config.target, change.text);
  }
  const { sha256 } = await import("../../cluster/bootstrap/inject/ignition-config.js");
  const hashes = { before: sha256(text), after: sha256(change.text) };
  const bytesBefore = Buffer.byteLength(text);
  // From the process's start on: that is what somebody waits for.
  const tookMs = Math.round(performance.now());
  process.stdout.write(reportChange({ ...config, ...change, written, hashes, bytesBefore, tookMs }));
  return 0;
}

async function injected(text: string, options: InjectOptions): Promise<Injection> {
  const { inject } = await import("../../cluster/bootstrap/inject/inject.js");
  return inject(text, options);
}

async function removed(text: string): Promise<Injection> {
  const { parseIgnition } = await import("../../cluster/bootstrap/inject/ignition-config.js");
  const { classify } = await import("../../cluster/bootstrap/inject/classify.js");
  const { removeBridge } = await import("../../cluster/bootstrap/inject/inject.js");
  const config = parseIgnition(text);
  const { state } = classify(config);
  const unchanged = { state, release: undefined, text, changed: false, warnings: [] };
  return state === "ours" ? { ...unchanged, ...removeBridge(config), changed: true } : unchanged;
}

async function checkFile({ file, output }: InjectConfig, text: string): Promise<number> {
  const { parseIgnition } = await import("../../cluster/bootstrap/inject/ignition-config.js");
  const { check } = await import("../../cluster/bootstrap/inject/check.js");
  const report = check(parseIgnition(text));
  process.stdout.write(reportChecks(file, output, report));
  return report.results.every(({ ok }) => ok) ? 0 : 1;
}

async function showFile({ file, output, options }: InjectConfig, text: string): Promise<number> {
  const { parseIgnition } = await import("../../cluster/bootstrap/inject/ignition-config.js");
  const { show } = await import("../../cluster/bootstrap/inject/inject.js");
  const { state, text: after } = await injected(text, options);
  process.stdout.write(reportFiles(file, output, state, show(parseIgnition(after))));
  return 0;
}
