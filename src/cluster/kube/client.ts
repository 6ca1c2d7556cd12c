import type { IncomingMessage } from "node:http";
import { isRecord } from "../../base/at.js";
import { type Clock, pause, systemClock } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { answerBody } from "../../base/http-get.js";
import { RateLimit } from "../../base/rate-limit.js";
import { lifeProblem } from "../../tunnel/pki/manifest.js";
import { leafIn } from "../../tunnel/pki/pem.js";
import { shownName } from "../../tunnel/pki/shown.js";
import { type ApiCall, describe, kubeConnection } from "./connection.js";
import type { KubeEndpoint } from "./endpoint.js";
import { type Answer, failedAnswer, KubeApiError, notTheApiError, unreachableError } from "./errors.js";
import type { KubeApi, KubeList, KubeObject, KubeWatchOptions, ListOptions, RequestOptions } from "./port.js";
import { watchEvents } from "./watch.js";

export interface KubeClientOptions {
  /** 0: the default. Negative: no limit. */
  readonly qps?: number;
  readonly burst?: number;
  readonly clock?: Clock;
  /** Of which HTTPS_PROXY and NO_PROXY count; the process' own by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const PAGE_SIZE = 500;
/** The API server ends a watch after this many seconds; spread, so that many clients do not come back together. */
const SHORTEST_WATCH = 300;
/** Far longer than any answer to our requests. */
const LONGEST_ANSWER = 64 * 1024 * 1024;

/** Talks JSON to one API server. */
export function createKubeApi(endpoint: KubeEndpoint, options: KubeClientOptions = {}): KubeApi {
  const clock = options.clock ?? systemClock;
  const limit = new RateLimit(clock, options.qps ?? 0, options.burst ?? 0);
  const connection = kubeConnection(endpoint, clock, options.env);

  async function open(call: ApiCall, until: ReturnType<typeof deadline>): Promise<IncomingMessage> {
    const wait = limit.reserve(until.left());
    if (wait === undefined) {
      const sentence = `${describe(call)} was not sent: too many requests to the Kubernetes API are waiting already`;
      throw new KubeApiError(sentence, { status: 0 });
    }
    if (wait > 0) await pause(clock, wait, until.signal);
    return connection.open(call, until.signal);
  }

  /** `field`: what every object that may come has. */
  async function answer<T>(call: ApiCall, options: RequestOptions, field?: string): Promise<T> {
    const answer = await answerOf(call, options);
    try {
      const object: unknown = JSON.parse(answer.body);
      if (isRecord(object) && (field === undefined || field in object)) return object as T;
    } catch {
      // Said below.
    }
    throw notTheApiError(describe(call), endpoint.server, answer);
  }

  async function answerOf(call: ApiCall, { timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RequestOptions): Promise<Answer> {
    const until = deadline(clock, timeoutMs, signal);
    try {
      for (;;) {
        const response = await open(call, until);
        const status = response.statusCode ?? 0;
        const body = await answerBody(response, LONGEST_ANSWER).catch((reason: unknown) => {
          const why = messageOf(until.signal.aborted ? until.signal.reason : reason);
          throw unreachableError(describe(call), endpoint.server, why, reason);
        });
        const retryMs = Number(response.headers["retry-after"]) * 1000;
        // An overloaded API server names a time to wait; it is kept if the deadline allows.
        if (status === 429 && retryMs < until.left()) {
          await pause(clock, retryMs, until.signal);
          continue;
        }
        const answer = { status, headers: response.headers, body: body.toString() };
        if (status >= 200 && status <= 299) return answer;
        const known = status === 401 ? await ownCertificateProblem(endpoint) : undefined;
        throw failedAnswer(describe(call), endpoint.server, answer, known);
      }
    } finally {
      until.clear();
    }
  }

  async function list<T extends KubeObject>(path: string, options: ListOptions = {}): Promise<KubeList<T>> {
    const items: T[] = [];
    let page: KubeList<T> | undefined;
    do {
      const next = page?.metadata?.continue;
      const query = next === undefined ? selection(options) : { ...selection(options), resourceVersion: undefined };
      page = await answer<KubeList<T>>(
        { method: "GET", path: withQuery(path, { ...query, limit: String(PAGE_SIZE), continue: next }) },
        options,
        "items",
      );
      // Go marshals an empty list as null.
      items.push(...(page.items ?? []));
    } while (page.metadata?.continue);
    return { ...page, items };
  }

  async function* watch<T extends KubeObject>(path: string, options: KubeWatchOptions) {
    const query = {
      ...{ ...selection(options), watch: "true", allowWatchBookmarks: "true" },
      timeoutSeconds: String(Math.floor(SHORTEST_WATCH * (1 + Math.random()))),
    };
    const until = deadline(clock, DEFAULT_TIMEOUT_MS, options.signal);
    const response = await open({ method: "GET", path: withQuery(path, query) }, until).finally(until.clear);
    yield* watchEvents<T>(response, options, { what: `WATCH ${path}`, server: endpoint.server, clock });
  }

  return {
    get: (path, options = {}) => answer({ method: "GET", path }, options),
    text: async (path, options = {}) =>
      (await answerOf({ method: "GET", path, accept: "text/plain, */*" }, options)).body,
    list,
    watch,
    create(path, object, { dryRun, fieldManager, ...options } = {}) {
      const query = { fieldManager, dryRun: dryRun ? "All" : undefined };
      return answer({ method: "POST", path: withQuery(path, query), body: JSON.stringify(object) }, options);
    },
    update: (path, object, { fieldManager, ...options } = {}) =>
      answer({ method: "PUT", path: withQuery(path, { fieldManager }), body: JSON.stringify(object) }, options),
    apply: (path, object, options) => {
      const query = {
        fieldManager: options.fieldManager,
        force: options.force ? "true" : undefined,
        dryRun: options.dryRun ? "All" : undefined,
      };
      // The API server expects YAML, and JSON is YAML.
      const contentType = "application/apply-patch+yaml";
      return answer(
        { method: "PATCH", path: withQuery(path, query), body: JSON.stringify(object), contentType },
        options,
      );
    },
    async delete(path, options = {}) {
      const { resourceVersion, propagationPolicy } = options;
      const preconditions = resourceVersion && { resourceVersion };
      const body = JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", preconditions, propagationPolicy });
      await answer({ method: "DELETE", path, body }, options);
    },
    close: () => connection.close(),
  };
}

/** API servers say no more than "Unauthorized" of a certificate that has ended. */
async function ownCertificateProblem(endpoint: KubeEndpoint): Promise<string | undefined> {
  try {
    const { tls } = await endpoint.credentials();
    if (tls.cert === undefined) return undefined;
    const { subject, validFrom, validTo } = leafIn(tls.cert);
    const problem = lifeProblem({ notBefore: validFrom, notAfter: validTo }, new Date());
    const isEnding = problem === undefined || problem.id === "expires-soon";
    return isEnding ? undefined : `the client certificate "${shownName(subject)}" ${problem.words}`;
  } catch {
    return undefined;
  }
}

const selection = ({ labelSelector, fieldSelector, resourceVersion }: ListOptions) => ({
  ...{ labelSelector, fieldSelector, resourceVersion },
});

function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** A signal that fires after `ms` or with the caller's own; its reason is a sentence part for the error. */
function deadline(clock: Clock, ms: number, outer?: AbortSignal) {
  const controller = new AbortController();
  const end = clock.now() + ms;
  const cancel = clock.after(ms, () => controller.abort(new Error(`nothing came within ${ms / 1000} s`)));
  const callOff = () => controller.abort(new Error("it was called off"));
  if (outer?.aborted === true) callOff();
  outer?.addEventListener("abort", callOff);
  return {
    signal: controller.signal,
    /** Milliseconds left. */
    left: () => end - clock.now(),
    clear(): void {
      cancel();
      outer?.removeEventListener("abort", callOff);
    },
  };
}
