import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Everything a pod's container wrote, over all its restarts, read from the node's disk. Empty when there is none yet. */
export function readPodLog(folder: string, namespace: string, pod: string, container: string): string {
  // <namespace>_<pod>_<uid>/<container>/<restart>.log, each line "<time> <stream> <F or P> <text>".
  const pods = list(folder).filter((name) => name.startsWith(`${namespace}_${pod}_`));
  const files = pods.flatMap((name) => {
    const place = join(folder, name, container);
    return list(place)
      .filter((file) => file.endsWith(".log"))
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
      .map((file) => join(place, file));
  });
  return files.map((file) => textOf(readFileSync(file, "utf8"))).join("");
}

function textOf(log: string): string {
  const lines = log.split("\n").slice(0, -1);
  return lines
    .map((line) => /^\S+ \S+ ([FP]) ?(.*)$/.exec(line))
    .map((match) => `${match?.[2] ?? ""}${match?.[1] === "P" ? "" : "\n"}`)
    .join("");
}

const list = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
