import { fileURLToPath } from "node:url";

/** The command that runs one of the demo's own programs. */
export function typescript(program: URL): string[] {
  const runner = new URL("../../scripts/with-tsx.mjs", import.meta.url);
  return [process.execPath, fileURLToPath(runner), fileURLToPath(program)];
}
