/** An install directory as openshift-install leaves it after `create ignition-configs`; nothing boots. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bootstrapIgnition } from "../../test/support/ignition-fixtures/ignition.js";
import { shapes } from "../../test/support/ignition-fixtures/releases.js";
import { equipped } from "../../test/support/lab/equipment.js";
import { onThisMachine, type StageKind } from "../stage.js";

export const openshift: StageKind = {
  equipped: () => equipped({}),
  async set(scope) {
    const dir = scope.file("install");
    mkdirSync(dir);
    writeFileSync(join(dir, "bootstrap.ign"), bootstrapIgnition(shapes["4.18"]), { mode: 0o640 });
    return { hosts: { here: onThisMachine }, words: { DIR: dir }, env: {}, steps: {} };
  },
};
