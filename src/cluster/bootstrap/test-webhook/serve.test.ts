import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { writePem } from "../../../tunnel/pki/write-pki.js";
import { SEEN_FROM, serveTestWebhook, WEBHOOK_PATH } from "./serve.js";

const folder = mkdtempSync(join(tmpdir(), "drawbridge-test-webhook-"));
let webhook: Awaited<ReturnType<typeof serveTestWebhook>>;
let ca: string;
let files: { certFile: string; keyFile: string };

beforeAll(async () => {
  const authority = await createAuthority({ commonName: "test" });
  ca = authority.certificatePem;
  const pair = await issueCertificate(authority, { use: "server", commonName: "t", ipAddresses: ["127.0.0.1"] });
  const written = await writePem(folder, "tls", pair);
  files = { certFile: written.certFile, keyFile: written.keyFile! };
  webhook = await serveTestWebhook({ host: "127.0.0.1", port: 0, ...files });
});
afterAll(async () => {
  await webhook.close();
  rmSync(folder, { recursive: true });
});

function send(method: string, path: string, body = ""): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(`https://${webhook.address}${path}`, { method, ca, agent: false }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ status: response.statusCode ?? 0, text });
    });
    asked.on("error", reject).end(body);
  });
}

const review = (object: object) =>
  JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { uid: "u1", object } });

test("the webhook annotates the object with the address of the caller", async () => {
  for (const [metadata, path] of [
    [{}, "/metadata/annotations"],
    [{ annotations: { a: "b" } }, `/metadata/annotations/${SEEN_FROM}`],
  ] as const) {
    const { status, text } = await send("POST", `${WEBHOOK_PATH}?timeout=10s`, review({ metadata }));
    expect(status).toBe(200);
    const { apiVersion, kind, response } = JSON.parse(text);
    expect({ apiVersion, kind }).toEqual({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" });
    expect(response).toMatchObject({ uid: "u1", allowed: true, patchType: "JSONPatch" });
    const [operation] = JSON.parse(Buffer.from(response.patch, "base64").toString());
    expect(operation).toMatchObject({ op: "add", path });
    expect(JSON.stringify(operation.value)).toContain("127.0.0.1");
  }
});

test("the webhook answers /healthz, and refuses everything that is no review", async () => {
  expect(await send("GET", "/healthz")).toEqual({ status: 200, text: "ok\n" });
  expect((await send("GET", WEBHOOK_PATH)).status).toBe(404);
  expect((await send("POST", "/elsewhere", review({}))).status).toBe(404);
  for (const body of ["", "null", "{}", "[", '{"kind":"AdmissionReview"}']) {
    expect((await send("POST", WEBHOOK_PATH, body)).status).toBe(400);
  }
  await expect(send("POST", WEBHOOK_PATH, "x".repeat(2_000_000))).rejects.toThrow();
  expect((await send("GET", "/healthz")).status).toBe(200);
});

test("a port in use is reported in one sentence", async () => {
  const port = Number(webhook.address.split(":").at(-1));
  await expect(serveTestWebhook({ host: "127.0.0.1", port, ...files })).rejects.toMatchObject({
    code: "DB_LISTEN_IN_USE",
  });
});
