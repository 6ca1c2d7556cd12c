/** One HTTP request over a connection that stands, with an end to everything. */
import { type IncomingMessage, request } from "node:http";
import type { TLSSocket } from "node:tls";

export interface Question {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly host: string;
  readonly body?: string;
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** As much as a kube-apiserver would read from a webhook, and more than any needs. */
const LARGEST = 3 * 1024 * 1024;

/** Rejects with the signal's reason, or with what the connection or the answer suffered. */
export function exchange(socket: TLSSocket, question: Question, signal: AbortSignal): Promise<Reply> {
  const { method, path, host, body } = question;
  const headers = {
    host,
    accept: "application/json",
    "user-agent": "drawbridge",
    ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  return new Promise<Reply>((resolve, reject) => {
    const asked = request({ createConnection: () => socket, method, path, headers });
    const stop = (): void => {
      reject(signal.reason);
      asked.destroy();
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    asked.on("error", reject);
    asked.once("response", (response) => {
      collect(response).then(resolve, reject);
    });
    asked.once("close", () => signal.removeEventListener("abort", stop));
    asked.end(body);
  }).finally(() => socket.destroy());
}

async function collect(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > LARGEST) throw new Error(`its answer is longer than ${LARGEST / 1024 / 1024} MiB`);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
}
