/** Asks an admin port with node:http rather than fetch: the headers that browsers set by themselves are under test. */
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  json<T>(): T;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export function ask(port: number, path: string, { method = "GET", headers = {}, body }: Asking = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, headers, method, agent: false }, (response) => {
      read(response).then((text) => {
        const { statusCode, headers: answered } = response;
        resolve({ status: statusCode!, headers: answered, body: text, json: <T>() => JSON.parse(text) as T });
      }, reject);
    });
    asked.once("error", reject).end(body);
  });
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
