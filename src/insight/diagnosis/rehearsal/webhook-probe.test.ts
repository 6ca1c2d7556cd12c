/** How the kube-apiserver's refusals are read; that these are its texts is shown by test/e2e/hosted-pods.test.ts. */
import { afterEach, expect, test } from "vitest";
import { createKubeApi } from "../../../cluster/kube/client.js";
import { ApiStub, reply, replyStatus } from "../../../cluster/kube/testing/api-stub.js";
import { probeWebhook, removeForgotten } from "./webhook-probe.js";

const target = {
  name: "hook.test",
  clientConfig: { service: { name: "hook", namespace: "apps" }, caBundle: "Q0E=" },
  timeoutSeconds: 3,
};
const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

let stub: ApiStub;
afterEach(() => stub.close());

/** Accepts the probe's first request, as before a watch has caught up, and then refuses with this text. */
async function cluster(refusal: string) {
  let asked = 0;
  stub = await ApiStub.start(({ method, path, body }, response) => {
    if (method !== "POST" || path === configurations) return reply(response, 200, body ?? {});
    asked += 1;
    if (asked === 1) return reply(response, 201, body);
    replyStatus(response, 500, "InternalError", refusal);
  });
  return createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) });
}

const failedCalling = (name: string, why: string) =>
  `Internal error occurred: failed calling webhook "${name}.hosted.drawbridge.test": failed to call webhook: ${why}`;

test.each([
  ["the guard behind it is reached", failedCalling("guard", "connection refused"), { state: "ok" }],
  ["it denies the request", 'admission webhook "asked.hosted.drawbridge.test" denied the request: no', { state: "ok" }],
  [
    "it cannot be called",
    failedCalling("asked", 'Post "https://hook.apps.svc:443/": proxy error'),
    { state: "failed", message: expect.stringMatching(/^failed to call webhook: Post .*proxy error$/) },
  ],
  ["another webhook comes first", 'admission webhook "other.test" denied the request', { state: "skipped" }],
])("a webhook is judged by the refusal: %s", async (_, refusal, expected) => {
  const api = await cluster(refusal);
  expect(await probeWebhook(api, target)).toMatchObject(expected);
  const [made] = stub.requests;
  const { webhooks, metadata } = made!.body as { webhooks: { objectSelector: object }[]; metadata: { name: string } };
  expect(webhooks).toMatchObject([
    { clientConfig: target.clientConfig, failurePolicy: "Fail", timeoutSeconds: 3 },
    { clientConfig: { url: "https://127.0.0.1:1/" } },
  ]);
  const requests = stub.requests.filter(({ path }) => path.endsWith("/configmaps"));
  for (const { query, body } of requests) {
    expect(query.get("dryRun")).toBe("All");
    const { labels } = (body as { metadata: { labels: object } }).metadata;
    for (const { objectSelector } of webhooks) expect(objectSelector).toEqual({ matchLabels: labels });
  }
  expect(stub.calls.at(-1)).toBe(`DELETE ${configurations}/${metadata.name}`);
  api.close();
});

test("a failing webhook with failurePolicy Ignore lets requests pass unjudged", async () => {
  const api = await cluster(failedCalling("asked", "no"));
  expect(await probeWebhook(api, { ...target, failurePolicy: "Ignore" })).toMatchObject({
    details: { effect: "requests pass unjudged" },
  });
  api.close();
});

test("the configuration that a killed run left is removed, and nothing else", async () => {
  stub = await ApiStub.start((_, response) => reply(response, 200, { items: [{ metadata: { name: "left" } }] }));
  const api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) });
  await removeForgotten(api);
  expect(stub.requests[0]!.query.get("labelSelector")).toBe("drawbridge-hosted-verify");
  expect(stub.calls.at(-1)).toBe(`DELETE ${configurations}/left`);
  api.close();
});
