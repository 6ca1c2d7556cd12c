/** The flags that a program was, or will be, started with, wherever they are written down. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { parse } from "yaml";
import { at, listOf } from "../../../base/at.js";

export interface CommandLine {
  /** Where it was read, for people. */
  readonly source: string;
  /** By name without dashes. */
  readonly flags: ReadonlyMap<string, string>;
}

/** Of a flag that is given twice the last value counts. */
export function commandLine(source: string, words: readonly string[]): CommandLine {
  const flags = new Map<string, string>();
  for (const [index, word] of words.entries()) {
    const [, name, value] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) continue;
    const next = words[index + 1];
    flags.set(name, value ?? (next === undefined || next.startsWith("-") ? "true" : next));
  }
  return { source, flags };
}

/** `proxy-server ...`, `node .../proxy-server ...`, `drawbridge server ...` */
export function isProxyServer(words: readonly string[]): boolean {
  const names = words.slice(0, 3).map((word) => basename(word));
  return names.includes("proxy-server") || names.some((name, i) => name === "drawbridge" && names[i + 1] === "server");
}

/** `kube-apiserver ...`, `hyperkube kube-apiserver ...` */
export function isApiServer(words: readonly string[]): boolean {
  return words.slice(0, 2).some((word) => basename(word) === "kube-apiserver");
}

/** A container of a pod, as far as it says what runs in it. */
export interface ProgramContainer {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

export function roleOf({ name = "", command = [], args = [] }: ProgramContainer): "server" | "agent" | undefined {
  const program = basename(command[0] ?? args[0] ?? "");
  if (program === "proxy-server" || name === "konnectivity-server") return "server";
  return program === "proxy-agent" || name === "konnectivity-agent" ? "agent" : undefined;
}

/** Command and arguments of a pod's first container. */
export function containerWords(pod: unknown): string[] {
  const container = at(pod, "spec", "containers", 0);
  return [...listOf(at(container, "command")), ...listOf(at(container, "args"))].map(String);
}

/** The words of a systemd unit's ExecStart, as our own unit writes them; undefined when it has none. */
export function unitWords(unit: string): string[] | undefined {
  const command = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(unit)?.[1];
  return command
    ?.replaceAll("\\\n", " ")
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => word.replace(/^"|"$/g, "").replaceAll("%%", "%").replaceAll("$$", "$"));
}

/** Undefined when the file is missing or cannot be read. */
export async function textAt(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

/** Undefined when it is not YAML. */
export function yamlOf(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
