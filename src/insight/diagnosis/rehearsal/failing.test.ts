/** Rehearsals of webhooks that fail: the evidence, the consequence, the remedy. */
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTunnelFixture } from "../../../tunnel/client/testing/fixture.js";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { allow, base64, type Respond, SLICES, serving, WebhookFixture } from "./testing/webhook-fixture.js";

let fixture: WebhookFixture;
beforeAll(async () => {
  fixture = await WebhookFixture.build();
});
afterAll(() => fixture.tunnel.close());
beforeEach(() => fixture.set());
afterEach(() => fixture.clear());

describe("a webhook fails", () => {
  const blocked = "failurePolicy Fail: matching requests would be refused";

  async function fails(evidence: string | RegExp, remedy: string, differences = {}): Promise<void> {
    const result = await fixture.one(differences);
    expect(result).toMatchObject({ state: "failed", details: { blocks: true } });
    expect(result.message).toMatch(evidence);
    expect(result.message).toContain(blocked);
    expect(result.remedy).toContain(remedy);
  }

  test("with a certificate of another authority, and the caBundle to change is named", async () => {
    const other = await createAuthority({ commonName: "other" });
    await fixture.listen(allow);
    const service = { namespace: "shop", name: "hooks" };
    fixture.configure({ clientConfig: { service, caBundle: base64(other) } });
    await fails(/its caBundle \("CN=other"\)/, "ValidatingWebhookConfiguration shop webhooks[0].clientConfig.caBundle");
    expect(fixture.seen).toEqual([]);
  });

  test("with a caBundle that holds no certificate", async () => {
    await fixture.listen(allow);
    const service = { namespace: "shop", name: "hooks" };
    fixture.configure({ clientConfig: { service, caBundle: "bm90aGluZw==" } });
    await fails(/holds no PEM certificate/, "webhooks[0].clientConfig.caBundle");
  });

  test("with a certificate for another name", async () => {
    await fixture.listen(allow, await serving(fixture.authority, ["hooks.other.svc"]));
    fixture.configure();
    await fails(/is not for hooks.shop.svc, which was dialled, but for hooks.other.svc/, "hooks.shop.svc");
  });

  test("with a certificate that has only a common name", async () => {
    const pair = await issueCertificate(fixture.authority, {
      ...{ use: "server", commonName: "hooks.shop.svc", ipAddresses: ["127.0.0.1"] },
    });
    await fixture.listen(allow, { cert: pair.certificatePem, key: pair.privateKeyPem });
    fixture.configure();
    await fails(/is not for hooks.shop.svc, which was dialled, but for 127.0.0.1/, "hooks.shop.svc");
  });

  test("with an expired certificate", async () => {
    const past = { now: new Date(Date.now() - 7_200_000), validForMs: 3_600_000 };
    const old = await createAuthority({ commonName: "old", now: past.now, validForMs: 86_400_000 });
    await fixture.listen(allow, await serving(old, ["hooks.shop.svc"], past));
    const service = { namespace: "shop", name: "hooks" };
    fixture.configure({ clientConfig: { service, caBundle: base64(old) } });
    await fails(/expired .* ago/, "again");
  });

  test("after its timeoutSeconds, and the field to raise is named", async () => {
    await fixture.listen(() => {});
    fixture.configure({ timeoutSeconds: 1 });
    await fails(/no answer within its timeoutSeconds, 1 s/, "webhooks[0].timeoutSeconds");
  });

  test("when its endpoint accepts and never answers the TLS handshake", async () => {
    // It reads, so it notices the end; the test would hang if the tunnel were left open.
    const silent = createTcpServer((socket) => void socket.resume());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    fixture.pointTo((silent.address() as AddressInfo).port);
    fixture.configure({ timeoutSeconds: 1 });
    await fails(/no answer within its timeoutSeconds/, "timeoutSeconds");
    await new Promise((resolve) => silent.close(resolve));
  });

  test("when its endpoint does not speak TLS", async () => {
    const plain = createTcpServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    fixture.pointTo((plain.address() as AddressInfo).port);
    fixture.configure();
    await fails(/does not speak TLS/, "speaks TLS");
    await new Promise((resolve) => plain.close(resolve));
  });

  test("when its endpoint refuses the connection", async () => {
    fixture.pointTo(1);
    fixture.configure();
    await fails(/refused/, "targetPort");
  });

  test("on a status 500, another document, another uid, a missing verdict", async () => {
    let respond: Respond = (_, response) => void response.writeHead(500).end("boom");
    await fixture.listen((...args) => respond(...args));
    fixture.configure();
    await fails(/HTTP status 500/, "Read the log of the pods of service shop/hooks");
    respond = (_, response) => void response.end("<html>hello</html>");
    await fails(/no AdmissionReview/, "Read the log");
    respond = (_, response) => void response.end("null");
    await fails(/no AdmissionReview/, "Read the log");
    respond = ({ kind, request }, response) =>
      void response.end(
        JSON.stringify({ kind, apiVersion: "admission.k8s.io/v2", response: { uid: request.uid, allowed: true } }),
      );
    await fails(/version admission.k8s.io\/v2/, "Read the log");
    respond = ({ apiVersion, kind }, response) =>
      void response.end(JSON.stringify({ apiVersion, kind, response: { uid: "other", allowed: true } }));
    await fails(/about another request/, "Read the log");
    respond = ({ apiVersion, kind, request }, response) =>
      void response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid } }));
    await fails(/response.allowed/, "Read the log");
  });

  test("when it closes the connection, or its answer never ends", async () => {
    let respond: Respond = (_, response) => void response.destroy();
    await fixture.listen((...args) => respond(...args));
    fixture.configure();
    await fails(/gave no answer/, "Read the log");
    respond = (_, response) => {
      // Node 26 goes on taking writes, without an error, after the other side has hung up.
      const more = (error?: Error | null): void => {
        if (!error && response.socket?.destroyed === false) response.write("x".repeat(256 * 1024), more);
      };
      more();
    };
    await fails(/longer than 3 MiB/, "Read the log");
  });

  test("without its service, port or endpoint", async () => {
    const service = { namespace: "shop", name: "none" };
    fixture.configure({ clientConfig: { service } });
    await fails(/service shop\/none does not exist/, "Create it");
    fixture.configure({ clientConfig: { service: { namespace: "shop", name: "hooks", port: 8443 } } });
    await fails(/no port 8443 \(it has 443\)/, "Correct the port");
    fixture.cluster.objects.set(SLICES, []);
    fixture.configure();
    await fails(/no ready endpoint/, "kubectl -n shop get endpointslices");
  });

  test("without an agent, and without a frontend", async () => {
    const lonely = await startTunnelFixture();
    await fixture.listen(allow);
    fixture.configure();
    await fails(/No agent available/i, "app=konnectivity-agent", { frontend: lonely.frontends["grpc-uds"] });
    await lonely.close();
    await fails(/cannot be reached/, "--uds", { frontend: lonely.frontends["grpc-uds"] });
  });

  test("without blocking when its failurePolicy is Ignore", async () => {
    fixture.pointTo(1);
    fixture.configure({ failurePolicy: "Ignore" });
    expect(await fixture.one()).toMatchObject({
      state: "failed",
      message: expect.stringContaining("failurePolicy Ignore: matching requests would pass unseen"),
      details: { blocks: false },
    });
  });
});
