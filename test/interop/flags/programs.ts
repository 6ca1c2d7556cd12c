import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { requirePeer } from "../../../peers/index.js";

export type Program = "proxy-server" | "proxy-agent";
export const programs: readonly Program[] = ["proxy-server", "proxy-agent"];

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Run = (...argv: string[]) => Outcome;

/** Both would otherwise show a new random ID in --help. */
const env = { ...process.env, PROXY_SERVER_ID: "the-server", PROXY_AGENT_ID: "the-agent" };

/** Undefined when the Go original is not there; the reason has been printed. */
export function theirs(program: Program): Run | undefined {
  const path = requirePeer(program);
  return path === undefined ? undefined : (...argv) => run(path, argv);
}

/** What `npm run build` made, or the sources while that does not exist. */
export function ours(program: Program): Run {
  const built = fileURLToPath(new URL(`../../../dist/bin/${program}`, import.meta.url));
  const source = fileURLToPath(new URL(`../../../src/cli/${program}.ts`, import.meta.url));
  return existsSync(built)
    ? (...argv) => run(process.execPath, [built, ...argv])
    : (...argv) => run(process.execPath, ["--import", "tsx", source, ...argv]);
}

export function run(command: string, argv: readonly string[]): Outcome {
  const { status, stdout, stderr, error } = spawnSync(command, argv, { encoding: "utf8", env, timeout: 20_000 });
  if (error) throw error;
  return { status, stdout, stderr };
}
