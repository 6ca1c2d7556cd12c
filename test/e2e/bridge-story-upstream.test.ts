/** Upstream's Go server and agents in the same manifests, raised and taken away by the same commands. */
import { expect, test } from "vitest";
import { component, equipped } from "../support/lab/equipment.js";
import { run } from "../support/lab/run.js";
import { executable } from "../support/processes/executables.js";
import { tellStory } from "./bridge-story.js";

const ready = await equipped({ bridge: true, upstream: true });

test.skipIf(!ready).each(["ours", "theirs"] as const)(
  "S2: the server (%s) refuses a socket while its TCP port is open, which is why the manifests close it",
  async (origin) => {
    const { code, stderr } = await run([executable(origin, "proxy-server"), "--uds-name=/nowhere/k.sock"]);
    expect(stderr).toContain("server port should be set to 0 not 8090 for UDS");
    expect(code).toBe(1);
  },
);

tellStory({
  title: "a bridge of upstream's programs",
  ready,
  programs: async (lab) => [
    ...["--image-kind=upstream", `--agent-image=${await lab.importUpstreamImage()}`],
    `--server-program=${component("proxy-server")}`,
  ],
});
