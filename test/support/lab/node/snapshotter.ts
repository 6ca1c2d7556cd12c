import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../run.js";
import type { Snapshotter } from "./configuration.js";

/** Overlays where the kernel and the file system allow them; otherwise whole copies, slower and larger, always work. */
export async function chooseSnapshotter(folder: string): Promise<Snapshotter> {
  const trial = join(folder, "overlay-trial");
  const [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map((name) => join(trial, name));
  for (const path of [lower, upper, work, merged]) mkdirSync(path as string, { recursive: true });
  const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
  // In a mount namespace of its own, which ends with the command.
  const { code } = await run(["unshare", "--mount", "mount", "-t", "overlay", "lab", "-o", layers, merged as string]);
  return code === 0 ? "overlayfs" : "native";
}
