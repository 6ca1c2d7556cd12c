import { expect, test } from "vitest";
import { remedies } from "../../base/errors/catalogue.js";
import { coded, type Finding, failed, type Judgement, ok } from "../../base/finding.js";
import { checkConfig } from "../../cluster/hosted/config/config.js";
import { createKubeApi } from "../../cluster/kube/client.js";
import { ApiStub } from "../../cluster/kube/testing/api-stub.js";
import { consequencesOf, diagnoseHosted, hostedText } from "./hosted.js";
import type { HostedControlPlane } from "./sources/hosted.js";

const finding = (check: string, judgement: Judgement): Finding => ({ check, about: check, ...judgement });

test("nothing stops working when nothing failed", () => {
  expect(consequencesOf([finding("servers", ok("3 of 3"))])).toEqual([]);
});

test("the consequences of a dead tunnel are listed as users notice them, each once", () => {
  const list = consequencesOf([finding("agents", failed("", "")), finding("data-plane-connection", failed("", ""))]);
  expect(list[0]).toBe("kubectl logs, exec, attach, port-forward and cp");
  expect(new Set(list).size).toBe(list.length);
  expect(list.join("\n")).toMatch(/webhooks[\s\S]*aggregated[\s\S]*logins[\s\S]*image import[\s\S]*operator catalogs/);
  expect(list.join("\n")).not.toContain("the control plane itself serves");
});

test("while the management cluster's API cannot be asked, its own remedy is given and nothing is said of the rest", async () => {
  const credentials = async () => ({ headers: {}, tls: {} });
  const stub = await ApiStub.start((_, response) => void response.end());
  await stub.close();
  const management = createKubeApi({ server: stub.url, credentials }, { qps: -1 });
  const publishing = { type: "LoadBalancer" };
  const findings = await diagnoseHosted("status", {
    clusters: { management, hosted: undefined, close: async () => {} } as unknown as HostedControlPlane["clusters"],
    config: checkConfig({ name: "demo", publishing }, "the test"),
    version: "0",
  }).finally(() => management.close());
  const infrastructure = findings.find(({ check }) => check === "infrastructure");
  expect(infrastructure).toMatchObject({
    ...{ state: "failed", code: "DB_API_UNREACHABLE", remedy: remedies.DB_API_UNREACHABLE },
    details: { condition: { type: "InfrastructureReady", status: "Unknown", reason: "InfraStatusFailure" } },
  });
  expect(infrastructure?.details?.condition).not.toHaveProperty("failure");
  const text = hostedText(findings);
  expect(text).not.toMatch(/serves no aggregated API|What stops working|events/);
});

test("a webhook that cannot be called is one line with its effect", () => {
  const details = { effect: "requests it should judge are refused" };
  const broken = finding("webhook", { ...coded("DB_API_REQUEST", "no endpoints"), subject: "a/b", details });
  expect(consequencesOf([broken])).toEqual(["webhook a/b: requests it should judge are refused"]);
});
