import { afterEach, expect, test } from "vitest";
import { createKubeApi } from "../kube/client.js";
import type { KubeApi } from "../kube/port.js";
import { ApiStub, reply, replyStatus } from "../kube/testing/api-stub.js";
import { checkOnce, keepChecking } from "./connection-checker.js";

let stub: ApiStub;
let api: KubeApi;
let isUp = true;
afterEach(async () => {
  api.close();
  await stub.close();
});

async function cluster(): Promise<KubeApi> {
  isUp = true;
  stub = await ApiStub.start(({ body }, response) => {
    if (isUp) reply(response, 200, body ?? {});
    else replyStatus(response, 503, "ServiceUnavailable", "down");
  });
  api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) });
  return api;
}

test("the stamp is the time at which the kube-apiserver answered", async () => {
  const lines: string[] = [];
  const now = () => new Date("2030-01-01T12:00:00Z");
  expect(await checkOnce(await cluster(), (sentence) => lines.push(sentence), now)).toBe(true);
  expect(stub.calls).toEqual([
    "GET /version",
    "PATCH /api/v1/namespaces/kube-system/configmaps/control-plane-connectivity-check",
  ]);
  expect(stub.requests[1]!.body).toMatchObject({ data: { lastSucceeded: "2030-01-01T12:00:00.000Z" } });
  expect(lines).toEqual(["the kube-apiserver was reached at 2030-01-01T12:00:00.000Z"]);
});

test("a kube-apiserver that does not answer leaves no stamp and is asked again", async () => {
  const lines: string[] = [];
  const stop = new AbortController();
  await cluster();
  isUp = false;
  const report = (sentence: string): void => {
    lines.push(sentence);
    isUp = true;
    if (lines.length === 2) stop.abort();
  };
  await keepChecking(api, report, 5, stop.signal);
  expect(lines[0]).toContain("the kube-apiserver was not reached: ");
  expect(lines[1]).toContain("was reached at ");
  expect(stub.calls.filter((call) => call.startsWith("PATCH"))).toHaveLength(1);
});
