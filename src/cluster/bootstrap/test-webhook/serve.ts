/** A mutating webhook that writes on an object who called: `drawbridge test-webhook`, in a pod of drawbridge's image. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { at } from "../../../base/at.js";
import { answerBody } from "../../../base/http-get.js";
import { listenOn } from "../../../base/listen.js";
import { readCertificateSet } from "../../../tunnel/pki/certificate-set.js";

/** The annotation that the webhook puts on an object: the address that its call came from. */
export const SEEN_FROM = "drawbridge-verify-seen-from";
export const WEBHOOK_PATH = "/mutate";

/** No object of the test comes near. */
const LARGEST = 1024 * 1024;

/** An empty host means every address. */
export async function serveTestWebhook(options: { host: string; port: number; certFile: string; keyFile: string }) {
  const { certFile, keyFile, host, port } = options;
  const server = createServer({ ...readCertificateSet({ certFile, keyFile }), minVersion: "TLSv1.2" });
  server.requestTimeout = 10_000;
  server.on("request", (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await listenOn(server, "test webhook", { host, port }, {});
  const bound = server.address() as AddressInfo;
  return {
    address: joinHostPort(bound.address, bound.port),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split("?")[0];
  // Each call has to come through whatever lies between.
  response.shouldKeepAlive = false;
  if (path === "/healthz") return void response.end("ok\n");
  if (path !== WEBHOOK_PATH || request.method !== "POST") return void response.writeHead(404).end();
  const review = reviewOf((await answerBody(request, LARGEST)).toString());
  const uid = at(review, "request", "uid");
  if (typeof uid !== "string") return void response.writeHead(400).end("not an AdmissionReview\n");
  const from = request.socket.remoteAddress ?? "";
  const isAnnotated = at(review, "request", "object", "metadata", "annotations") !== undefined;
  const patch = isAnnotated
    ? [{ op: "add", path: `/metadata/annotations/${SEEN_FROM}`, value: from }]
    : [{ op: "add", path: "/metadata/annotations", value: { [SEEN_FROM]: from } }];
  const encoded = Buffer.from(JSON.stringify(patch)).toString("base64");
  response.writeHead(200, { "content-type": "application/json" });
  response.end(
    JSON.stringify({
      ...{ apiVersion: at(review, "apiVersion"), kind: "AdmissionReview" },
      response: { uid, allowed: true, patchType: "JSONPatch", patch: encoded },
    }),
  );
}

/** Undefined when the text is no AdmissionReview. */
function reviewOf(body: string): unknown {
  try {
    const review: unknown = JSON.parse(body);
    return at(review, "kind") === "AdmissionReview" ? review : undefined;
  } catch {
    return undefined;
  }
}
