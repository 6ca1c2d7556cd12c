import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stringify } from "yaml";
import { readInstallDir } from "./install-dir.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "db-install-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const networking = { machineNetwork: [{ cidr: "10.0.0.0/16" }, { cidr: "fd00:1::/48" }] };

function putState(platform: object): void {
  const state = {
    "*installconfig.InstallConfig": { config: { networking, platform } },
    "*installconfig.ClusterID": { InfraID: "state-x7k2p", UUID: "0" },
  };
  writeFileSync(join(dir, ".openshift_install_state.json"), JSON.stringify(state));
}

test("after create manifests the state file has all facts", async () => {
  putState({ aws: { region: "us-east-2" } });
  expect(await readInstallDir(dir)).toEqual({
    infraId: "state-x7k2p",
    platform: "aws",
    machineNetworks: ["10.0.0.0/16", "fd00:1::/48"],
  });
});

test("after create ignition-configs metadata.json comes first", async () => {
  putState({ azure: {} });
  writeFileSync(
    join(dir, "metadata.json"),
    JSON.stringify({ infraID: "meta-x7k2p", azure: { cloudName: "AzureStackCloud" } }),
  );
  expect(await readInstallDir(dir)).toMatchObject({ infraId: "meta-x7k2p", platform: "azurestack" });
});

test("the rendered install configuration is enough for the facts", async () => {
  mkdirSync(join(dir, "manifests"));
  const config = stringify({ networking, platform: { powervc: {}, openstack: {} } });
  writeFileSync(
    join(dir, "manifests", "cluster-config.yaml"),
    stringify({ kind: "ConfigMap", data: { "install-config": config } }),
  );
  expect(await readInstallDir(dir)).toMatchObject({
    infraId: undefined,
    platform: "powervc",
    machineNetworks: ["10.0.0.0/16", "fd00:1::/48"],
  });
});

test.each(["", "null", "[]", "{", '{"*installconfig.InstallConfig":{}}'])(
  "a state file with %j tells nothing",
  async (text) => {
    writeFileSync(join(dir, ".openshift_install_state.json"), text);
    expect(await readInstallDir(dir)).toEqual({ infraId: undefined, platform: undefined, machineNetworks: [] });
  },
);
