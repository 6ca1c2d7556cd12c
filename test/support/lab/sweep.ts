import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeCgroups } from "./node/cgroups.js";

/** In every folder that its lab means to remove itself; a folder that is kept on purpose has none. */
const MARK = ".lab";

export const markForRemoval = (folder: string): void => writeFileSync(join(folder, MARK), "");

let isSwept = false;

/** None where another lab, which begins at the same moment, has swept already. */
function nodesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((entry) => entry.startsWith("node-")) : [];
}

/** Removes the folders, and the control groups of the nodes in them, of labs whose process was killed. Once per process. */
export async function sweepDeadLabs(): Promise<void> {
  if (isSwept) return;
  isSwept = true;
  for (const name of readdirSync(tmpdir())) {
    const owner = /^db-(\d+)-/.exec(name)?.[1];
    const folder = join(tmpdir(), name);
    if (owner === undefined || existsSync(`/proc/${owner}`) || !existsSync(join(folder, MARK))) continue;
    for (const part of nodesIn(folder)) await removeCgroups(join(folder, part));
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
