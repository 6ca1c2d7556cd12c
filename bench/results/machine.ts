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

/** The name alone does not tell virtual machines apart: of two kinds of processor both may be called "Intel(R) Xeon(R) Processor". */
export function processorName(cpuinfo = readFileSync("/proc/cpuinfo", "utf8")): string {
  const value = (key: string) => new RegExp(`^${key}\\s*: (.*)$`, "m").exec(cpuinfo)?.[1]?.trim();
  const [name, family, model] = [value("model name"), value("cpu family"), value("model")];
  if (name === undefined) return cpus()[0]?.model.trim() ?? "unknown";
  return family === undefined || model === undefined ? name : `${name} (family ${family}, model ${model})`;
}

/** In one line, for the head of a report. */
export const machineText = ({ processor, cores, memoryGiB, kernel, node }: Machine): string =>
  `${processor}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, Node ${node.replace(/^v/, "")}`;

export function describeMachine(): Machine {
  const upstream = builtPeers.find((peer) => peer.name === "proxy-server");
  return {
    processor: processorName(),
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
