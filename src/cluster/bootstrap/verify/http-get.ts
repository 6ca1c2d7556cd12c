/** A plain GET of something small on this host: health, readiness, metrics. */
import { get as httpGet } from "node:http";
import { get as httpsGet } from "node:https";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

const LARGEST = 16 * 1024 * 1024;
const WAIT_MS = 5_000;

/** Rejects when nothing answers, or not in time, or without end. */
export async function getText(url: string, signal: AbortSignal): Promise<Answer> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]);
  try {
    return await fetchText(url, stop);
  } catch (reason) {
    throw stop.aborted && !signal.aborted ? new Error(`no answer within ${WAIT_MS / 1000} s`) : reason;
  }
}

function fetchText(url: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const get = url.startsWith("https:") ? httpsGet : httpGet;
    const request = get(url, { signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > LARGEST) request.destroy(new Error("the answer has no end"));
        else chunks.push(chunk);
      });
      response.once("error", reject);
      response.once("end", () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") });
      });
    });
    request.once("error", reject);
  });
}
