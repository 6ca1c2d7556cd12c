/** Commands that make and remove machines: rendered for each worker and run without a shell, so that nothing is taken apart twice. */
import { execFile } from "node:child_process";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Worker } from "./worker.js";

export const placeholders = [
  "name",
  "pool",
  "zone",
  "userdata",
  "machine-type",
  "disk",
  "subnet",
  "image",
  "image-project",
  "project",
] as const;

const TIMEOUT_MS = 15 * 60_000;

/** Words are separated by blanks unless quoted; there are no variables and no escapes but \ inside double quotes. */
export function splitCommand(text: string): string[] {
  const words: string[] = [];
  const pattern = /\s*((?:'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"])+)/gy;
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    words.push(
      match[1]!.replace(
        /'([^']*)'|"((?:\\.|[^"\\])*)"/g,
        (_, single, double) => single ?? double.replace(/\\(.)/g, "$1"),
      ),
    );
    end = match.index + match[0].length;
  }
  if (text.slice(end).trim() !== "") throw unusable(`a quote is not closed: ${text.slice(end).trim()}`);
  if (words.length === 0) throw unusable("the command is empty");
  const unknown = [...text.matchAll(/\{([a-z-]+)\}/g)].find(
    ([, name]) => !placeholders.some((known) => known === name),
  );
  if (unknown !== undefined) {
    throw unusable(`${unknown[0]} stands for nothing; there are ${placeholders.map((name) => `{${name}}`).join(" ")}`);
  }
  return words;
}

export function renderCommand(
  template: readonly string[],
  { name, pool, shape, zone }: Worker,
  userdata: string,
): string[] {
  const values: Readonly<Record<string, string>> = {
    name,
    pool,
    zone,
    userdata,
    "machine-type": shape.machineType,
    disk: shape.diskGb,
    subnet: shape.subnet,
    image: shape.image,
    "image-project": shape.imageProject,
    project: shape.project,
  };
  return template.map((word) => word.replace(/\{([a-z-]+)\}/g, (all, key: string) => values[key] ?? all));
}

/** As a person could type it. */
export function shellText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

export async function runCommand(worker: string, words: readonly string[]): Promise<void> {
  const [program = "", ...args] = words;
  await new Promise<void>((resolve, reject) => {
    execFile(program, args, { timeout: TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const said = stderr.trim().split("\n").at(-1) || error.message.split("\n")[0];
      reject(unusable(`${program} failed for ${worker}: ${said}`));
    });
  });
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_WORKERS", sentence);
}
