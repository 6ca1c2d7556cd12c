/** Rehearsals through a real server and a real agent: which calls are rehearsed, and the findings on those that work. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ClusterStub } from "../../../cluster/kube/testing/cluster-stub.js";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { runChecks } from "../run.js";
import { rehearsals } from "./rehearsal.js";
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
  WebhookFixture,
} from "./testing/webhook-fixture.js";

let fixture: WebhookFixture;
beforeAll(async () => {
  fixture = await WebhookFixture.build();
});
afterAll(() => fixture.tunnel.close());
beforeEach(() => fixture.set());
afterEach(() => fixture.clear());

describe("a webhook that answers", () => {
  test.each(["grpc-uds", "connect-uds", "connect-tcp"] as const)(
    "is called through %s as a dry run",
    async (frontend) => {
      await fixture.listen(allow);
      fixture.configure();
      const result = await fixture.one({ frontend: fixture.tunnel.frontends[frontend] });
      expect(result).toMatchObject({
        check: "webhook:shop/check.shop.test",
        state: "ok",
        details: { called: true, allowed: true, blocks: false, timeoutSeconds: 5 },
      });
      expect(result.message).toMatch(/would allow CREATE of a Pod after (\d+ ms|\d\.\d s) of 5 s$/);
      const [{ path, review } = { path: "", review: {} as Review }] = fixture.seen;
      expect(path).toBe("/check?timeout=5s");
      expect(review).toMatchObject({
        apiVersion: "admission.k8s.io/v1",
        request: { dryRun: true, operation: "CREATE" },
      });
      expect(review.request.object).toMatchObject({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: "default" },
      });
    },
  );

  test("is asked in v1beta1 when it reads nothing else, and not at all when it reads neither", async () => {
    await fixture.listen(allow);
    fixture.configure({ admissionReviewVersions: ["v7", "v1beta1"] });
    expect((await fixture.one()).state).toBe("ok");
    expect(fixture.seen[0]?.review.apiVersion).toBe("admission.k8s.io/v1beta1");
    fixture.configure({ admissionReviewVersions: ["v7"] });
    expect(await fixture.one()).toMatchObject({
      state: "failed",
      remedy: expect.stringContaining("admissionReviewVersions"),
    });
  });

  test("is ok when it refuses", async () => {
    await fixture.listen(({ apiVersion, kind, request }, response) => {
      const status = { message: "no \u001b[31mred" };
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: false, status } }));
    });
    fixture.configure();
    const result = await fixture.one();
    expect(result).toMatchObject({ state: "ok", details: { allowed: false } });
    expect(result.message).toContain('would refuse ("no \ufffd[31mred")');
  });

  test("is only connected to when it has side effects", async () => {
    await fixture.listen(allow);
    for (const sideEffects of ["Some", "Unknown"]) {
      fixture.configure({ sideEffects });
      const result = await fixture.one();
      expect(result).toMatchObject({ state: "ok", details: { called: false } });
      expect(result.message).toContain("only connected, not called");
    }
    expect(fixture.seen).toEqual([]);
    fixture.configure({ sideEffects: "NoneOnDryRun" });
    expect(await fixture.one()).toMatchObject({ details: { called: true } });
  });

  test("is found when it is mutating, and an unknown kind is replaced by a ConfigMap", async () => {
    await fixture.listen(allow);
    const rules = [{ operations: ["UPDATE"], apiGroups: ["gone.test"], apiVersions: ["*"], resources: ["things"] }];
    fixture.configure({ rules }, MUTATING);
    const [result] = await fixture.rehearse();
    expect(result).toMatchObject({
      state: "ok",
      about: expect.stringContaining("Mutating webhook check.shop.test"),
    });
    expect(fixture.seen[0]?.review.request).toMatchObject({
      operation: "UPDATE",
      kind: { kind: "ConfigMap" },
      oldObject: {},
    });
  });

  test("may have a certificate that is itself the caBundle, as in Go", async () => {
    const { certificatePem, privateKeyPem } = await issueCertificate(fixture.authority, {
      ...{ use: "server", commonName: "leaf", dnsNames: ["hooks.shop.svc"] },
    });
    await fixture.listen(allow, { cert: certificatePem, key: privateKeyPem });
    const service = { namespace: "shop", name: "hooks" };
    fixture.configure({ clientConfig: { service, caBundle: base64({ certificatePem }) } });
    expect((await fixture.one()).state).toBe("ok");
  });
});

describe("rehearsals", () => {
  test("skip webhooks by URL, and show no password of the URL", async () => {
    fixture.configure({ clientConfig: { url: "https://user:secret@hooks.example:8443/x?token=secret" } });
    const result = await fixture.one();
    expect(result).toMatchObject({ state: "skipped" });
    expect(result.message).toContain("https://hooks.example:8443/x is called directly");
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  test("skip the kube-apiserver's own service", async () => {
    fixture.configure({ clientConfig: { service: { namespace: "default", name: "kubernetes" } } });
    expect(await fixture.one()).toMatchObject({ state: "skipped" });
  });

  test("are selected by either name; an unknown name fails; a cluster without any is skipped", async () => {
    await fixture.listen(allow);
    fixture.configure();
    expect((await fixture.rehearse(["check.shop.test", "nobody"])).map(({ check, state }) => [check, state])).toEqual([
      ["webhook:shop/check.shop.test", "ok"],
      ["webhook:nobody", "failed"],
    ]);
    fixture.cluster.objects.set(VALIDATING, []);
    expect((await fixture.rehearse()).map(({ check, state }) => [check, state])).toEqual([
      ["webhooks", "skipped"],
      ["conversions", "skipped"],
      ["apiservices", "skipped"],
    ]);
  });

  test("fail for lists that may not be read", async () => {
    fixture.cluster.objects.delete(VALIDATING);
    const route = { frontend: fixture.tunnel.frontends["grpc-uds"], resolve: "endpoints", namespace: "x" } as const;
    const denied = await ClusterStub.start({}, (_, response) => {
      response.writeHead(403, { "content-type": "application/json" }).end('{"kind":"Status","message":"forbidden"}');
      return true;
    });
    const planned = await rehearsals(route, denied.api, { webhooks: [], conversions: [] }, never);
    const results = await runChecks(planned, {});
    expect(results.map(({ state }) => state)).toEqual(["failed", "failed", "failed"]);
    expect(results[0]?.remedy).toContain("may list");
    await denied.close();
  });
});

describe("services are dialled", () => {
  test("at their cluster address when the kube-apiserver does so", async () => {
    await fixture.listen(allow);
    const { port } = fixture;
    const spec = { type: "ClusterIP", clusterIP: "127.0.0.1", ports: [{ port }] };
    fixture.cluster.objects.set(SERVICE, { spec });
    fixture.configure({
      clientConfig: {
        service: { namespace: "shop", name: "hooks", port },
        caBundle: base64(fixture.authority),
      },
    });
    expect(await fixture.one({ resolve: "cluster-ip" })).toMatchObject({
      state: "ok",
      details: { dialled: `127.0.0.1:${port}` },
    });
    fixture.cluster.objects.set(SERVICE, { spec: { ...spec, clusterIP: "None" } });
    expect(await fixture.one({ resolve: "cluster-ip" })).toMatchObject({
      state: "failed",
      remedy: expect.stringContaining("--enable-aggregator-routing=true"),
    });
  });

  test("at Endpoints where there are no slices", async () => {
    await fixture.listen(allow);
    fixture.configure();
    const { port } = fixture;
    fixture.cluster.objects.delete(SLICES);
    fixture.cluster.objects.set("/api/v1/namespaces/shop/endpoints/hooks", {
      subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "https", port }] }],
    });
    expect((await fixture.one()).state).toBe("ok");
  });
});

describe("aggregated APIs", () => {
  const register = (differences = {}) => {
    const spec = {
      ...{ group: "metrics.test", version: "v1", service: { namespace: "shop", name: "hooks" } },
      caBundle: base64(fixture.authority),
      ...differences,
    };
    fixture.cluster.objects.set(APISERVICES, [
      { metadata: { name: "v1." }, spec: { version: "v1" } },
      { metadata: { name: "v1.metrics.test" }, spec },
    ]);
  };
  const api = async () => (await fixture.rehearse()).find(({ check }) => check === "apiservice:v1.metrics.test");

  test("are asked for their resources; 401 and 403 are answers, too", async () => {
    for (const status of [200, 403]) {
      await fixture.listen((_, response) => void response.writeHead(status).end("{}"));
      register();
      expect(await api()).toMatchObject({ state: "ok", details: { status } });
      expect(fixture.seen.at(-1)?.path).toBe("/apis/metrics.test/v1");
    }
  });

  test("fail on an error, on a wrong authority, and not when verification is switched off", async () => {
    const other = base64(await createAuthority({ commonName: "other" }));
    await fixture.listen((_, response) => void response.end("{}"));
    register({ caBundle: other });
    expect(await api()).toMatchObject({
      state: "failed",
      remedy: expect.stringContaining("spec.caBundle of APIService v1.metrics.test"),
    });
    register({ caBundle: "", insecureSkipTLSVerify: true });
    expect(await api()).toMatchObject({ state: "ok", message: expect.stringContaining("not verified") });
    await fixture.listen((_, response) => void response.writeHead(503).end());
    register();
    expect(await api()).toMatchObject({ state: "failed", message: expect.stringContaining("answers 503") });
  });
});
