/** The webhook as a process on the agents' side: host, port, certificate, key and (only when simulated) a refused port. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { review } from "./admission.js";
import { content } from "./content.js";

const [host = "", port = "", certFile = "", keyFile = "", refusedSourcePort = ""] = process.argv.slice(2);
const witness = `answered by the webhook at ${host}:${port}`;

const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
  answer(request, response).catch(() => response.destroy());
});
// Plain TCP, before TLS: the closest to "no route" that loopback has.
server.on("connection", (socket: Socket) => {
  if (String(socket.remotePort) === refusedSourcePort) socket.resetAndDestroy();
});
server.listen(Number(port), host, () => process.stdout.write("listening\n"));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "https://webhook");
  if (pathname === "/validate") await validate(request, response);
  else if (pathname === "/ping") response.end("pong");
  else if (pathname === "/bytes") await pipeline(Readable.from(content(Number(searchParams.get("count")))), response);
  else if (pathname === "/ticks") await pipeline(Readable.from(ticks(Number(searchParams.get("ms")))), response);
  else response.writeHead(404).end();
}

async function validate(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = await request.toArray();
  const reviewed = review(Buffer.concat(chunks).toString("utf8"), witness);
  if (reviewed === undefined) response.writeHead(400).end("this is no AdmissionReview\n");
  else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reviewed));
}

/** A stream that is alive for as long as somebody listens: one numbered line after the other. */
async function* ticks(everyMs: number): AsyncGenerator<string> {
  for (let number = 1; ; number++) {
    yield `${number}\n`;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
