import { describe, expect, test } from "vitest";
import { isLeaseValid, leasePath, microTime } from "./lease.js";

const now = Date.parse("2031-01-01T00:01:00Z");

describe("isLeaseValid", () => {
  test.each([
    ["renewed in time", { renewTime: "2031-01-01T00:00:40.123456Z", leaseDurationSeconds: 30 }, true],
    ["expired", { renewTime: "2031-01-01T00:00:29.999999Z", leaseDurationSeconds: 30 }, false],
    ["expiring this moment", { renewTime: "2031-01-01T00:00:30.000000Z", leaseDurationSeconds: 30 }, false],
    ["acquired, never renewed", { acquireTime: "2031-01-01T00:00:40.000000Z", leaseDurationSeconds: 30 }, true],
    [
      "acquired now, renewed long ago",
      {
        acquireTime: "2031-01-01T00:00:59.000000Z",
        renewTime: "2031-01-01T00:00:01.000000Z",
        leaseDurationSeconds: 30,
      },
      false,
    ],
    ["without a time", { leaseDurationSeconds: 30 }, false],
    ["without a duration", { renewTime: "2031-01-01T00:00:59.000000Z" }, false],
    ["with a time nobody can read", { renewTime: "yesterday", leaseDurationSeconds: 30 }, false],
  ])("judges %s", (_, spec, valid) => {
    expect(isLeaseValid({ spec }, now)).toBe(valid);
  });

  test("is false for a lease without any content", () => {
    expect(isLeaseValid({}, now)).toBe(false);
  });
});

describe("microTime and lease paths", () => {
  test("are written as the API expects them", () => {
    expect(microTime(now + 7)).toBe("2031-01-01T00:01:00.007000Z");
    expect(leasePath("kube-system", "a/b")).toBe("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a%2Fb");
  });
});
