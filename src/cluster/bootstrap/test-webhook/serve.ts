/** A mutating webhook that writes on an object who called: `drawbridge test-webhook`, in a pod of drawbridge's image. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { listenOn } from "../../../base/listen.js";
import { readCertificateSet } from "../../../tunnel/pki/certificate-set.js";
import { SEEN_FROM, WEBHOOK_PATH } from "./objects.js";

export interface TestWebhookOptions {
  /** Empty: every address. */
  readonly host: string;
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface RunningTestWebhook {
  readonly address: string;
  close(): Promise<void>;
}

/** No object of the test comes near. */
const LARGEST = 1024 * 1024;

export async function serveTestWebhook(options: TestWebhookOptions): Promise<RunningTestWebhook> {
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
      new Promise((resolve) => {
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
  const review = reviewOf(await bodyOf(request));
  if (review === undefined) return void response.writeHead(400).end("not an AdmissionReview\n");
  const { apiVersion, request: asked } = review;
  const patch = Buffer.from(JSON.stringify(patchFor(asked.object, request.socket.remoteAddress ?? ""))).toString(
    "base64",
  );
  const verdict = { uid: asked.uid, allowed: true, patchType: "JSONPatch", patch };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ apiVersion, kind: "AdmissionReview", response: verdict }));
}

interface Review {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly object?: { readonly metadata?: { readonly annotations?: object } };
  };
}

function reviewOf(body: string): Review | undefined {
  try {
    const review = JSON.parse(body) as Review & { kind?: string };
    return review.kind === "AdmissionReview" && typeof review.request?.uid === "string" ? review : undefined;
  } catch {
    return undefined;
  }
}

function patchFor(object: Review["request"]["object"], from: string): object[] {
  const annotated = object?.metadata?.annotations !== undefined;
  return annotated
    ? [{ op: "add", path: `/metadata/annotations/${SEEN_FROM}`, value: from }]
    : [{ op: "add", path: "/metadata/annotations", value: { [SEEN_FROM]: from } }];
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > LARGEST) throw new Error("too long");
  }
  return Buffer.concat(chunks).toString("utf8");
}
