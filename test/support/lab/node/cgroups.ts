import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "../wait.js";

const CGROUPS = "/sys/fs/cgroup";
/** Where containerd's CRI plugin keeps a folder for every container it has made. */
const CRI_STATE = "containerd/io.containerd.grpc.v1.cri";

/** Of the group with all pods: that many threads outside of it. */
const PODS_ARE_WORTH = 16;

/**
 * Pods of all labs together would get no more time than one thread of any other program: of a busy machine next to
 * nothing, whatever they ask for.
 */
export function giveTimeToPods(): void {
  const shares = join(CGROUPS, "cpu", "k8s.io", "cpu.shares");
  const weight = join(CGROUPS, "k8s.io", "cpu.weight");
  const isFirst = existsSync(join(CGROUPS, "cpu", "cpu.shares"));
  try {
    mkdirSync(dirname(isFirst ? shares : weight), { recursive: true });
    if (isFirst) writeFileSync(shares, String(PODS_ARE_WORTH * 1024));
    else if (existsSync(weight)) writeFileSync(weight, String(PODS_ARE_WORTH * 100));
  } catch {
    // A machine that does not let it be set is as fast as it is.
  }
}

/** Killed containers leave their control groups behind, empty and named after the container. */
export async function removeCgroups(nodeFolder: string): Promise<void> {
  const ids = ["sandboxes", "containers"].flatMap((kind) => list(join(nodeFolder, CRI_STATE, kind)));
  // Either one tree (version 2) or a folder per hierarchy (version 1).
  for (const hierarchy of [".", ...list(CGROUPS)]) {
    for (const id of ids) {
      const path = join(CGROUPS, hierarchy, "k8s.io", id);
      // The processes are dead, but the kernel may still be counting them out.
      if (existsSync(path)) await until(`${path} to be empty`, 30_000, () => !existsSync(path) || removeTree(path));
    }
    removeUnlessUsed(join(CGROUPS, hierarchy, "k8s.io"));
  }
}

/** A group goes only after the groups inside it; the files in it are not there to be deleted. */
function removeTree(path: string): true {
  for (const name of list(path)) {
    const child = join(path, name);
    if (statSync(child).isDirectory()) removeTree(child);
  }
  rmdirSync(path);
  return true;
}

/** The group above them all is shared with every other node on this machine. */
function removeUnlessUsed(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Not there, or another node's containers are in it.
  }
}

const list = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
