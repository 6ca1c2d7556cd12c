import { inNamespace } from "../test/support/lab/process.js";
import type { Scope } from "../test/support/lab/scope.js";

/** Makes of a command the one that runs it on a host. */
export type Way = (command: readonly string[]) => readonly string[];

/** By the host's network; files are this machine's. */
export const inNetworkOf =
  (netns: string): Way =>
  (command) =>
    inNamespace(netns, command);

export const onThisMachine: Way = (command) => command;

/** Where a page's commands are run: a folder, hosts, and what its words stand for here. */
export interface Fixture {
  readonly scope: Scope;
  /** By the names that pages use; the first is where commands run unless a page says otherwise. */
  readonly hosts: Readonly<Record<string, Way>>;
  /** What whole words of a page's commands stand for here. */
  readonly words: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** What the reader's surroundings do in the course of a page: a restarted kube-apiserver, a load balancer. */
  readonly steps: Readonly<Record<string, () => Promise<unknown>>>;
}

export interface FixtureKind {
  /** Whether this machine can have it; says in one line why not. */
  readonly equipped: () => Promise<boolean>;
  /** Whatever is made belongs to the scope, also when it fails. */
  readonly set: (scope: Scope) => Promise<Omit<Fixture, "scope">>;
}

/** A command with its words filled in. Names of variables are left alone. */
export function filledIn(text: string, words: Readonly<Record<string, string>>): string {
  const names = Object.keys(words).sort((a, b) => b.length - a.length);
  if (names.length === 0) return text;
  const pattern = new RegExp(`(?<![\\w$-]|\\$\\{)(${names.join("|")})(?![\\w=])`, "g");
  return text.replace(pattern, (name) => words[name] ?? name);
}
