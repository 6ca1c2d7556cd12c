/** A hosted cluster from its first pod on, and what its callers notice of roll-outs. */
import { type LabStory, playInLab, requireMeans } from "../lab-story.js";
import type { Options } from "../options.js";
import { beginCalls, killPod, rollApiServers } from "./scenes.js";
import { applyHosted, callDirectly, startCluster, tidyUp } from "./setting.js";
import { HOSTED_TITLES } from "./titles.js";

export async function playHosted(options: Options): Promise<never> {
  await requireMeans("--hosted", { bridge: true });
  return playInLab(
    {
      titles: HOSTED_TITLES,
      heading: "a hosted control plane is rolled out while its callers go on and on, and none of their calls fails",
      means: "one machine as four hosts: two real clusters, one of which runs the other's control plane as pods",
      play,
    },
    options,
  );
}

async function play(story: LabStory<keyof typeof HOSTED_TITLES>): Promise<void> {
  const cluster = await story.step("lab", 240, (show) => startCluster(story, show));
  await story.step("direct", 60, (show) => callDirectly(cluster, show));
  await story.step("tunnel", 240, (show) => applyHosted(cluster, show));
  const traffic = await story.step("calls", 120, (show) => beginCalls(cluster, show));
  await story.step("apiServers", 300, (show) => rollApiServers(cluster, traffic, show));
  await story.step("killed", 120, (show) => killPod(cluster, traffic, show));
  await story.step("tidyUp", 90, (show) => tidyUp(cluster, show));
}
