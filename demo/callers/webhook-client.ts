import { Agent, type IncomingMessage, request } from "node:http";
import type { TLSSocket } from "node:tls";
import { within } from "../../test/support/processes/deadline.js";
import { WEBHOOK_NAME } from "../pki.js";
import { type Frontend, secured } from "./frontends.js";

/** HTTP over one tunnel to the webhook, requests one after the other. */
export class WebhookClient {
  readonly socket: TLSSocket;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(socket: TLSSocket) {
    this.socket = socket;
    this.#agent.createConnection = () => socket;
  }

  /** The head of the answer; its body is still to be read. */
  ask(method: "GET" | "POST", path: string, body = ""): Promise<IncomingMessage> {
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: WEBHOOK_NAME, ...(body === "" ? {} : { "content-type": "application/json" }) };
      request({ method, path, headers, agent: this.#agent }, resolve).once("error", reject).end(body);
    });
    return within(10_000, `the webhook's answer to ${path}`, answered);
  }

  async text(method: "GET" | "POST", path: string, body = ""): Promise<string> {
    const response = await this.ask(method, path, body);
    const chunks: Buffer[] = await within(10_000, `the whole answer to ${path}`, response.toArray());
    const text = Buffer.concat(chunks).toString("utf8");
    if (response.statusCode !== 200) throw new Error(`the webhook answered ${response.statusCode}: ${text.trim()}`);
    return text;
  }

  close(): void {
    this.#agent.destroy();
    this.socket.destroy();
  }
}

/** The way from any of the server's frontends to the webhook. */
export class WebhookRoute {
  readonly target: string;
  readonly #caFile: string;

  constructor(target: string, caFile: string) {
    this.target = target;
    this.#caFile = caFile;
  }

  async open(frontend: Frontend): Promise<WebhookClient> {
    return new WebhookClient(await secured(await frontend.dial(this.target), this.#caFile));
  }

  /** One request on a tunnel of its own. */
  async text(frontend: Frontend, method: "GET" | "POST", path: string, body = ""): Promise<string> {
    const client = await this.open(frontend);
    try {
      return await client.text(method, path, body);
    } finally {
      client.close();
    }
  }
}
