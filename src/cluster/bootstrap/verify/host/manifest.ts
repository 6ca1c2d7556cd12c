/** Reading files that may be missing, unreadable or somebody else's. */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { at, listOf } from "../../../../base/at.js";

export async function textAt(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Undefined when it is not YAML. */
export function yamlOf(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Command and arguments of a pod's first container. */
export function containerWords(pod: unknown): string[] {
  const container = at(pod, "spec", "containers", 0);
  return [...listOf(at(container, "command")), ...listOf(at(container, "args"))].map(String);
}
