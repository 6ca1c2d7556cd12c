/** The admin port of a process, from outside: questions, and the stream of what changes. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { type ErrorCode, remedies } from "../../base/errors/catalogue.js";
import { DrawbridgeError, reasonOf } from "../../base/errors/error.js";
import { answerBody, type HttpAnswer, openRequest } from "../../base/http-get.js";
import { plainText } from "../../base/text.js";
import { alertIn, explainHangUp, explainRefused } from "../../tunnel/outgoing/explain.js";
import type { Credentials, DialFacts } from "../../tunnel/outgoing/facts.js";
import { secureInTime, tcpInTime } from "../../tunnel/outgoing/in-time.js";
import { API_PREFIX, type ApiError, type Page } from "../observe/admin/contract.js";
import { EventStreamReader, type ServerSentEvent } from "./event-stream.js";

export interface AdminPortOptions {
  /** `http://127.0.0.1:8095` */
  readonly url: URL;
  readonly token: string;
  /** PEM; undefined: the system's authorities. */
  readonly ca?: string | undefined;
  /** Where that comes from, for messages. */
  readonly caFile?: string | undefined;
  /** The program, as the port tells clients apart. */
  readonly userAgent?: string;
}

const ANSWER_MS = 10_000;
/** The stream says every 15 s that it is alive. */
const SILENCE_MS = 45_000;
/** Of an answer that is not ours. */
const LONGEST_WORDS = 120;
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

  /** The items of a route that lists. */
  async list<Item>(route: string): Promise<readonly Item[]> {
    const { status, body } = await this.#ask(route);
    const { items } = this.#answerOf<Partial<Page<Item>>>(status, body);
    if (!Array.isArray(items)) throw this.#notOurs(status, "JSON", body);
    return items as readonly Item[];
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

  async #open(route: string, signal: AbortSignal, method = "GET"): Promise<IncomingMessage> {
    const { url, token, userAgent = "drawbridge" } = this.#options;
    if (!/^[!-~]*$/.test(token)) {
      const why = "the admin token is not one line of printable ASCII, so that no request can carry it";
      throw new DrawbridgeError("DB_FLAG_VALUE", why);
    }
    let line: Line | undefined;
    try {
      line = await this.#dial(signal);
      const { socket } = line;
      const to = new URL(route.startsWith("/") ? route : API_PREFIX + route, url);
      // Whatever there is of TLS is the socket's.
      to.protocol = "http:";
      const headers = { Authorization: `Bearer ${token}`, Host: url.host, "User-Agent": userAgent };
      return await openRequest(to, { headers, method, signal, createConnection: () => socket });
    } catch (reason) {
      line?.socket.destroy();
      throw this.#unreachable(reason, line);
    }
  }

  async #dial(stop: AbortSignal): Promise<Line> {
    const { url, ca, caFile } = this.#options;
    const isSecure = url.protocol === "https:";
    const where = this.address;
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const port = Number(url.port || (isSecure ? 443 : 80));
    const socket = await tcpInTime({ host, port }, where, stop, ANSWER_MS);
    if (!isSecure) return { socket };
    const context = createSecureContext({ ca, minVersion: "TLSv1.2" });
    const credentials = (): Credentials => ({
      self: "this client",
      set: ca === undefined ? {} : { ca },
      caFile,
      admittedBy: "CA file",
    });
    return await secureInTime({ socket, where, name: host, context, credentials }, stop);
  }

  #answerOf<Answer>(status: number, body: string): Answer {
    const parsed = objectIn(body);
    if (parsed === undefined) throw this.#notOurs(status, "JSON", body);
    if (status < 400) return parsed as Answer;
    const { code, message, remedy } = (parsed as Partial<ApiError>).error ?? {};
    if (typeof message !== "string") throw this.#notOurs(status, "JSON", body);
    const refusal = `${this.address} answered ${status}: ${plainText(message)}`;
    if (code === "DB_ADMIN_TOKEN_FILE") throw new DrawbridgeError(code, refusal);
    const own = remedy === undefined ? undefined : plainText(String(remedy));
    throw new DrawbridgeError("DB_ADMIN_REFUSED", refusal, { remedy: own });
  }

  #notOurs(status: number, what: "JSON" | "events", body = ""): DrawbridgeError {
    const said =
      body === "" ? "" : `, which begins ${JSON.stringify(plainText(body.trim().split("\n")[0]!, LONGEST_WORDS))}`;
    const message = `${this.address} answered ${status} with something that is not the admin API's ${what}${said}.`;
    return new DrawbridgeError("DB_ADMIN_ANSWER", message);
  }

  #unreachable(reason: unknown, line?: Line): DrawbridgeError {
    const cause = line === undefined ? reason : unanswered(reason, line);
    const why = `The admin port ${this.address} cannot be reached: ${plainText(reasonOf(cause))}.`;
    const code = cause instanceof DrawbridgeError ? cause.code : "DB_ADMIN_UNREACHABLE";
    return new DrawbridgeError(code, why, { cause, remedy: ADVICE[code] });
  }
}

/** A connection to what may be an admin port; `facts` with TLS. */
interface Line {
  readonly socket: Socket;
  readonly facts?: () => DialFacts;
}

/** What a connection that came about and carried no answer says about the port. */
function unanswered(reason: unknown, { facts }: Line): unknown {
  const { code = "", name } = reason as NodeJS.ErrnoException;
  if (name === "TimeoutError") return new Error(`no answer within ${ANSWER_MS / 1000} s`);
  const alert = alertIn(reason);
  if (facts !== undefined && alert !== undefined) return explainRefused(`TLS alert "${alert}"`, facts(), reason);
  const isMute = code === "ECONNRESET" || code === "EPIPE";
  if (facts !== undefined) return isMute ? explainHangUp(facts(), reason) : reason;
  if (isMute) return new Error("it hung up without an HTTP answer, as a port does that speaks TLS");
  return code.startsWith("HPE_") ? new Error("it does not answer in HTTP, as a port does that speaks TLS") : reason;
}

const NOT_ADMIN = `It is another port than the admin port, which asks for no certificate. ${remedies.DB_ADMIN_UNREACHABLE}`;

const GIVE_CA =
  "Give --ca-file the authority that issued the file of the process' --admin-cert-file; where an intermediate authority issued it, append that one to this file.";

/** What fixes it with the flags of whoever asks an admin port; other codes have remedies that do. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  DB_CONNECT_REFUSED: remedies.DB_ADMIN_UNREACHABLE,
  DB_TLS_NOT_SPOKEN:
    "Begin --admin with http:// where the process has no --admin-cert-file, or give --admin the address that it logs for its admin port.",
  DB_TLS_UNKNOWN_CA: GIVE_CA,
  DB_TLS_SERVER_NAME:
    "Give --admin one of the names or addresses that the certificate has, or issue one for this name for the process' --admin-cert-file.",
  DB_TLS_SERVER_EXPIRED:
    "Renew the file of the process' --admin-cert-file, for example with drawbridge pki renew --dir DIR where its signer's key is; it is read again by itself.",
  DB_TLS_OWN_MISSING: NOT_ADMIN,
  DB_SERVER_HUNG_UP: NOT_ADMIN,
};

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
