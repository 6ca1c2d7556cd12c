import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { command } from "./command.js";

const FOLDER = "/run/netns";
const living = new Set<Namespace>();
let isGuarded = false;

/** One network namespace of this process: loopback is up, nothing else is in it. */
export class Namespace {
  readonly name: string;
  readonly path: string;

  constructor(name: string) {
    this.name = name;
    this.path = `${FOLDER}/${name}`;
  }

  /** Starts a program inside. nsenter becomes the program, so the child's pid is the program's own. */
  exec(argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
    return spawn("nsenter", [`--net=${this.path}`, "--", ...argv], options);
  }

  /** Runs a program inside to its end and returns what it printed. */
  run(...argv: readonly string[]): Promise<string> {
    return command("nsenter", `--net=${this.path}`, "--", ...argv);
  }

  /** Ends whatever still runs inside, then removes the namespace with its interfaces. */
  async destroy(): Promise<void> {
    if (!living.delete(this)) return;
    destroyByName(this.name);
  }
}

/** Makes `db-<pid>-<name>`. It goes away with destroy, destroyAll, or at the latest with this process or the next run. */
export async function createNamespace(name: string): Promise<Namespace> {
  guard();
  const namespace = new Namespace(`db-${process.pid}-${name}`);
  await command("ip", "netns", "add", namespace.name);
  living.add(namespace);
  await command("ip", "-n", namespace.name, "link", "set", "lo", "up");
  return namespace;
}

export async function destroyAll(): Promise<void> {
  await Promise.all([...living].map((namespace) => namespace.destroy()));
}

/** A killed process cannot tidy up, so each first user also removes what dead ones left behind. */
function guard(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.once("exit", () => {
    for (const namespace of living) destroyByName(namespace.name);
  });
  if (!existsSync(FOLDER)) return;
  for (const name of readdirSync(FOLDER)) {
    const owner = /^db-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !existsSync(`/proc/${owner}`)) destroyByName(name);
  }
}

/** Synchronous because an exit handler can do nothing else; it takes milliseconds. */
function destroyByName(name: string): void {
  const inside = spawnSync("ip", ["netns", "pids", name], { encoding: "utf8" }).stdout ?? "";
  for (const pid of inside.split("\n").filter(Boolean)) endProcess(Number(pid));
  spawnSync("ip", ["netns", "delete", name]);
}

function endProcess(pid: number): void {
  // A worker that moved itself into the namespace must not end itself.
  if (pid === process.pid) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself between the listing and now.
  }
}
