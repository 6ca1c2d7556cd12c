import type { IncomingMessage } from "node:http";
import type { Clock } from "../../base/clock.js";
import { answerBody } from "../../base/http-get.js";
import { refusalError, unreachableError } from "./errors.js";
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
    // A connection that breaks here leaves the status, which is enough.
    const body = await answerBody(response, LONGEST_REFUSAL).catch(() => "");
    throw refusalError(what, response.statusCode ?? 0, body.toString());
  }
  response.setEncoding("utf8");
  options.onOpen?.();
  for await (const line of lines(response, options, clock)) yield event<T>(what, server, line);
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

function event<T extends KubeObject>(what: string, server: string, line: string): WatchEvent<T> {
  let parsed: { type: string; object: T & { code?: number } };
  try {
    parsed = JSON.parse(line) as typeof parsed;
  } catch (reason) {
    throw unreachableError(what, server, "a line of the stream is not JSON", reason);
  }
  if (parsed.type === "ERROR") throw refusalError(what, parsed.object.code ?? 500, JSON.stringify(parsed.object));
  return parsed as WatchEvent<T>;
}
