/** `drawbridge workers list`: who there is, and whose configuration is behind. */
import type { Worker } from "../nodepool/workers/worker.js";
import { boolean } from "./flags/flag-value.js";
import { checkAccess, declareAccess, noWords, withObjects } from "./nodepool-flags.js";
import { table } from "./nodepool-report.js";
import { addOutput, runPlainCommand } from "./plain-command.js";
import { declareState, json, openState } from "./workers-flags.js";

const purpose = `Lists the workers that --state remembers, with the hash of the configuration they were given. A worker is behind when its pool
has another one now: replacing it (delete, create) brings it up to date. --offline asks no cluster.`;

interface Listed {
  readonly name: string;
  readonly pool: string;
  readonly zone: string;
  readonly provider: string;
  readonly made: boolean;
  readonly hash: string;
  /** Undefined: nobody was asked, or the pool is gone. */
  readonly behind: boolean | undefined;
}

export function workersList(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    declare: (set) => ({
      ...declareAccess(set),
      ...declareState(set),
      offline: set.add("offline", boolean, false, "Say what is remembered, and ask no cluster."),
      output: addOutput(set),
    }),
    check: (flags, words) => {
      noWords(words);
      checkAccess(flags);
    },
    run: async (flags) => {
      const workers = await (await openState(flags)).read();
      const pools = [...new Set(workers.map(({ pool }) => pool))];
      const hashes =
        flags.offline.value || pools.length === 0 ? new Map() : await withObjects(flags, (api) => hashesOf(api, pools));
      const listed = workers.map((worker) => listedOf(worker, hashes));
      process.stdout.write(flags.output.value === "json" ? json({ workers: listed }) : text(listed));
      return 0;
    },
  });
}

async function hashesOf(
  api: Parameters<typeof import("../nodepool/workers/pool-user-data.js").poolHash>[0],
  pools: readonly string[],
): Promise<Map<string, string>> {
  const { isPoolMissing, poolHash } = await import("../nodepool/workers/pool-user-data.js");
  const hashes = new Map<string, string>();
  for (const pool of pools) {
    const [namespace = "", name = ""] = pool.split("/");
    try {
      hashes.set(pool, (await poolHash(api, { namespace, name })).hash);
    } catch (reason) {
      if (!isPoolMissing(reason)) throw reason;
    }
  }
  return hashes;
}

function listedOf({ hash, made, name, pool, provider, zone }: Worker, hashes: ReadonlyMap<string, string>): Listed {
  const current = hashes.get(pool);
  const behind = current === undefined || current === "" ? undefined : current !== hash;
  return { name, pool, zone, provider, made, hash, behind };
}

function text(workers: readonly Listed[]): string {
  if (workers.length === 0) return "There are no workers.\n";
  const state = ({ behind }: Listed) => (behind === undefined ? "unknown" : behind ? "behind" : "current");
  return table([
    ["WORKER", "POOL", "ZONE", "PROVIDER", "MADE", "HASH", "CONFIGURATION"],
    ...workers.map((worker) => [
      worker.name,
      worker.pool,
      worker.zone || "-",
      worker.provider,
      worker.made ? "yes" : "no",
      worker.hash,
      state(worker),
    ]),
  ]);
}
