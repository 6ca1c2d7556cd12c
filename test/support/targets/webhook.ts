import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { CertFiles } from "../processes/certs.js";

export interface Webhook {
  readonly address: string;
  /** Reviews answered so far. */
  readonly reviews: number;
  close(): Promise<void>;
}

interface AdmissionReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request?: { readonly uid?: string };
}

/** A validating admission webhook as kube-apiserver calls it: allows everything and says who it is. */
export function startWebhook(certs: CertFiles, message = "seen by the webhook"): Promise<Webhook> {
  let reviews = 0;
  const server = createServer({ cert: readFileSync(certs.cert), key: readFileSync(certs.key) }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      const answer = review(Buffer.concat(chunks).toString("utf8"), message);
      if (answer === undefined) {
        response.writeHead(400).end("not an AdmissionReview\n");
        return;
      }
      reviews++;
      response.writeHead(200, { "content-type": "application/json" }).end(answer);
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      resolve({
        address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
        get reviews() {
          return reviews;
        },
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}

function review(body: string, message: string): string | undefined {
  try {
    const { apiVersion, kind, request } = JSON.parse(body) as AdmissionReview;
    if (kind !== "AdmissionReview" || !request?.uid) return undefined;
    return JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true, status: { message } } });
  } catch {
    return undefined;
  }
}
