import type { UnusedFiles } from "../events/facts.js";
import type { FileProblem } from "./followed-files.js";

/** None while everything on disk is in use. Empty and missing paths are left out. */
export function unusedFilesOf(
  use: string,
  files: readonly (string | undefined)[],
  problem: FileProblem | undefined,
): readonly UnusedFiles[] {
  if (problem === undefined) return [];
  const { error, at: sinceAt } = problem;
  const named = files.filter((file): file is string => file !== undefined && file !== "");
  return [{ use, files: named, code: error.code, reason: error.message.replace(/\.$/, ""), sinceAt }];
}
