/**
 * A cluster with a pool's controller, an Ignition server, a signer and a scheduler, and a hypervisor with two commands of its
 * own, virt-make and virt-remove. All of it is real but the machines (test/e2e/workers-machines.ts).
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { startHouse } from "../../test/e2e/workers-lab.js";
import { component, equipped } from "../../test/support/lab/equipment.js";
import type { Scope } from "../../test/support/lab/scope.js";
import { onThisMachine, type StageKind } from "../stage.js";

export const nodes: StageKind = {
  equipped: () => equipped({ controlPlane: true, bridge: true }),
  async set(scope) {
    const { lab, machines, poolFile } = await startHouse(scope);
    const here = scope.file("here");
    mkdirSync(here);
    const authority = readFileSync(lab.plane.ca.cert, "utf8");
    writeFileSync(join(here, "pool.yaml"), asReadersHaveIt(readFileSync(poolFile, "utf8"), authority));
    copyFileSync(lab.plane.adminConfig, join(here, "admin.kubeconfig"));
    return {
      hosts: { here: onThisMachine },
      words: {},
      env: {
        KUBECONFIG: lab.plane.adminConfig,
        PATH: [hypervisorCommands(scope, machines), dirname(component("kubectl"))].join(delimiter),
      },
      steps: {},
    };
  },
};

/** With the API's own authority, and without the machines' common credential: readers make that themselves. */
function asReadersHaveIt(pool: string, authority: string): string {
  const documents = parseAllDocuments(pool).filter((document) => document.get("kind") !== "Secret");
  for (const document of documents) {
    if (document.hasIn(["data", "apiServerCA"])) document.setIn(["data", "apiServerCA"], authority);
  }
  return documents.map((document) => document.toString({ directives: false })).join("---\n");
}

/** A machine runs for as long as its user data lies in the folder. */
function hypervisorCommands(scope: Scope, machines: string): string {
  const folder = scope.file("bin");
  mkdirSync(folder);
  const command = (name: string, script: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\nset -eu\n${script}\n`, { mode: 0o755 });
  command("virt-make", `[ -e ${machines}/$2 ] || { cp $4 ${machines}/.$2 && mv ${machines}/.$2 ${machines}/$2; }`);
  command("virt-remove", `rm -f ${machines}/$1`);
  return folder;
}
