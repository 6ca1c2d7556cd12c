import type { IncomingMessage } from "node:http";
import { isRecord } from "../../base/at.js";
import type { Clock } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { answerBody } from "../../base/http-get.js";
import { failedAnswer, notTheApiError, refusalError, unreachableError } from "./errors.js";
import type { KubeObject, KubeWatchOptions, WatchEvent } from "./port.js";

const DEFAULT_SILENCE_MS = 150_000;
const LONGEST_LINE = 16 * 1024 * 1024;
const LONGEST_REFUSAL = 65_536;

/** The events of an accepted watch; throws when it was refused. */
export async function* watchEvents<T extends KubeObject>(
  response: IncomingMessage,
  options: KubeWatchOptions,
  { what, server, clock }: { readonly what: string; readonly server: string; readonly clock: Clock },
): AsyncGenerator<WatchEvent<T>, void, void> {
  if (response.statusCode !== 200) {
    const body = await answerBody(response, LONGEST_REFUSAL).catch((reason: unknown) => {
      throw unreachableError(what, server, messageOf(reason), reason);
    });
    const answer = { status: response.statusCode ?? 0, headers: response.headers, body: body.toString() };
    throw failedAnswer(what, server, answer);
  }
  response.setEncoding("utf8");
  options.onOpen?.();
  for await (const line of lines(response, options, clock)) yield event<T>(what, server, response, line);
}

/** Whole lines until the stream ends, for whatever reason: the next watch starts where this one stopped. */
async function* lines(response: IncomingMessage, options: KubeWatchOptions, clock: Clock): AsyncGenerator<string> {
  const end = () => response.destroy();
  let cancel = clock.after(options.silenceMs ?? DEFAULT_SILENCE_MS, end);
  options.signal.addEventListener("abort", end);
  if (options.signal.aborted) end();
  let rest = "";
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      cancel();
      cancel = clock.after(options.silenceMs ?? DEFAULT_SILENCE_MS, end);
      const parts = (rest + chunk).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part.trim() !== "") yield part;
      if (rest.length > LONGEST_LINE) return;
    }
  } catch {
    // The connection was reset, or destroyed above; what the consumer throws does not come through here.
  } finally {
    cancel();
    options.signal.removeEventListener("abort", end);
    response.destroy();
  }
}

function event<T extends KubeObject>(
  what: string,
  server: string,
  { headers, statusCode: status = 0 }: IncomingMessage,
  line: string,
): WatchEvent<T> {
  const other = () => notTheApiError(what, server, { status, headers, body: line });
  let parsed: { type: string; object: T & { code?: number } };
  try {
    parsed = JSON.parse(line) as typeof parsed;
  } catch (reason) {
    if (!/json/.test(headers["content-type"] ?? "json")) throw other();
    throw unreachableError(what, server, "a line of the stream is not JSON", reason);
  }
  if (!isRecord(parsed) || !isRecord(parsed.object)) throw other();
  if (parsed.type === "ERROR") throw refusalError(what, parsed.object.code ?? 500, JSON.stringify(parsed.object));
  return parsed as WatchEvent<T>;
}
