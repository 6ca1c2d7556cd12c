import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKubeApi } from "../kube/client.js";
import type { KubeApi } from "../kube/port.js";
import { ApiStub, reply, replyStatus } from "../kube/testing/api-stub.js";
import { kubeTokenReviewer } from "./token-reviewer.js";

const status = { authenticated: true, audiences: ["system:konnectivity-server"] };
let stub: ApiStub;
let api: KubeApi;
let isForbidden: boolean;

beforeEach(async () => {
  isForbidden = false;
  stub = await ApiStub.start((request, response) => {
    if (isForbidden) replyStatus(response, 403, "Forbidden", "tokenreviews is forbidden");
    else reply(response, 201, { ...(request.body as object), status });
  });
  api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { qps: -1 });
});

afterEach(async () => {
  api.close();
  await stub.close();
});

function review() {
  return kubeTokenReviewer(api)("abc", ["system:konnectivity-server"], new AbortController().signal);
}

describe("the review of a token by the Kubernetes API", () => {
  test("is a TokenReview for our audience, and its status is the answer", async () => {
    expect(await review()).toEqual(status);
    expect(stub.calls).toEqual(["POST /apis/authentication.k8s.io/v1/tokenreviews"]);
    expect(stub.requests[0]!.body).toEqual({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: "abc", audiences: ["system:konnectivity-server"] },
    });
  });

  test("fails with what the API server says when it refuses", async () => {
    isForbidden = true;
    await expect(review()).rejects.toThrow(/tokenreviews is forbidden; .* system:auth-delegator$/);
    await expect(review()).rejects.toMatchObject({ code: "DB_API_FORBIDDEN" });
  });

  test("fails with the API server's address when it is not there", async () => {
    await stub.close();
    await expect(review()).rejects.toThrow(stub.url);
  });
});
