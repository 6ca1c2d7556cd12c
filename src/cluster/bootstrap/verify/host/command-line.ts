/** What a process was, or will be, started with. */
import { basename } from "node:path";

export interface CommandLine {
  /** Where it was read, for people. */
  readonly source: string;
  /** By name without dashes. */
  readonly flags: ReadonlyMap<string, string>;
}

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
