/** What no place may ever say, whichever mistake was made. */
import type { Stage } from "./stage.js";

export interface Said {
  readonly place: string;
  readonly text: string;
}

/** Flags by command, as their own --help lists them: `pki renew` → `--all`, ... */
export type KnownFlags = Readonly<Record<string, readonly string[]>>;

const STACK = /^\s+at .*(?:\.[cm]?js|node:[\w/]+):\d+/m;
/** Every port of a stage is another one. */
const DEFAULT_PORT = /(?<![\w.-])809[0-5](?![\w.-]*\d)/;
/** A process, or a file by its length, may have such a number by chance. */
const OTHER_NUMBER = /(?<=^[IWEF]\d{4} \S+ +)\d+(?=\])|(?<=\bprocess )\d+|(?<="pid":)\d+|\d+(?= bytes\b)/gm;
const TIMED_OUT = /i\/o timeout/;
const NOBODY =
  /no (?:request|agent|peer|caller|connection)s? (?:was|were|has been) (?:refused|turned away|rejected)|nobody (?:was|has been)/i;
const REFUSED =
  /^(?:konnectivity_network_proxy_server|drawbridge_server)_[a-z_]*(?:rejected|refused)[a-z_]*(?:\{[^}]*\})? ([1-9]\d*)/m;
const SERVER_REACHABLE = /^ok\s+server-reachable/m;
/** A complaint of a command of ours begins with the program's name or "Error:". */
const COMPLAINT = /^(?:drawbridge|proxy-server|proxy-agent|Error): .*/gm;

/** Commands of others that our remedies name, with the flags that we give them. */
const OTHERS = new Set(
  "--kubeconfig --help --namespace --all --noout --text --data-urlencode --egress-selector-config-file --context --network".split(
    " ",
  ),
);

export interface Allowed {
  readonly timesOut?: boolean | undefined;
  readonly quotes?: readonly string[] | undefined;
  readonly known: KnownFlags;
}

/** Sentences about what is not so, empty when all is true. */
export async function untruths(
  stage: Stage,
  said: readonly Said[],
  { timesOut = false, quotes = [], known }: Allowed,
): Promise<string[]> {
  const found: string[] = [];
  const isConnected = await stage.isAgentConnected();
  const hasRefused = REFUSED.exec((await stage.serverMetrics()) ?? "")?.[0];
  for (const { place, text } of said) {
    const say = (what: string, match: string): void =>
      void found.push(`${place} ${what}: ${match.trim().slice(0, 300)}`);
    const matches = (pattern: RegExp, what: string, within = text): void => {
      const line = lineOf(within, pattern);
      if (line !== undefined) say(what, line);
    };
    matches(STACK, "shows a stack trace");
    matches(DEFAULT_PORT, "names a port that nobody configured", text.replaceAll(OTHER_NUMBER, ""));
    if (!timesOut) matches(TIMED_OUT, "speaks of a time-out, and nothing timed out");
    if (isConnected === false)
      matches(SERVER_REACHABLE, "says that the server is reachable, and the agent is not connected");
    if (hasRefused !== undefined) matches(NOBODY, `says so while the metric is "${hasRefused}"`);
    for (const [complaint] of text.matchAll(COMPLAINT))
      if (!/DB_[A-Z_]+/.test(complaint)) say("gives an error without a code", complaint);
    for (const flag of strangeFlags(text, known).filter((each) => !quotes.includes(each)))
      say("names a flag that does not exist", flag);
  }
  return found;
}

export function lineOf(text: string, pattern: RegExp): string | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const from = text.lastIndexOf("\n", match.index) + 1;
  const to = text.indexOf("\n", match.index + match[0].length);
  return text.slice(from, to === -1 ? undefined : to);
}

/** Flags behind the name of a command must be that command's; elsewhere they must be somebody's. */
export function strangeFlags(text: string, known: KnownFlags): string[] {
  const anyone = new Set(Object.values(known).flat());
  const strange = new Set<string>();
  for (const [flag] of text.matchAll(/(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9](?!\w)/g))
    if (!anyone.has(flag) && !OTHERS.has(flag)) strange.add(flag);
  for (const [, line = ""] of text.matchAll(/\bdrawbridge ([a-z][^\n;,:()]*)/g)) {
    const words = line.split(" ");
    const command = commandIn(words, known);
    if (command === undefined) continue;
    for (const word of words.slice(command.split(" ").length)) {
      // Up to the first word that neither is a flag nor can be a value.
      if (!/^(?:--?[a-z]|[A-Z0-9"'./])/.test(word)) break;
      const flag = /^--[a-z][a-z0-9-]*/.exec(word)?.[0];
      if (flag !== undefined && !known[command]!.includes(flag)) strange.add(`drawbridge ${command} ${flag}`);
    }
  }
  return [...strange];
}

/** The longest command that these words begin with. */
function commandIn(words: readonly string[], known: KnownFlags): string | undefined {
  for (let count = Math.min(words.length, 2); count > 0; count--) {
    const command = words.slice(0, count).join(" ");
    if (known[command] !== undefined) return command;
  }
  return undefined;
}
