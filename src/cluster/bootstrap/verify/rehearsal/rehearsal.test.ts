/** Rehearsals through a real server and a real agent: which there are, and what a good one says. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../../../../tunnel/pki/issue.js";
import { runChecks } from "../run-checks.js";
import { bridgeOf } from "../testing/bridge.js";
import { ClusterStub } from "../testing/cluster-stub.js";
import {
  APISERVICES,
  allow,
  base64,
  MUTATING,
  never,
  type Review,
  SERVICE,
  SLICES,
  VALIDATING,
  WebhookStage,
} from "../testing/webhook-stage.js";
import { rehearsalChecks } from "./rehearsal.js";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await WebhookStage.build();
});
afterAll(() => stage.rig.close());
beforeEach(() => stage.set());
afterEach(() => stage.clear());

describe("a webhook that answers", () => {
  test.each(["grpc-uds", "connect-uds", "connect-tcp"] as const)("passes through %s, dry run", async (door) => {
    await stage.listen(allow);
    stage.configure();
    const result = await stage.one({ frontend: stage.rig.doors[door] });
    expect(result).toMatchObject({
      id: "webhook:shop/check.shop.test",
      status: "pass",
      details: { called: true, allowed: true, blocks: false, timeoutSeconds: 5 },
    });
    expect(result.evidence).toMatch(/would allow CREATE of a Pod after (\d+ ms|\d\.\d s) of 5 s$/);
    const [{ path, review } = { path: "", review: {} as Review }] = stage.seen;
    expect(path).toBe("/check?timeout=5s");
    expect(review).toMatchObject({ apiVersion: "admission.k8s.io/v1", request: { dryRun: true, operation: "CREATE" } });
    expect(review.request.object).toMatchObject({ apiVersion: "v1", kind: "Pod", metadata: { namespace: "default" } });
  });

  test("is asked in v1beta1 when it reads nothing else, and not at all when it reads neither", async () => {
    await stage.listen(allow);
    stage.configure({ admissionReviewVersions: ["v7", "v1beta1"] });
    expect((await stage.one()).status).toBe("pass");
    expect(stage.seen[0]?.review.apiVersion).toBe("admission.k8s.io/v1beta1");
    stage.configure({ admissionReviewVersions: ["v7"] });
    expect(await stage.one()).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining("admissionReviewVersions"),
    });
  });

  test("a refusal is an answer", async () => {
    await stage.listen(({ apiVersion, kind, request }, response) => {
      const status = { message: "no \u001b[31mred" };
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: false, status } }));
    });
    stage.configure();
    const result = await stage.one();
    expect(result).toMatchObject({ status: "pass", details: { allowed: false } });
    expect(result.evidence).toContain('would refuse ("no \ufffd[31mred")');
  });

  test("with side effects it is only connected to", async () => {
    await stage.listen(allow);
    for (const sideEffects of ["Some", "Unknown"]) {
      stage.configure({ sideEffects });
      const result = await stage.one();
      expect(result).toMatchObject({ status: "pass", details: { called: false } });
      expect(result.evidence).toContain("only connected, not called");
    }
    expect(stage.seen).toEqual([]);
    stage.configure({ sideEffects: "NoneOnDryRun" });
    expect(await stage.one()).toMatchObject({ details: { called: true } });
  });

  test("mutating ones are found as well, and kinds nobody knows are replaced by a ConfigMap", async () => {
    await stage.listen(allow);
    const rules = [{ operations: ["UPDATE"], apiGroups: ["gone.test"], apiVersions: ["*"], resources: ["things"] }];
    stage.configure({ rules }, MUTATING);
    const [result] = await stage.rehearse();
    expect(result).toMatchObject({
      status: "pass",
      title: expect.stringContaining("Mutating webhook check.shop.test"),
    });
    expect(stage.seen[0]?.review.request).toMatchObject({
      operation: "UPDATE",
      kind: { kind: "ConfigMap" },
      oldObject: {},
    });
  });

  test("trusts a certificate that is itself the bundle, as Go does", async () => {
    const { certificatePem, privateKeyPem } = await issueCertificate(stage.authority, {
      ...{ profile: "server", commonName: "leaf", dnsNames: ["hooks.shop.svc"] },
    });
    await stage.listen(allow, { cert: certificatePem, key: privateKeyPem });
    const service = { namespace: "shop", name: "hooks" };
    stage.configure({ clientConfig: { service, caBundle: base64({ certificatePem }) } });
    expect((await stage.one()).status).toBe("pass");
  });
});

describe("what is rehearsed", () => {
  test("webhooks by URL do not go through the tunnel, and no password of theirs is shown", async () => {
    stage.configure({ clientConfig: { url: "https://user:secret@hooks.example:8443/x?token=secret" } });
    const result = await stage.one();
    expect(result).toMatchObject({ status: "skip" });
    expect(result.evidence).toContain("https://hooks.example:8443/x is called directly");
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  test("the kube-apiserver's own service does not either", async () => {
    stage.configure({ clientConfig: { service: { namespace: "default", name: "kubernetes" } } });
    expect(await stage.one()).toMatchObject({ status: "skip" });
  });

  test("by either name; an unknown name is a failure; none at all is skipped", async () => {
    await stage.listen(allow);
    stage.configure();
    expect((await stage.rehearse(["check.shop.test", "nobody"])).map(({ id, status }) => [id, status])).toEqual([
      ["webhook:shop/check.shop.test", "pass"],
      ["webhook:nobody", "fail"],
    ]);
    stage.cluster.objects.set(VALIDATING, []);
    expect((await stage.rehearse()).map(({ id, status }) => [id, status])).toEqual([
      ["webhooks", "skip"],
      ["conversions", "skip"],
      ["apiservices", "skip"],
    ]);
  });

  test("lists that may not be read are failures", async () => {
    stage.cluster.objects.delete(VALIDATING);
    const denied = await ClusterStub.start({}, (_, response) => {
      response.writeHead(403, { "content-type": "application/json" }).end('{"kind":"Status","message":"forbidden"}');
      return true;
    });
    const checks = await rehearsalChecks(bridgeOf(), denied.api, { webhooks: [], conversions: [] }, never);
    const results = await runChecks(checks, never);
    expect(results.map(({ status }) => status)).toEqual(["fail", "fail", "fail"]);
    expect(results[0]?.remedy).toContain("may list");
    await denied.close();
  });
});

describe("where services are dialled", () => {
  test("at their cluster address when the kube-apiserver does so", async () => {
    await stage.listen(allow);
    const { port } = stage;
    const spec = { type: "ClusterIP", clusterIP: "127.0.0.1", ports: [{ port }] };
    stage.cluster.objects.set(SERVICE, { spec });
    stage.configure({
      clientConfig: {
        service: { namespace: "shop", name: "hooks", port },
        caBundle: base64(stage.authority),
      },
    });
    expect(await stage.one({ resolve: "cluster-ip" })).toMatchObject({
      status: "pass",
      details: { dialled: `127.0.0.1:${port}` },
    });
    stage.cluster.objects.set(SERVICE, { spec: { ...spec, clusterIP: "None" } });
    expect(await stage.one({ resolve: "cluster-ip" })).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining("--enable-aggregator-routing=true"),
    });
  });

  test("at Endpoints where there are no slices", async () => {
    await stage.listen(allow);
    stage.configure();
    const { port } = stage;
    stage.cluster.objects.delete(SLICES);
    stage.cluster.objects.set("/api/v1/namespaces/shop/endpoints/hooks", {
      subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "https", port }] }],
    });
    expect((await stage.one()).status).toBe("pass");
  });
});

describe("aggregated APIs", () => {
  const register = (differences = {}) => {
    const spec = {
      ...{ group: "metrics.test", version: "v1", service: { namespace: "shop", name: "hooks" } },
      caBundle: base64(stage.authority),
      ...differences,
    };
    stage.cluster.objects.set(APISERVICES, [
      { metadata: { name: "v1." }, spec: { version: "v1" } },
      { metadata: { name: "v1.metrics.test" }, spec },
    ]);
  };
  const api = async () => (await stage.rehearse()).find(({ id }) => id === "apiservice:v1.metrics.test");

  test("are asked for their resources; who is not let in has reached them", async () => {
    for (const status of [200, 403]) {
      await stage.listen((_, response) => void response.writeHead(status).end("{}"));
      register();
      expect(await api()).toMatchObject({ status: "pass", details: { status } });
      expect(stage.seen.at(-1)?.path).toBe("/apis/metrics.test/v1");
    }
  });

  test("fail on an error, on a wrong stage.authority, and not when verification is switched off", async () => {
    const other = base64(await createAuthority({ commonName: "other" }));
    await stage.listen((_, response) => void response.end("{}"));
    register({ caBundle: other });
    expect(await api()).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining("spec.caBundle of APIService v1.metrics.test"),
    });
    register({ caBundle: "", insecureSkipTLSVerify: true });
    expect(await api()).toMatchObject({ status: "pass", evidence: expect.stringContaining("not verified") });
    await stage.listen((_, response) => void response.writeHead(503).end());
    register();
    expect(await api()).toMatchObject({ status: "fail", evidence: expect.stringContaining("answers 503") });
  });
});
