/** The routes of the admin API (docs/admin-api.md). */
import type { ServerResponse } from "node:http";
import { type HttpRequest, readBody, sendText } from "../../../base/http.js";
import { safeJson } from "../../../base/text.js";
import { flightText } from "../recorder/flight-text.js";
import { API_PREFIX, type Done, type FlightRecord, type SessionInfo } from "./contract.js";
import { sendDump } from "./dump.js";
import { ApiFailure } from "./failure.js";
import type { Guard } from "./guard.js";
import type { AdminModel } from "./model.js";
import { endedPage, pageOf, tunnelPage } from "./pages.js";
import type { Readers } from "./readers.js";
import type { Session } from "./sessions.js";
import type { LiveTunnel } from "./subject.js";

const MAX_BODY_BYTES = 16 * 1024;
const MAX_TARGET_CHARS = 300;
/** So long may a session that is over, or a token that was replaced, still be told what changes. */
const RECHECK_MS = 10_000;

const JSON_HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

export class AdminApi {
  readonly #model: AdminModel;
  readonly #guard: Guard;
  readonly #readers: Readers;
  readonly #recheckMs: number;

  constructor(model: AdminModel, guard: Guard, readers: Readers, recheckMs = RECHECK_MS) {
    this.#model = model;
    this.#guard = guard;
    this.#readers = readers;
    this.#recheckMs = recheckMs;
  }

  readonly route = async (request: HttpRequest, response: ServerResponse): Promise<void> => {
    await orFailure(response, async () => {
      const [name = "", id, verb, ...more] = request.path.slice(API_PREFIX.length).split("/");
      const { method } = request.message;
      const isPost = method === "POST";
      if (isPost && more.length === 0) {
        await this.#post(request, response, [name, id, verb].filter(Boolean).join("/"), id ?? "");
        return;
      }
      // What is there and what is not is for those who are let in, too.
      const session = await this.#guard.admit(request.message);
      if (!isPost && method !== "GET" && method !== "HEAD") throw wrongMethod("GET, HEAD, POST");
      if (isPost || verb !== undefined) throw notFound(request.path);
      await this.#get(request, response, name, id, session);
    });
  };

  // ---- GET -----------------------------------------------------------------------------------------------------------

  async #get(
    request: HttpRequest,
    response: ServerResponse,
    name: string,
    id: string | undefined,
    session: Session | undefined,
  ): Promise<void> {
    if (name === "events" && id === undefined) this.#openStream(request, response);
    else if (name === "dump" && id === undefined) await sendDump(this.#model, response);
    else if (name === "session" && id === undefined) {
      if (session === undefined) throw new ApiFailure(404, "not-found", "the request came with the token itself");
      sendJson(response, { expiresAt: session.expiresAt } satisfies SessionInfo);
    } else if (name === "flight" && id !== undefined && request.query.get("format") === "text") {
      const found = this.#one(name, id) as FlightRecord | undefined;
      if (found === undefined) throw notFound(request.path);
      sendText(response, 200, flightText(found), { ...JSON_HEADERS, "Content-Type": "text/plain; charset=utf-8" });
    } else {
      const found = id === undefined ? await this.#list(name, request) : this.#one(name, id);
      if (found === undefined) throw notFound(request.path);
      sendJson(response, found);
    }
  }

  /** Undefined where the role, or the API, has no such thing. */
  #list(name: string, { query }: HttpRequest): object | undefined | Promise<object> {
    const model = this.#model;
    const { subject } = model;
    switch (name) {
      case "":
        return model.overview();
      case "process":
        return model.process();
      case "totals":
        return model.totals();
      case "servers":
        return subject.servers && pageOf([...subject.servers()], query);
      case "agents":
        return subject.agents && pageOf([...subject.agents()], query);
      case "tunnels":
        return subject.tunnels && tunnelPage(subject.tunnels(), query);
      case "ended":
        return subject.tunnels && endedPage(model.ended.since(0), query);
      case "refusals":
        return pageOf(model.refusals.list(), query);
      case "certificates":
        return pageOf(model.certificates(), query);
      case "listeners":
        return pageOf(model.listeners, query);
      case "flight":
        return subject.flights && pageOf(subject.flights.list(), query);
      case "explain":
        return subject.explain?.(targetIn(query));
      default:
        return undefined;
    }
  }

  #one(name: string, id: string): object | undefined {
    const model = this.#model;
    if (name === "refusals") return model.refusals.find(id);
    const number = /^\d{1,15}$/.test(id) ? Number(id) : undefined;
    if (number === undefined) return undefined;
    switch (name) {
      case "agents":
        return [...(model.subject.agents?.() ?? [])].find(({ key }) => key === number);
      case "tunnels":
        return this.#liveTunnel(number)?.describe();
      case "ended":
        return model.ended.find(number);
      case "flight":
        return model.subject.flights?.find(number);
      default:
        return undefined;
    }
  }

  #liveTunnel(id: number): LiveTunnel | undefined {
    for (const tunnel of this.#model.subject.tunnels?.() ?? []) if (tunnel.id === id) return tunnel;
    return undefined;
  }

  #openStream({ message }: HttpRequest, response: ServerResponse): void {
    if (message.method === "HEAD") throw wrongMethod("GET");
    if (this.#readers.full) {
      const headers = { "Retry-After": "30" };
      throw new ApiFailure(503, "too-many", "there are as many readers of events as there may be", { headers });
    }
    this.#readers.add(response);
    // A stream may last for days: what would not open it any more ends it.
    const check = setInterval(() => {
      this.#guard.admit(message).catch(() => response.destroy());
    }, this.#recheckMs).unref();
    response.once("close", () => clearInterval(check));
  }

  // ---- POST ----------------------------------------------------------------------------------------------------------

  async #post(request: HttpRequest, response: ServerResponse, path: string, id: string): Promise<void> {
    const { message } = request;
    if (path === "login") {
      this.#guard.admitLogin(message);
      const cookie = await this.#guard.logIn(message, await tokenIn(request));
      response.writeHead(204, { "Set-Cookie": cookie, "Cache-Control": "no-store" }).end();
      return;
    }
    await this.#guard.admit(message);
    if (path === "logout") {
      const cookie = this.#guard.logOut(message);
      response.writeHead(204, { "Set-Cookie": cookie, "Cache-Control": "no-store" }).end();
      return;
    }
    const { subject } = this.#model;
    const number = /^\d{1,15}$/.test(id) ? Number(id) : -1;
    if (path === `tunnels/${id}/close`) act(subject.closeTunnel && (() => subject.closeTunnel!(number)), request.path);
    else if (path === `agents/${id}/drain`)
      act(subject.drainAgent && (() => subject.drainAgent!(number)), request.path);
    else if (path === "drain") act(subject.drain && (() => subject.drain!()), request.path);
    else throw wrongMethodOrNothing(path, request.path);
    sendJson(response, { done: true } satisfies Done);
  }
}

function act(action: (() => boolean) | undefined, path: string): void {
  if (action === undefined) throw new ApiFailure(409, "not-possible", "this role cannot do that");
  if (!action()) throw notFound(path);
}

const READ_ONLY =
  /^(|process|totals|servers|agents|tunnels|ended|refusals|certificates|listeners|explain|flight|dump|events)(\/[^/]*)?$/;

function wrongMethodOrNothing(path: string, asked: string): ApiFailure {
  return READ_ONLY.test(path) ? wrongMethod("GET, HEAD") : notFound(asked);
}

function wrongMethod(allow: string): ApiFailure {
  return new ApiFailure(405, "method", `this route takes ${allow}`, { headers: { Allow: allow } });
}

function notFound(path: string): ApiFailure {
  return new ApiFailure(404, "not-found", `there is no ${path}`, { remedy: "docs/admin-api.md lists the routes" });
}

function targetIn(query: URLSearchParams): string {
  const target = query.get("target") ?? "";
  if (target !== "" && target.length <= MAX_TARGET_CHARS) return target;
  throw new ApiFailure(400, "malformed", "give target=HOST:PORT");
}

async function tokenIn({ message }: HttpRequest): Promise<string> {
  // Another site's form cannot send this type without asking first, and we never say yes.
  if (!/^application\/json\b/i.test(message.headers["content-type"] ?? "")) {
    throw new ApiFailure(400, "malformed", "the body must be application/json");
  }
  const body = await readBody(message, MAX_BODY_BYTES);
  const wanted = new ApiFailure(400, "malformed", 'the body must be {"token": "..."}');
  if (body === undefined) throw wanted;
  try {
    const { token } = JSON.parse(body) as { token?: unknown };
    if (typeof token === "string" && /^\S+$/.test(token)) return token;
  } catch {
    // Said below, without a word of what came.
  }
  throw wanted;
}

function sendJson(response: ServerResponse, value: object, status = 200, headers = {}): void {
  sendText(response, status, `${safeJson(value)}\n`, { ...JSON_HEADERS, ...headers });
}

/** Turns what a route throws into an answer. */
export async function orFailure(response: ServerResponse, route: () => void | Promise<void>): Promise<void> {
  try {
    await route();
  } catch (reason) {
    if (response.headersSent) response.destroy();
    else if (reason instanceof ApiFailure) sendJson(response, reason.body, reason.status, reason.headers);
    // The reason may name files and addresses of its own; whoever asked has no use for them.
    else sendJson(response, new ApiFailure(500, "internal", "internal error").body, 500);
  }
}
