import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createSecureContext } from "node:tls";
import type { Pair } from "../../lab/certificates.js";
import type { Entrance } from "./balancer.js";
import type { Result } from "./caller.js";

const DEADLINE_MS = 10_000;

export interface Ask {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  readonly status: number;
}

/** Calls of the hosted cluster's API, each over a connection of its own. */
export function requester(entrance: Entrance, ca: string, client: Pair) {
  const secureContext = createSecureContext({
    ...{ ca: readFileSync(ca), cert: readFileSync(client.cert), key: readFileSync(client.key) },
  });
  return async ({ method, path, body, status }: Ask): Promise<Result> => {
    const ended = new AbortController();
    const late = setTimeout(() => ended.abort(), DEADLINE_MS);
    let port = 0;
    const pod = () => {
      const name = entrance.taken.get(port);
      return name === undefined ? {} : { by: [name] };
    };
    try {
      const sent = request({
        ...{ host: "127.0.0.1", port: entrance.port, agent: false, secureContext, method, path, signal: ended.signal },
        headers: body === undefined ? {} : { "content-type": "application/json" },
      });
      sent.once("socket", (socket) =>
        socket.once("connect", () => {
          port = socket.localPort ?? 0;
        }),
      );
      const answered = new Promise<IncomingMessage>((resolve, reject) => {
        sent.once("response", resolve).on("error", reject);
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
      const answer = await answered;
      let text = "";
      for await (const piece of answer.setEncoding("utf8")) text += piece;
      return answer.statusCode === status ? {} : { said: `${answer.statusCode} ${messageIn(text)}`, ...pod() };
    } catch (reason) {
      const said = ended.signal.aborted ? `no answer in ${DEADLINE_MS / 1000} s` : String(reason);
      return { said, ...pod() };
    } finally {
      clearTimeout(late);
      entrance.taken.delete(port);
    }
  };
}

/** Of a Status, or all of it. */
function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text;
  } catch {
    return text;
  }
}
