import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Authority, createAuthority } from "../../../tunnel/pki/issue.js";
import type { ServedApi } from "./aggregated-apis.js";
import { checkConfig } from "./config.js";

let authority: Authority;
let directory: string;
beforeAll(async () => {
  authority = await createAuthority({ commonName: "root", validForMs: 60_000 });
  directory = mkdtempSync(join(tmpdir(), "drawbridge-aggregated-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

const read = (...aggregatedApis: readonly unknown[]): readonly ServedApi[] =>
  checkConfig({ name: "demo", publishing: { type: "Route" }, aggregatedApis }, "hosted.yaml", directory).aggregatedApis;
const known = (change: object = {}) => ({
  ...{ name: "packageserver", address: "172.30.10.13", caBundle: authority.certificatePem },
  ...change,
});

test("aggregated APIs of HyperShift are known by name, others list what they serve, bare addresses are not registered", () => {
  const other = { name: "metrics", apiServices: ["v1beta1.metrics.example.com"], versionPriority: 7 };
  const [packages, metrics, bare] = read(known(), known(other), "172.30.10.14");
  expect(packages).toMatchObject({
    address: "172.30.10.13",
    registration: {
      served: [{ group: "packages.operators.coreos.com", version: "v1" }],
      groupPriorityMinimum: 2000,
      versionPriority: 15,
    },
  });
  expect(metrics!.registration).toMatchObject({
    served: [{ group: "metrics.example.com", version: "v1beta1" }],
    groupPriorityMinimum: 1000,
    versionPriority: 7,
  });
  expect(bare).toEqual({ address: "172.30.10.14", registration: undefined });
});

test("a CA file is found beside the description, and a key in it stays there", () => {
  writeFileSync(join(directory, "root.pem"), authority.privateKeyPem + authority.certificatePem);
  const [api] = read({ name: "packageserver", address: "172.30.10.13", caFile: "root.pem" });
  expect(api!.registration!.caBundle.trim()).toBe(authority.certificatePem.trim());
});

test.each<[object, string]>([
  [{ name: "Own" }, 'aggregatedApis[0].name "Own" is no Service\'s name'],
  [{ name: "kubernetes", apiServices: ["v1.a.test"] }, "is the kube-apiserver's own Service"],
  [{ name: "own" }, "aggregatedApis[0].apiServices is missing"],
  [{ name: "constructor" }, "aggregatedApis[0].apiServices is missing"],
  [{ apiServices: ["v1"] }, 'aggregatedApis[0].apiServices has "v1"'],
  [{ apiServices: ["v1.apps"] }, 'has "v1.apps" (write version.group, as in v1.apps.example.com)'],
  [{ address: "api.corp.test" }, 'aggregatedApis[0].address "api.corp.test" is no IP address'],
  [{ address: "172.30.0.0/16" }, "is no IP address"],
  [{ caBundle: "root" }, "aggregatedApis[0].caBundle cannot be used: there is no certificate in it"],
  [{ caFile: "root.pem" }, "aggregatedApis[0] needs one of caBundle and caFile"],
  [{ caBundle: undefined }, "aggregatedApis[0] needs one of caBundle and caFile"],
  [{ caBundle: undefined, caFile: "none.pem" }, "aggregatedApis[0].caFile cannot be used: ENOENT"],
  [{ groupPriorityMinimum: 20_001 }, "groupPriorityMinimum is not a whole number from 1 to 20000"],
  [{ adress: "172.30.10.13" }, "aggregatedApis[0].adress does not exist"],
])("an aggregated API with %j is refused", (change, expected) => {
  expect(() => read(known(change))).toThrow(expected);
});

test("no two APIs share a Service or serve the same", () => {
  expect(() => read(known(), known())).toThrow(
    /two APIs are called packageserver .*two APIs serve v1\.packages\.operators\.coreos\.com /,
  );
});
