/** The frame of every command: flags in, a result out, and an exit code. */
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { safeJson } from "../../base/text.js";
import { type Flags, oneOf, propertyOf, type Values, yesNo } from "../flags/flag.js";
import { quote } from "../flags/go-values.js";
import { missing, parseFlags, refused } from "../flags/parse.js";
import { helpPage } from "./help.js";
import { complain, print, toneOf, warn } from "./output.js";
import { versionFacts, versionText } from "./version.js";

export { VERSION } from "./version.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** drawbridge ends with 1 for failures and with 2 for misuse; upstream's executables end with 1 for both. */
export const MISUSE = 2;

const MISUSES: ReadonlySet<ErrorCode> = new Set(["DB_FLAG_VALUE", "DB_FLAG_MISSING"]);

/** Everything of a command line besides the values of its flags. */
export interface Input {
  readonly program: string;
  readonly env: Environment;
  readonly words: readonly string[];
  /** Names of the flags that were on the command line, whatever their value. */
  readonly given: ReadonlySet<string>;
  /** The value of --output. */
  readonly output: string;
  /** Prints one sentence on standard error before the command runs. */
  warn(sentence: string): void;
}

/** An object is printed as JSON. */
type Show<Config, Result> = (result: Result, config: Config) => string | object;

export interface Definition<F extends Flags, Config, Result> {
  /** What the command does, and with what codes it ends. */
  readonly purpose: string;
  /** The words behind the flags in --help. Undefined: there are none, and any is refused. */
  readonly words?: string;
  readonly flags?: F | ((env: Environment) => F);
  /** Whether one dash does for a whole name, as in Go's own package for flags. */
  readonly takesOneDash?: boolean;
  /** Command lines, each as it is typed. */
  readonly examples: readonly [string, ...string[]];
  /** Checks the flags and turns them into what `run` takes. If undefined, `run` takes the flags themselves. */
  config?(flags: Values<F>, input: Input): Config;
  /** Without `show`, resolves to the exit code once the process should end. */
  run(config: Config, input: Input): Promise<Result>;
  /** The result as text, or in several formats of which the first is the default; json is always among them. */
  readonly show?: Show<Config, Result> | Readonly<Record<string, Show<Config, Result>>>;
  /** If undefined, 0. */
  exitCode?(result: Result, config: Config): number;
}

export type Invocation<Config> =
  /** To be printed instead of running the command: help, or the version. */
  | { readonly help: string }
  | {
      readonly help?: undefined;
      readonly config: Config;
      readonly input: Input;
      /** For standard error, one sentence each. */
      readonly warnings: readonly string[];
    };

/** A command as --help, completion and man pages show it. */
export interface CommandPage {
  readonly purpose: string;
  readonly words: string | undefined;
  readonly examples: readonly string[];
  readonly flags: Flags;
}

/** A command, or the module whose default export it is. */
type Load = () => Promise<Runnable | { readonly default: Runnable }>;
/** By name. Each is loaded only when it is called. */
export type Commands = Readonly<Record<string, readonly [summary: string, load: Load]>>;

export interface FamilyPage {
  readonly purpose: string;
  readonly commands: Commands;
}

/** A command, or a family of commands. */
export interface Runnable {
  page(program: string, env: Environment): CommandPage | FamilyPage;
  /** Resolves to the exit code. */
  run(program: string, argv: readonly string[], misuse?: number): Promise<number>;
}

export interface Command<Config> extends Runnable {
  /** `argv` without the program; throws a DrawbridgeError whose message is one sentence. */
  parse(argv: readonly string[], env: Environment, program: string): Invocation<Config>;
}

// biome-ignore lint/complexity/noBannedTypes: a command without flags
export function defineCommand<F extends Flags = {}, Config = Values<F>, Result = unknown>(
  definition: Definition<F, Config, Result>,
): Command<Config> {
  const formats = formatsOf(definition);
  const page = (program: string, env: Environment): CommandPage => {
    const { purpose, words, examples } = definition;
    const own = (typeof definition.flags === "function" ? definition.flags(env) : definition.flags) ?? ({} as F);
    const flags: Flags = {
      help: { ...yesNo(`help for ${program}`), shorthand: "h" },
      // Every command takes it; that each says so would be noise.
      version: { ...yesNo("drawbridge: Print version, commit, Node and platform."), hidden: program.includes(" ") },
      ...own,
      ...(formats === undefined ? {} : { output: outputFlag(Object.keys(formats)) }),
    };
    return { purpose, words, examples, flags };
  };
  const parse = (argv: readonly string[], env: Environment, program: string): Invocation<Config> => {
    const shown = page(program, env);
    const { flags, words } = shown;
    const parsed = parseFlags(flags, definition.takesOneDash ? argv.map((word) => withTwoDashes(word, flags)) : argv);
    const values = parsed.values as Values<F> & { help: boolean; version: boolean; output?: string };
    if (values.help) return { help: helpPage({ program, ...shown }) };
    if (values.version === true) return { help: versionOf(program, values.output) };
    const [stray] = parsed.words;
    if (words === undefined && stray !== undefined) throw refused(`${quote(stray)} belongs to no flag`);
    for (const [name, { required }] of Object.entries(flags)) {
      const value = (parsed.values as Readonly<Record<string, unknown>>)[propertyOf(name)];
      if (required !== undefined && value === "") throw missing(`--${name} is missing: ${required}`);
    }
    const warnings = [...parsed.warnings];
    const input: Input = {
      ...{ program, env, words: parsed.words, given: parsed.given, output: values.output ?? "text" },
      warn: (sentence) => warnings.push(sentence),
    };
    const config = definition.config === undefined ? (values as unknown as Config) : definition.config(values, input);
    return { config, input, warnings };
  };
  return {
    page,
    parse,
    async run(program, argv, misuse = MISUSE) {
      const tone = formats === undefined ? "text" : toneOf(argv);
      let invocation: Invocation<Config>;
      try {
        invocation = parse(argv, process.env, program);
      } catch (error) {
        complain(error, tone);
        return misuse;
      }
      if (invocation.help !== undefined) {
        print(invocation.help);
        return 0;
      }
      const { config, input, warnings } = invocation;
      for (const warning of warnings) warn(warning, tone);
      try {
        const result = await definition.run(config, input);
        if (formats === undefined) return Number(result);
        const shown = formats[input.output]!(result, config);
        print(typeof shown === "string" ? shown : `${safeJson(shown, 2)}\n`);
        return definition.exitCode?.(result, config) ?? 0;
      } catch (error) {
        complain(error, tone);
        // Some values are only read where they are used, a destination rule say; they are misuse all the same.
        return error instanceof DrawbridgeError && MISUSES.has(error.code) ? misuse : 1;
      }
    },
  };
}

const versionOf = (program: string, output: string | undefined): string =>
  output === "json" ? `${safeJson(versionFacts(), 2)}\n` : versionText(program);

const outputFlag = (formats: readonly string[]) => ({
  ...oneOf(formats, `Format of the result: ${formats.join(", ")}; json is for scripts.`, formats[0]!),
  shorthand: "o",
});

function formatsOf<F extends Flags, Config, Result>({ show }: Definition<F, Config, Result>) {
  if (show === undefined) return undefined;
  const json: Show<Config, Result> = (result) => result as object;
  const own = typeof show === "function" ? { text: show } : show;
  const formats: Readonly<Record<string, Show<Config, Result>>> = "json" in own ? own : { ...own, json };
  return formats;
}

/** `-serving-port=1` as `--serving-port=1`, where there is such a flag. */
function withTwoDashes(word: string, flags: Flags): string {
  const [, name = ""] = /^-([^-=][^=]*)/.exec(word) ?? [];
  return Object.hasOwn(flags, name) ? `-${word}` : word;
}

/** Upstream ignores such words silently, which hides `--enable-profiling false` (that is: true). */
export function warnOfWords(words: readonly string[], { warn }: Input): void {
  for (const word of words)
    warn(`${quote(word)} belongs to no flag and is ignored; write --flag=${word} if it was meant as a value`);
}

/** The one word that a command takes. */
export function onlyWord([word, more]: readonly string[], what: string): string {
  if (word === undefined) throw missing(`${what} is missing`);
  if (more !== undefined) throw refused(`${quote(more)} is one word too many: ${what} is enough`);
  return word;
}
