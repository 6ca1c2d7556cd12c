import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** Parsed JSON; undefined when the request had none. */
  readonly body: unknown;
  readonly message: IncomingMessage;
}

export type StubHandler = (request: StubRequest, response: ServerResponse) => void | Promise<void>;

/** An HTTP(S) server on loopback that answers with a test's handler and records the requests. */
export class ApiStub {
  readonly requests: StubRequest[] = [];
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(handler: StubHandler, tls?: ServerOptions): Promise<ApiStub> {
    let stub: ApiStub | undefined;
    const answer = async (message: IncomingMessage, response: ServerResponse) => {
      const url = new URL(message.url ?? "/", "http://stub");
      let text = "";
      for await (const chunk of message.setEncoding("utf8")) text += chunk;
      const request: StubRequest = {
        method: message.method ?? "",
        path: url.pathname,
        query: url.searchParams,
        headers: message.headers,
        body: text === "" ? undefined : JSON.parse(text),
        message,
      };
      stub?.requests.push(request);
      await handler(request, response);
    };
    const listener = (message: IncomingMessage, response: ServerResponse) => {
      answer(message, response).catch(() => response.destroy());
    };
    const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    stub = new ApiStub(server, `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`);
    return stub;
  }

  /** `GET /path` of every request so far. */
  get calls(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function reply(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** A failure in the API's own shape. */
export function replyStatus(response: ServerResponse, code: number, reason: string, message: string): void {
  reply(response, code, { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message });
}
