import { expect, test } from "vitest";
import { checkConfig } from "../config/config.js";
import { noProxy } from "./model.js";

const usual = ["127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local"];
const listOf = (platform?: object): string =>
  noProxy(checkConfig({ name: "demo", publishing: { type: "Route" }, platform }, "the test"));

test.each<[object | undefined, string[]]>([
  [undefined, []],
  [{ type: "IBMCloud" }, []],
  [{ type: "AWS", region: "us-east-1" }, ["169.254.169.254", ".ec2.internal"]],
  [{ type: "AWS", region: "eu-west-1" }, ["169.254.169.254", ".eu-west-1.compute.internal"]],
  [{ type: "Azure" }, ["169.254.169.254"]],
  [{ type: "Azure", cloud: "AzureUSGovernmentCloud" }, ["169.254.169.254", "168.63.129.16"]],
])("NO_PROXY on platform %j has its addresses", (platform, more) => {
  expect(listOf(platform)).toBe([...usual, ...more].toSorted().join(","));
});

test.each<[object, string]>([
  [{ type: "AWS" }, "platform.region is missing (as in eu-west-1)"],
  [{ type: "GCP", region: "europe-west1" }, "for anything else leave platform out"],
  [{ type: "IBMCloud", providerType: "upi" }, "platform.providerType is not one of Classic, VPC, UPI"],
  [{ type: "Azure", region: "westeurope" }, "platform.region does not exist (known here: type, cloud)"],
])("platform %j is refused", (platform, complaint) => {
  expect(() => listOf(platform)).toThrow(complaint);
});
