/**
 * Fetches the resources of a config as Ignition does: it asks again after a network failure or a status of 500 and above,
 * and gives up after any other refusal.
 */

import type { IncomingMessage } from "node:http";
import { createSecureContext, rootCertificates, type SecureContext, connect as tlsConnect } from "node:tls";
import { type Clock, pause, systemClock } from "../../../base/clock.js";
import { errorOf, messageOf } from "../../../base/errors/error.js";
import { connectThrough, proxyLogin } from "../../../base/http-connect.js";
import { answerBody, openRequest } from "../../../base/http-get.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { noProxyRules } from "../../../tunnel/wire/no-proxy.js";
import { type Config, NEWEST, type ProxySettings, type Resource, versionOf } from "../../ignition/config.js";
import { inlineContent, isInline, received } from "../../ignition/resource.js";

/** One attempt, and its result. */
export interface FetchAttempt {
  /** The URL without login and query. */
  readonly url: string;
  readonly attempt: number;
  /** Undefined: no answer answer. */
  readonly status: number | undefined;
  /** The answer in a few words. */
  readonly result: string;
  /** Undefined: this was the last. */
  readonly againInMs: number | undefined;
}

export interface FetcherOptions {
  /** The fetcher stops after this long; a machine would not. */
  readonly timeoutMs: number;
  readonly onAttempt?: (attempt: FetchAttempt) => void;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
const USUAL_HEAD_TIMEOUT_MS = 10_000;
/** The least time for one attempt, however short the timeout is. */
const LEAST_MS = 1_000;
/** A kubelet has a hundred megabytes. */
const LARGEST = 512 * 1024 * 1024;

export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #clock: Clock;

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Fetches a config, for `render`. */
  readonly config = (resource: Resource, settings: Config, what: string): Promise<Buffer> =>
    this.content(resource, settings, what, {
      accept: `application/vnd.coreos.ignition+json;version=${versionOf(NEWEST)}, */*;q=0.1`,
    });

  /** Unpacked and verified. Throws DB_SIMULATE_FETCH and DB_IGNITION_RESOURCE. */
  async content(
    resource: Resource,
    settings: Config,
    what: string,
    defaults: Readonly<Record<string, string>> = {},
  ): Promise<Buffer> {
    if (isInline(resource)) return inlineContent(resource, what);
    const url = new URL(resource.source ?? "");
    if (!/^https?:$/.test(url.protocol)) {
      throw refused(`${what} is at ${shownUrl(url)}, and only http and https are fetched here`);
    }
    return received(resource, await this.#untilAnswered(url, resource, settings, defaults), what, LARGEST);
  }

  async #untilAnswered(
    url: URL,
    resource: Resource,
    settings: Config,
    defaults: Readonly<Record<string, string>>,
  ): Promise<Buffer> {
    const { timeouts = {}, proxy } = settings.ignition;
    const { timeoutMs, signal } = this.#options;
    const request = {
      headers: headersOf(resource, defaults),
      trust: await this.trust(settings),
      headTimeoutMs: (timeouts.httpResponseHeaders ?? 0) * 1000 || USUAL_HEAD_TIMEOUT_MS,
      ...{ proxy, maxBytes: LARGEST },
    };
    // A config can shorten the time that its machines go on asking, and never lengthen ours.
    const until = this.#clock.now() + Math.min(timeoutMs, (timeouts.httpTotal ?? 0) * 1000 || timeoutMs);
    let pauseMs = FIRST_PAUSE_MS;
    for (let attempt = 1; ; attempt++) {
      // A server that falls silent in the middle of an answer must not exceed our timeout.
      const deadline = AbortSignal.timeout(Math.max(Math.ceil(until - this.#clock.now()), LEAST_MS));
      const ending = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
      const answer = await getAsIgnition(url, { ...request, signal: ending }).catch((reason: unknown) =>
        messageOf(reason),
      );
      const isFinal = typeof answer !== "string" && answer.status < 500;
      const isLast = isFinal || this.#clock.now() + pauseMs > until || signal?.aborted === true;
      this.#report(url, attempt, answer, isLast ? undefined : pauseMs);
      if (isFinal) return accepted(url, answer);
      if (isLast) throw refused(gaveUp(url, attempt, answer));
      await pause(this.#clock, pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** The usual authorities, and those of the config. */
  async trust(settings: Config): Promise<SecureContext> {
    const own: string[] = [];
    for (const [index, resource] of (settings.ignition.security?.tls?.certificateAuthorities ?? []).entries()) {
      const what = `ignition.security.tls.certificateAuthorities.${index}`;
      // An authority is fetched before it can be trusted.
      const { security: _, ...ignition } = settings.ignition;
      const text = (await this.content(resource, { ...settings, ignition }, what)).toString("latin1");
      const found = certificatesIn(text).map(({ pem }) => pem);
      if (found.length === 0) throw refused(`${what} holds no certificate in PEM`);
      own.push(...found);
    }
    return trustIn(own);
  }

  #report(url: URL, attempt: number, answer: FetchedContent | string, againInMs: number | undefined): void {
    const result = typeof answer === "string" ? answer : meaningOf(answer.status);
    const status = typeof answer === "string" ? undefined : answer.status;
    this.#options.onAttempt?.({ url: shownUrl(url), attempt, status, result, againInMs });
  }
}

function accepted(url: URL, { body, status }: FetchedContent): Buffer {
  if (status === 200) return body;
  if (status === 204) return Buffer.alloc(0);
  throw refused(`${shownUrl(url)} answered ${status} (${meaningOf(status)}); a machine gives up on that`);
}

function gaveUp(url: URL, attempts: number, answer: FetchedContent | string): string {
  const last = typeof answer === "string" ? answer : `${answer.status} (${meaningOf(answer.status)})`;
  const times = attempts === 1 ? "was asked once" : `was asked ${attempts} times`;
  return `${shownUrl(url)} ${times}, and the last answer was: ${last}; a machine would go on asking`;
}

/** The meaning of an Ignition server's status. */
function meaningOf(status: number): string {
  const known: Readonly<Record<number, string>> = {
    200: "served",
    204: "served, empty",
    401: "the Authorization header cannot be a token",
    404: "no such path",
    511: "the token is unknown, or its payload is not ready",
  };
  return known[status] ?? (status >= 500 ? "the server has trouble" : "refused");
}

/** The config's own win over the defaults; names are compared as HTTP does. */
function headersOf({ httpHeaders = [] }: Resource, defaults: Readonly<Record<string, string>>): Record<string, string> {
  const usual = { "user-agent": "Ignition/2 (drawbridge simulate-node)", "accept-encoding": "identity", ...defaults };
  const own = httpHeaders.flatMap(({ name, value }) => (value === undefined ? [] : [[name.toLowerCase(), value]]));
  return { ...usual, ...Object.fromEntries(own) };
}

/** The URL without login and query. */
export function shownUrl({ host, pathname, protocol }: URL): string {
  return `${protocol}//${host}${pathname}`;
}

const refused = errorOf("DB_SIMULATE_FETCH");

/** Reading the usual ones takes longer than a fetch, and all fetches of a machine trust the same. */
const known = new Map<string, SecureContext>();
const MOST = 16;

/** PEM. Throws what OpenSSL says about a certificate that it cannot read. */
function trustIn(own: readonly string[]): SecureContext {
  const key = own.join("\n");
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = createSecureContext({ ca: [...rootCertificates, ...own] });
  if (known.size >= MOST) known.clear();
  known.set(key, made);
  return made;
}

interface IgnitionGetOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly trust: SecureContext;
  readonly proxy: ProxySettings | undefined;
  /** How long the head of the answer may take. */
  readonly headTimeoutMs: number;
  readonly maxBytes: number;
  /** Ends the whole request, the answer's body included. */
  readonly signal: AbortSignal;
}

type FetchedContent = Awaited<ReturnType<typeof getAsIgnition>>;

/** Go's client gives up after as many. */
const MOST_REDIRECTS = 10;
const REDIRECTS = [301, 302, 303, 307, 308];

/** One GET as Ignition makes it: through the config's proxy, following redirects. Rejects when no whole answer came. */
export async function getAsIgnition(url: URL, options: IgnitionGetOptions) {
  let at = url;
  let headers = options.headers;
  for (let redirects = 0; ; redirects++) {
    const response = await open(at, { ...options, headers });
    const { location } = response.headers;
    const status = response.statusCode ?? 0;
    if (!REDIRECTS.includes(status) || location === undefined)
      return { status, body: await answerBody(response, options.maxBytes) };
    response.destroy();
    if (redirects >= MOST_REDIRECTS) throw new Error(`stopped after ${MOST_REDIRECTS} redirects`);
    at = new URL(location, at);
    // A token is meant for the address in the config and for no other.
    headers = {};
  }
}

async function open(url: URL, options: IgnitionGetOptions): Promise<IncomingMessage> {
  const { headTimeoutMs, proxy, trust } = options;
  const late = new AbortController();
  const cancel = systemClock.after(headTimeoutMs, () =>
    late.abort(new Error(`no answer within ${headTimeoutMs / 1000} s`)),
  );
  const common = { headers: { ...options.headers }, signal: AbortSignal.any([options.signal, late.signal]) };
  const alone = { ...common, agent: false } as const;
  const through = proxyFor(url, proxy);
  const tls = { secureContext: trust, servername: nameOf(url) };
  try {
    if (through === undefined) return await openRequest(url, { ...alone, ...tls });
    if (url.protocol !== "https:") {
      const headers = { host: url.host, ...common.headers, ...proxyLogin(through) };
      const path = withoutLogin(url).href;
      return await openRequest(withoutLogin(through), { ...alone, ...loginOf(url), path, headers });
    }
    const target = { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 443) };
    const socket = await connectThrough(through, target, common.signal).catch((reason: unknown) => {
      throw new Error(`through the proxy ${through.host}: ${messageOf(reason)}`, { cause: reason });
    });
    // Only without an agent is the connection taken that is made here.
    return await openRequest(url, { ...common, createConnection: () => tlsConnect({ socket, ...tls }) });
  } finally {
    cancel();
  }
}

/** No server name for addresses: TLS has none for them. */
function nameOf({ hostname }: URL): string {
  return /^[\d.]+$|^\[/.test(hostname) ? "" : hostname;
}

function proxyFor(url: URL, proxy: ProxySettings | undefined): URL | undefined {
  const chosen = url.protocol === "https:" ? proxy?.httpsProxy : proxy?.httpProxy;
  if (!chosen) return undefined;
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return noProxyRules((proxy?.noProxy ?? []).join(","))(host, port) ? undefined : new URL(chosen);
}

/** The server's login. In the URL of a request to the proxy it would become the proxy's. */
function loginOf({ password, username }: URL) {
  return username === "" ? {} : { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` };
}

function withoutLogin(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}
