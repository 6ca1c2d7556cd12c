/** The admin port of a process, from outside: questions, and the stream of what changes. */
import type { IncomingMessage } from "node:http";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { answerBody, type HttpAnswer, openRequest } from "../../base/http-get.js";
import { plainText } from "../../base/text.js";
import { API_PREFIX, type ApiError } from "../observe/admin/contract.js";
import { EventStreamReader, type ServerSentEvent } from "./event-stream.js";

export interface AdminPortOptions {
  /** `http://127.0.0.1:8095` */
  readonly url: URL;
  readonly token: string;
  /** PEM; undefined: the system's authorities. */
  readonly ca?: string | undefined;
}

const ANSWER_MS = 10_000;
/** The stream says every 15 s that it is alive. */
const SILENCE_MS = 45_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export class AdminPort {
  readonly #options: AdminPortOptions;

  constructor(options: AdminPortOptions) {
    this.#options = options;
  }

  get address(): string {
    return this.#options.url.host;
  }

  /** Undefined when there is no such thing. */
  async find<Answer>(route: string): Promise<Answer | undefined> {
    const { status, body } = await this.#ask(route);
    return status === 404 ? undefined : this.#answerOf<Answer>(status, body);
  }

  async get<Answer>(route: string): Promise<Answer> {
    const { status, body } = await this.#ask(route);
    return this.#answerOf<Answer>(status, body);
  }

  /** Undefined when there is no such thing, or the process cannot do that. */
  async post(route: string): Promise<object | undefined> {
    const { status, body } = await this.#ask(route, "POST");
    return status === 404 ? undefined : this.#answerOf<object>(status, body);
  }

  /** An answer as text: a route that has one, or, with a leading slash, a path outside the API. */
  async text(route: string): Promise<string> {
    const { status, body } = await this.#ask(route);
    if (status === 200) return body;
    throw new DrawbridgeError("DB_ADMIN_ANSWER", `${this.address} answered ${status} to ${route.split("?")[0]}.`);
  }

  /** Ends when the process closes the connection or `stop` is aborted; rejects when it cannot be reached or refuses. */
  async follow(take: (event: ServerSentEvent) => void, stop: AbortSignal): Promise<void> {
    const response = await this.#open("events", stop);
    const status = response.statusCode ?? 0;
    if (status !== 200) this.#answerOf(status, await textOf(response));
    if (status !== 200 || !/^text\/event-stream\b/i.test(response.headers["content-type"] ?? "")) {
      response.destroy();
      throw this.#notOurs(status, "events");
    }
    response.setTimeout(SILENCE_MS, () => response.destroy(new Error("nothing was received for too long")));
    const reader = new EventStreamReader();
    try {
      for await (const chunk of response) for (const event of reader.take(chunk as Buffer)) take(event);
    } catch (error) {
      if (!stop.aborted) throw this.#unreachable(error);
    }
  }

  async #ask(route: string, method = "GET"): Promise<HttpAnswer> {
    const response = await this.#open(route, AbortSignal.timeout(ANSWER_MS), method);
    try {
      return { status: response.statusCode ?? 0, body: await textOf(response) };
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  #open(route: string, signal: AbortSignal, method = "GET"): Promise<IncomingMessage> {
    const { url, token, ca } = this.#options;
    if (!/^[!-~]*$/.test(token)) {
      const why = "the admin token is not one line of printable ASCII, so that no request can carry it";
      return Promise.reject(new DrawbridgeError("DB_FLAG_VALUE", why));
    }
    const options = { headers: { Authorization: `Bearer ${token}` }, method, signal, ca };
    return openRequest(new URL(route.startsWith("/") ? route : API_PREFIX + route, url), options).catch((error) => {
      throw this.#unreachable(error);
    });
  }

  #answerOf<Answer>(status: number, body: string): Answer {
    const parsed = objectIn(body);
    if (parsed === undefined) throw this.#notOurs(status, "JSON");
    if (status < 400) return parsed as Answer;
    const { message, remedy } = (parsed as Partial<ApiError>).error ?? {};
    if (typeof message !== "string") throw this.#notOurs(status, "JSON");
    const refusal = `${this.address} answered ${status}: ${plainText(message)}`;
    throw new DrawbridgeError(
      "DB_ADMIN_REFUSED",
      remedy === undefined ? refusal : `${refusal} ${plainText(String(remedy))}`,
    );
  }

  #notOurs(status: number, what: "JSON" | "events"): DrawbridgeError {
    const message = `${this.address} answered ${status} with something that is not the admin API's ${what}.`;
    return new DrawbridgeError("DB_ADMIN_ANSWER", message);
  }

  #unreachable(reason: unknown): DrawbridgeError {
    const cause = causeOf(this.#options.url.protocol, reason) ?? messageOf(reason);
    const why = `The admin port ${this.address} cannot be reached: ${cause}.`;
    return new DrawbridgeError("DB_ADMIN_UNREACHABLE", why, { cause: reason });
  }
}

const FOREIGN_CA = "its certificate is not of an authority that --ca-file names; give the CA that signed it";

/** What OpenSSL and Node call it, as what it is; undefined where their own words do. */
function causeOf(protocol: string, reason: unknown): string | undefined {
  const { code = "", message = "" } = reason as NodeJS.ErrnoException;
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|EPROTO/.test(code) && /wrong version|too long/.test(message)) {
    return "it does not speak TLS; begin --admin with http://";
  }
  if (protocol === "http:" && (code === "ECONNRESET" || code.startsWith("HPE_"))) {
    return "it hung up without an HTTP answer, as a port does that speaks TLS; begin --admin with https://";
  }
  if (/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code)) return FOREIGN_CA;
  if (code === "CERT_HAS_EXPIRED") return "its certificate has expired; renew the file of its --admin-cert-file";
  if (code === "CERT_NOT_YET_VALID") return "its certificate is not valid yet; compare the clocks of both hosts";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `its certificate is not for the name in --admin (${plainText(message)})`;
  }
  return undefined;
}

/** Undefined for an answer that is no JSON object. */
function objectIn(body: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  return (await answerBody(response, MAX_ANSWER_BYTES)).toString();
}
