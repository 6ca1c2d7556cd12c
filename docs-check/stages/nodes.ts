/**
 * A cluster with a pool's controller, an Ignition server, a signer and a scheduler, and a hypervisor with two commands of its
 * own, virt-make and virt-remove. All of it is real but the machines (test/e2e/workers-machines.ts).
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { PAYLOAD, POOL } from "../../demo/nodes/pool.js";
import { poolStandings } from "../../src/cluster/nodes/controller/status.js";
import { sshMachineConfig } from "../../src/cluster/nodes/payload/testing/ingredients.js";
import type { Lab } from "../../test/e2e/csr-lab.js";
import { NAMESPACE, startHouse } from "../../test/e2e/workers-lab.js";
import { Authority } from "../../test/support/lab/certificates.js";
import { component, equipped } from "../../test/support/lab/equipment.js";
import type { Scope } from "../../test/support/lab/scope.js";
import { until } from "../../test/support/lab/wait.js";
import { freePort } from "../../test/support/processes/ports.js";
import { onThisMachine, type StageKind } from "../stage.js";

const IGNITION_HOST = "127.0.0.1";
const PAYLOAD_WITHIN_MS = 60_000;

export const nodes: StageKind = {
  equipped: () => equipped({ controlPlane: true, bridge: true }),
  async set(scope) {
    const { lab, machines, poolFile } = await startHouse(scope);
    const here = scope.file("here");
    mkdirSync(here);
    const pool = readFileSync(poolFile, "utf8");
    const authority = readFileSync(lab.plane.ca.cert, "utf8");
    writeFileSync(join(here, "pool.yaml"), asReadersHaveIt(pool, authority));
    copyFileSync(lab.plane.adminConfig, join(here, "admin.kubeconfig"));
    writeFileSync(join(here, "payload.yaml"), PAYLOAD);
    new Authority(here, "ca").issue({ file: "tls", name: "ignition-server", use: "server", ips: [IGNITION_HOST] });
    const words: Record<string, string> = {
      PORT: String(await freePort()),
      "METRICS-PORT": String(await freePort()),
      "ignition.example": IGNITION_HOST,
    };
    return {
      hosts: { here: onThisMachine },
      words,
      env: {
        KUBECONFIG: lab.plane.adminConfig,
        PATH: [hypervisorCommands(scope, machines), dirname(component("kubectl"))].join(delimiter),
      },
      steps: {
        // The hash in pages is the one that the pool had before.
        "a pool that changes": async () => {
          await lab.plane.admin.run(["apply", "-f", "-"], pool);
          words["83935368"] = await hashWithPayload(lab);
          await changePool(lab);
          await hashWithPayload(lab, words["83935368"]);
        },
      },
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

async function changePool({ plane }: Lab): Promise<void> {
  const name = "workers-config";
  const metadata = { name, namespace: NAMESPACE };
  await plane.admin.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { config: sshMachineConfig } });
  const patch = JSON.stringify({ spec: { config: [{ name }] } });
  await plane.admin.run(["patch", "nodepool", POOL, "-n", NAMESPACE, "--type=merge", "-p", patch]);
}

/** The hash under which the pool has a payload, once it is another one than before. */
function hashWithPayload({ admin }: Lab, before = ""): Promise<string> {
  return until("the pool's payload", PAYLOAD_WITHIN_MS, async () => {
    const [pool] = await poolStandings(admin, NAMESPACE);
    const isMade = pool?.tokens.some(({ current, payload }) => current && payload === "AsExpected");
    return isMade && pool?.hash !== before ? pool?.hash : undefined;
  });
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
