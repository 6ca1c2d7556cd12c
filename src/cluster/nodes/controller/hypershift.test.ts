import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKubeApi } from "../../kube/client.js";
import type { KubeApi } from "../../kube/port.js";
import { ApiStub, reply, replyStatus } from "../../kube/testing/api-stub.js";
import { CRD_PATH, findHyperShift, OWNER_LABEL, refuseBesideHyperShift, requireInstalled } from "./hypershift.js";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ours = { metadata: { name: "x", labels: { [OWNER_LABEL]: "drawbridge" } } };

let stub: ApiStub;
let api: KubeApi;
let objects: Record<string, object | 403>;

beforeEach(async () => {
  objects = {};
  stub = await ApiStub.start(({ path }, response) => {
    const object = objects[path];
    if (object === undefined) return replyStatus(response, 404, "NotFound", "no such thing");
    if (object === 403) return replyStatus(response, 403, "Forbidden", "you may not");
    reply(response, 200, object);
  });
  api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) });
});

afterEach(async () => {
  api.close();
  await stub.close();
});

describe("the search for HyperShift", () => {
  test("finds nothing in an empty cluster and with our own resource", async () => {
    expect(await findHyperShift(api)).toBeUndefined();
    objects[CRD_PATH] = ours;
    expect(await findHyperShift(api)).toBeUndefined();
    await expect(requireInstalled(api)).resolves.toBeUndefined();
  });

  test.each([
    ["a NodePool resource without our label", CRD_PATH, { metadata: { name: "x" } }],
    ["a HostedCluster resource", `${crds}/hostedclusters.hypershift.openshift.io`, ours],
    ["the operator", "/apis/apps/v1/namespaces/hypershift/deployments/operator", {}],
  ])("refuses beside %s", async (_, path, object) => {
    objects[CRD_PATH] = ours;
    objects[path] = object;
    await expect(refuseBesideHyperShift(api)).rejects.toMatchObject({ code: "DB_NODEPOOL_HYPERSHIFT" });
  });

  test("fails when it may not read the cluster", async () => {
    objects[CRD_PATH] = 403;
    await expect(requireInstalled(api)).rejects.toMatchObject({ code: "DB_NODEPOOL_INSTALL" });
  });

  test("reports a resource that was never installed", async () => {
    await expect(requireInstalled(api)).rejects.toMatchObject({ code: "DB_NODEPOOL_INSTALL" });
  });
});
