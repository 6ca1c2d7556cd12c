/** The processes that share this host's network, as both ends of the bridge do. */
import { readdir, readFile, readlink } from "node:fs/promises";

export type Processes = () => Promise<readonly (readonly string[])[]>;

/** The command of each; none where /proc does not tell. */
export const hostProcesses: Processes = async () => {
  try {
    const own = await readlink("/proc/self/ns/net");
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const commands = await Promise.all(pids.map((pid) => commandOf(pid, own)));
    return commands.filter((words) => words !== undefined);
  } catch {
    return [];
  }
};

/** Undefined when it is another network's, nobody's business, or gone. */
async function commandOf(pid: string, network: string): Promise<string[] | undefined> {
  try {
    if ((await readlink(`/proc/${pid}/ns/net`)) !== network) return undefined;
    const words = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0").slice(0, -1);
    return words.length === 0 ? undefined : words;
  } catch {
    return undefined;
  }
}
