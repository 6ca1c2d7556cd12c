import { describe, expect, test } from "vitest";
import { isCloudApi } from "./direct.js";

describe("a cloud provider's API", () => {
  test.each([
    "ec2.us-east-1.amazonaws.com",
    "ec2.cn-north-1.amazonaws.com.cn",
    "s3.c2s.ic.gov",
    "x.hci.ic.gov",
    "x.sc2s.sgov.gov",
    "ec2.us-east-1.api.aws",
    "login.microsoftonline.com",
    "management.azure.com",
    "management.usgovcloudapi.net",
    "iam.cloud.ibm.com",
    "Management.Azure.com.",
  ])("is %s", (host) => {
    expect(isCloudApi(host, new Set())).toBe(true);
  });

  test.each([
    "azure.com",
    "compute.googleapis.com",
    "www.googleapis.com",
    "notazure.com",
    "evilamazonaws.com",
    "amazonaws.com.evil.example",
    "management.azure.com.evil.example",
    "example.com",
    "10.0.0.1",
    "accounts.google.com",
  ])("is not %s", (host) => {
    expect(isCloudApi(host, new Set())).toBe(false);
  });

  test("is not what is excluded, however it is spelt", () => {
    const exclude = new Set(["proxy.azure.com"]);
    expect(isCloudApi("Proxy.azure.com.", exclude)).toBe(false);
    expect(isCloudApi("other.azure.com", exclude)).toBe(true);
  });
});
