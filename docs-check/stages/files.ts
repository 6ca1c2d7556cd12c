/** A folder with Ignition configs, our programs and the real ignition, nothing else. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { requirePeer } from "../../peers/index.js";
import { component, equipped } from "../../test/support/lab/equipment.js";
import { onThisMachine, type StageKind } from "../stage.js";

const config = (files: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    ignition: { version: "3.2.0" },
    storage: {
      files: Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, contents: { source: text } })),
    },
  });

const CONFIGS = {
  "worker.ign": config({ "/etc/motd": "data:,a%20worker%0A" }),
  "extra.ign": config({ "/etc/extra": "data:,more%0A" }),
  "old.ign": config({ "/etc/motd": "data:,an%20old%20worker%0A" }),
  "user-data.ign": config({ "/etc/motd": "data:,a%20worker%0A" }),
};

export const files: StageKind = {
  equipped: async () => (await equipped({})) && requirePeer("ignition") !== undefined,
  async set(scope) {
    const here = scope.file("here");
    mkdirSync(here);
    for (const [name, text] of Object.entries(CONFIGS)) writeFileSync(join(here, name), text);
    return { hosts: { here: onThisMachine }, words: {}, env: { PATH: dirname(component("ignition")) }, steps: {} };
  },
};
