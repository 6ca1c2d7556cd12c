/** Install directories as openshift-install leaves them, one after each of its two commands; nothing boots. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { awsCluster, INFRA } from "../../src/cluster/bootstrap/firewall/testing/manifests.js";
import { bootstrapIgnition } from "../../test/support/ignition-fixtures/ignition.js";
import { shapes } from "../../test/support/ignition-fixtures/releases.js";
import { equipped } from "../../test/support/lab/equipment.js";
import type { Scope } from "../../test/support/lab/scope.js";
import { onThisMachine, type StageKind } from "../stage.js";

export const openshift: StageKind = {
  equipped: () => equipped({}),
  async set(scope) {
    return {
      hosts: { here: onThisMachine },
      words: { DIR: afterIgnitionConfigs(scope), INSTALLDIR: afterManifests(scope) },
      env: {},
      steps: {},
    };
  },
};

function afterIgnitionConfigs(scope: Scope): string {
  const dir = scope.file("install");
  mkdirSync(dir);
  writeFileSync(join(dir, "bootstrap.ign"), bootstrapIgnition(shapes["4.18"]), { mode: 0o640 });
  return dir;
}

function afterManifests(scope: Scope): string {
  const dir = scope.file("manifests");
  mkdirSync(join(dir, "cluster-api"), { recursive: true });
  writeFileSync(join(dir, "cluster-api", "02_infra-cluster.yaml"), awsCluster());
  const config = {
    networking: { machineNetwork: [{ cidr: "10.0.0.0/16" }] },
    platform: { aws: { region: "us-east-2" } },
  };
  const state = { "*installconfig.InstallConfig": { config }, "*installconfig.ClusterID": { InfraID: INFRA } };
  writeFileSync(join(dir, ".openshift_install_state.json"), JSON.stringify(state), { mode: 0o640 });
  return dir;
}
