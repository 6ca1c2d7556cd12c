/** Reading files that may be missing, unreadable or somebody else's. */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";

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

export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  );
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Command and arguments of a pod's first container. */
export function containerWords(pod: unknown): string[] {
  const container = at(pod, "spec", "containers", 0);
  return [...listOf(at(container, "command")), ...listOf(at(container, "args"))].map(String);
}
