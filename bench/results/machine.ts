import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { pinnedVersion } from "../../peers/cache.js";
import { builtPeers } from "../../peers/catalogue.js";

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  /** Version of upstream's server and agent. */
  readonly upstream: string;
  /** Runnable processes before the first run: above 1 the machine was not quiet. */
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  const upstream = builtPeers.find((peer) => peer.name === "proxy-server");
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    upstream: upstream ? pinnedVersion(upstream) : "unknown",
    loadBefore: loadavg()[0] ?? 0,
  };
}

/** The most files a process started from here may open; thousands of tunnels need two for each. */
export function openFileLimit(): number {
  const [, soft = "0"] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}
