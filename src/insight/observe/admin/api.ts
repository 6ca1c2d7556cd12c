/** The routes of the admin API (docs/admin-api.md). */
import type { ServerResponse } from "node:http";
import type { Finding } from "../../../base/finding.js";
import { type HttpRequest, readBody, sendText } from "../../../base/http.js";
import { safeJson } from "../../../base/text.js";
import { flightText } from "../recorder/flight-text.js";
import { API_PREFIX, type FlightRecord } from "./contract.js";
import { sendDump } from "./dump.js";
import { ApiFailure } from "./failure.js";
import type { Guard } from "./guard.js";
import type { AdminModel } from "./model.js";
import type { LiveTunnel, ObservedRole } from "./observed-role.js";
import { endedPage, pageOf, tunnelPage } from "./pages.js";
import type { Readers } from "./readers.js";
import type { PageSession } from "./sessions.js";

const MAX_BODY_BYTES = 16 * 1024;
const MAX_TARGET_CHARS = 300;
/** How long a stream may go on after its session has expired or its token was replaced. */
const RECHECK_MS = 10_000;

const JSON_HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** GET NAME; undefined where the role has no such thing. */
const LISTS = new Map<string, (model: AdminModel, query: URLSearchParams) => object | undefined | Promise<object>>([
  ["", (model) => model.overview()],
  ["process", (model) => model.process()],
  ["totals", (model) => model.totals()],
  ["servers", ({ subject }, query) => subject.servers && pageOf([...subject.servers()], query)],
  ["agents", ({ subject }, query) => subject.agents && pageOf([...subject.agents()], query)],
  ["tunnels", ({ subject }, query) => subject.tunnels && tunnelPage(subject.tunnels(), query)],
  ["ended", ({ subject, ended }, query) => subject.tunnels && endedPage(ended.since(0), query)],
  ["refusals", ({ refusals }, query) => pageOf(refusals.since(0), query)],
  ["refused-peers", ({ refusedPeers }, query) => pageOf(refusedPeers.list(), query)],
  ["history", ({ subject }) => subject.history?.describe()],
  ["findings", async (model, query) => pageOf(await findingsOf(model), query)],
  ["certificates", (model, query) => pageOf(model.certificates(), query)],
  ["listeners", ({ listeners }, query) => pageOf(listeners, query)],
  ["flight", ({ subject }, query) => subject.flights && pageOf(subject.flights.list(), query)],
  ["explain", ({ subject }, query) => subject.explain?.(targetIn(query))],
]);

/** Loaded by whoever asks first: a process that nobody looks at does without. */
async function findingsOf(model: AdminModel): Promise<readonly Finding[]> {
  const { processFindings } = await import("../../diagnosis/checks/admin.js");
  return await processFindings(model.overview(), model.subject.history?.describe());
}

/** GET NAME/NUMBER. */
const ITEMS = new Map<string, (model: AdminModel, number: number) => object | undefined>([
  ["agents", ({ subject }, number) => first(subject.agents?.(), ({ key }) => key === number)],
  ["tunnels", ({ subject }, number) => first(subject.tunnels?.(), ({ id }) => id === number)?.describe()],
  ["ended", ({ ended }, number) => ended.find(number)],
  ["flight", ({ subject }, number) => subject.flights?.find(number)],
]);

/** POST NAME/NUMBER/VERB or POST NAME; undefined where the role cannot do that, false where there is no such thing. */
const ACTIONS = new Map<string, (subject: ObservedRole, number: number) => boolean | undefined | Promise<boolean>>([
  ["tunnels/*/close", (subject, number) => subject.tunnels && closeTunnel(subject.tunnels(), number)],
  ["agents/*/drain", (subject, number) => subject.drainAgent?.(number)],
  ["agents/*/ping", (subject, number) => subject.pingAgent?.(number)],
  ["drain", (subject) => subject.drain?.()],
]);

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
      const words = request.path.slice(API_PREFIX.length).split("/");
      const { method } = request.message;
      if (method === "POST" && words.length <= 3) return await this.#post(request, response, words);
      // Which routes there are is for those who are admitted, too.
      const session = await this.#guard.admit(request.message);
      if (!["GET", "HEAD", "POST"].includes(method ?? "")) throw wrongMethod("GET, HEAD, POST");
      if (method === "POST" || words.length > 2) throw notFound(request.path);
      await this.#get(request, response, words, session);
    });
  };

  async #get(request: HttpRequest, response: ServerResponse, words: string[], session?: PageSession): Promise<void> {
    const { path, query } = request;
    const [name = "", id] = words;
    if (id === undefined && name === "events") return this.#openStream(request, response);
    if (id === undefined && name === "dump") return await sendDump(this.#model, response);
    if (id === undefined && name === "session") {
      if (session === undefined) throw new ApiFailure(404, "not-found", "the request came with the token itself");
      return sendJson(response, { expiresAt: session.expiresAt });
    }
    const found = id === undefined ? await LISTS.get(name)?.(this.#model, query) : this.#find(name, id);
    if (found === undefined) throw name === "explain" ? noForecast(this.#model.process().role) : notFound(path);
    if (name !== "flight" || id === undefined || query.get("format") !== "text") return sendJson(response, found);
    const headers = { ...JSON_HEADERS, "Content-Type": "text/plain; charset=utf-8" };
    sendText(response, 200, flightText(found as FlightRecord), headers);
  }

  #find(name: string, id: string): object | undefined {
    if (name === "refusals") return this.#model.refusals.find(id);
    return isNumber(id) ? ITEMS.get(name)?.(this.#model, Number(id)) : undefined;
  }

  #openStream({ message }: HttpRequest, response: ServerResponse): void {
    if (message.method === "HEAD") throw wrongMethod("GET");
    if (this.#readers.full) {
      const headers = { "Retry-After": "30" };
      throw new ApiFailure(503, "too-many", "there are as many readers of events as there may be", { headers });
    }
    if (response.destroyed) return;
    this.#readers.add(response);
    // A stream may last for days: what would not open it any more ends it.
    const check = setInterval(() => {
      this.#guard.admit(message).catch(() => response.destroy());
    }, this.#recheckMs).unref();
    response.once("close", () => clearInterval(check));
  }

  async #post(request: HttpRequest, response: ServerResponse, words: string[]): Promise<void> {
    const { message, path } = request;
    const route = words.join("/");
    const setCookie = (cookie: string): void =>
      void response.writeHead(204, { "Set-Cookie": cookie, "Cache-Control": "no-store" }).end();
    if (route === "login") {
      this.#guard.admitLogin(message);
      return setCookie(await this.#guard.logIn(message, await tokenIn(request)));
    }
    await this.#guard.admit(message);
    if (route === "logout") return setCookie(this.#guard.logOut(message));
    const [name = "", id = "", verb] = words;
    const action = ACTIONS.get(verb === undefined ? route : `${name}/*/${verb}`);
    if (action === undefined) throw isReadOnly(words) ? wrongMethod("GET, HEAD") : notFound(path);
    const done = await action(this.#model.subject, isNumber(id) ? Number(id) : -1);
    if (done === undefined) throw new ApiFailure(409, "not-possible", "this role cannot do that");
    if (!done) throw notFound(path);
    sendJson(response, { done: true });
  }
}

const isNumber = (id: string): boolean => /^\d{1,15}$/.test(id);

const isReadOnly = ([name = "", ...more]: string[]): boolean =>
  more.length < 2 && (LISTS.has(name) || name === "dump" || name === "events");

function first<Item>(items: Iterable<Item> | undefined, fits: (item: Item) => boolean): Item | undefined {
  for (const item of items ?? []) if (fits(item)) return item;
  return undefined;
}

const closeTunnel = (tunnels: Iterable<LiveTunnel>, number: number): boolean =>
  first(tunnels, ({ id }) => id === number)?.close("closed by an operator") ?? false;

function wrongMethod(allow: string): ApiFailure {
  return new ApiFailure(405, "method", `this route takes ${allow}`, { headers: { Allow: allow } });
}

function notFound(path: string): ApiFailure {
  return new ApiFailure(404, "not-found", `there is no ${path}`, { remedy: "docs/admin-api.md lists the routes." });
}

function noForecast(role: string): ApiFailure {
  const remedy =
    "Give --admin the admin port of the proxy-server, which chooses the agent, or of an agent; drawbridge trace dials through a frontend.";
  return new ApiFailure(404, "not-found", `this is a ${role}, which chooses no agent and explains no dial`, { remedy });
}

function targetIn(query: URLSearchParams): string {
  const target = query.get("target") ?? "";
  if (target !== "" && target.length <= MAX_TARGET_CHARS) return target;
  throw new ApiFailure(400, "malformed", "give target=HOST:PORT");
}

async function tokenIn({ message }: HttpRequest): Promise<string> {
  // Another site's form cannot send this type without asking first, and it is never allowed here.
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
    // The answer below repeats nothing of what was sent.
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
