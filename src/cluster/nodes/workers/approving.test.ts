import { expect, test } from "vitest";
import { leasePath } from "../../kube/lease.js";
import { APPROVER_NAME } from "../permissions.js";
import { requireApprover } from "./approving.js";
import { MemoryCluster } from "./testing/cluster.js";

const now = Date.parse("2031-01-01T00:00:30Z");

const lease = (holderIdentity: string, renewTime: string): object => ({
  spec: { holderIdentity, renewTime, leaseDurationSeconds: 15 },
});

test.each([
  ["none", undefined],
  ["one that was given back", lease("", "2031-01-01T00:00:29Z")],
  ["one whose holder is gone", lease("somebody", "2031-01-01T00:00:10Z")],
])("nobody approves with a lease like this: %s", async (_, held) => {
  const cluster = new MemoryCluster();
  if (held !== undefined) cluster.objects.set(leasePath("drawbridge", APPROVER_NAME), held);
  await expect(requireApprover(cluster.api, "drawbridge", now)).rejects.toThrow(
    /^nobody approves certificate requests: no approver holds the lease .*--approve, .* --approved-elsewhere$/,
  );
});

test("an approver that renews its lease is accepted", async () => {
  const cluster = new MemoryCluster();
  cluster.objects.set(leasePath("drawbridge", APPROVER_NAME), lease("somebody", "2031-01-01T00:00:29Z"));
  await requireApprover(cluster.api, "drawbridge", now);
});
