/** Machines that a command of the user's own makes and removes. */
import { workersError } from "../workers/worker.js";
import type { Machine, Provider } from "./provider.js";
import { ALL_SETTINGS, settingFlag } from "./settings.js";

export const command: Provider = {
  settings: ALL_SETTINGS,
  steps(verb, worker, userData) {
    const template = verb === "create" ? worker.createCommand : worker.deleteCommand;
    if (template.length > 0) return [{ command: renderCommand(template, worker, userData) }];
    if (verb === "delete" && worker.removedByCommand !== true) return [];
    const why = "commands stay on the disk of whoever gave them, and are not in this --state";
    throw workersError(
      `which command ${verb === "create" ? "makes" : "removes"} ${worker.name}? ${why}: give --${verb}-command`,
    );
  },
};

/** The placeholders of --create-command and --delete-command. */
const placeholderValues: Readonly<Record<string, (worker: Machine, userData: string) => string>> = {
  name: ({ name }) => name,
  pool: ({ pool }) => pool,
  zone: ({ zone }) => zone,
  userdata: (_, userData) => userData,
  ...Object.fromEntries(ALL_SETTINGS.map((key) => [settingFlag(key), ({ shape }: Machine) => shape[key]])),
};

/** `{name} {pool} ...`. */
export const PLACEHOLDERS_TEXT = Object.keys(placeholderValues)
  .map((name) => `{${name}}`)
  .join(" ");

const PLACEHOLDER = /\{([a-z-]+)\}/g;

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
  if (text.slice(end).trim() !== "") throw workersError(`a quote is not closed: ${text.slice(end).trim()}`);
  if (words.length === 0) throw workersError("the command is empty");
  const unknown = [...text.matchAll(PLACEHOLDER)].find(([, name = ""]) => !Object.hasOwn(placeholderValues, name));
  if (unknown !== undefined) throw workersError(`${unknown[0]} is not known; there are ${PLACEHOLDERS_TEXT}`);
  return words;
}

function renderCommand(template: readonly string[], worker: Machine, userData: string): string[] {
  return template.map((word) =>
    word.replace(PLACEHOLDER, (all, key: string) => placeholderValues[key]?.(worker, userData) ?? all),
  );
}
