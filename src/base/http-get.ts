/** HTTP requests to peers that may be slow or talkative: every one has a deadline and a limit on the answer's size. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export interface HttpGetOptions extends RequestOptions {
  /** Until the whole answer is there; 5 s by default. */
  readonly timeoutMs?: number;
  /** 16 MiB by default. */
  readonly maxBytes?: number;
}

const USUAL_TIMEOUT_MS = 5_000;
const USUAL_MAX_BYTES = 16 * 1024 * 1024;

/** One GET over a connection of its own. Rejects unless the whole answer came in time. */
export async function httpGet(url: string | URL, options: HttpGetOptions = {}): Promise<HttpAnswer> {
  const { timeoutMs = USUAL_TIMEOUT_MS, maxBytes = USUAL_MAX_BYTES, signal, ...request } = options;
  const deadline = AbortSignal.timeout(timeoutMs);
  const stop = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  try {
    const response = await openRequest(url, { agent: false, ...request, signal: stop });
    return { status: response.statusCode ?? 0, body: (await answerBody(response, maxBytes)).toString() };
  } catch (reason) {
    throw deadline.aborted && signal?.aborted !== true ? new Error(`no answer within ${timeoutMs / 1000} s`) : reason;
  }
}

/** Resolves with the head of the answer, or rejects, with the signal's reason if that ended it; it ends the body as well. */
export function openRequest(url: string | URL, options: RequestOptions, body?: string): Promise<IncomingMessage> {
  const send = String(url).startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, options, resolve);
    request.on("error", (reason) => reject(options.signal?.aborted ? options.signal.reason : reason)).end(body);
  });
}

/** Rejects, and closes the connection, when the body is longer than `maxBytes` or breaks off. */
export async function answerBody(response: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += chunk.length;
    if (length > maxBytes) throw new Error(`the answer is longer than ${sizeText(maxBytes)}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function sizeText(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.floor(bytes / 1024)} KiB` : `${Math.floor(bytes / 1024 / 1024)} MiB`;
}
