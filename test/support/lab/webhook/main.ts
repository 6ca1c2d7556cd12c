/**
 * What a cluster's own workload looks like to a kube-apiserver: admission and conversion webhooks and an aggregated API,
 * and a kubelet that is asked for logs, over HTTPS. Writes one JSON line per request, with the address it came from, and answers GET /requests with all of them.
 *
 *   main.ts <listen address> <port> <certificate file> <key file> [kept-alive]
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import { mutate, validate } from "./admission.js";
import { answerAggregated } from "./aggregated.js";
import { convert } from "./conversion.js";

const [host = "", port = "", certFile = "", keyFile = "", manner = ""] = process.argv.slice(2);
/** As webhooks in production are: callers keep their connections, and before its end each is closed with an answer. */
const isKept = manner === "kept-alive";
const FAREWELL_MS = 4_000;
let isEnding = false;

const reviews: Readonly<Record<string, (review: never) => object>> = {
  "/validate": validate,
  "/mutate": mutate,
  "/convert": convert,
};

const requests: { readonly path: string; readonly from: string }[] = [];

const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, async (request, response) => {
  const path = new URL(request.url ?? "/", "https://webhook").pathname;
  const from = request.socket.remoteAddress ?? "";
  if (path === "/requests") return void response.end(JSON.stringify(requests));
  requests.push({ path, from });
  process.stdout.write(`${JSON.stringify({ path, from })}\n`);
  if (path.startsWith("/containerLogs/")) return void response.end("a line of the container's log\n");
  const review = reviews[path];
  const body = await bodyOf(request);
  const answer =
    review === undefined ? answerAggregated(path, from, request.headers) : review(JSON.parse(body) as never);
  // Otherwise one connection per call: every call has to dial through whatever lies between.
  response.shouldKeepAlive = isKept && !isEnding;
  response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(answer ?? { kind: "Status", apiVersion: "v1", status: "Failure", code: 404 }));
});

if (isKept) {
  // Go's clients leave an idle connection after 90 s; whoever does it first can hit a call on its way.
  server.keepAliveTimeout = 120_000;
  process.once("SIGTERM", () => {
    isEnding = true;
    setTimeout(() => server.close(() => process.exit(0)), FAREWELL_MS);
  });
}

server.listen(Number(port), host, () => process.stdout.write(`${JSON.stringify({ listening: `${host}:${port}` })}\n`));

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
