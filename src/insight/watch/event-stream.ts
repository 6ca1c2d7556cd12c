/** Server-sent events out of bytes, however they were split. */

export interface ServerSentEvent {
  readonly name: string;
  readonly data: string;
}

/** Longer than any event a drawbridge process sends; a stranger's endless line must not fill the memory. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024;

export class EventStreamReader {
  #text = "";
  readonly #decoder = new TextDecoder();

  /** The events that are whole with this chunk. Throws when one grows beyond all measure. */
  take(chunk: Uint8Array): ServerSentEvent[] {
    this.#text += this.#decoder.decode(chunk, { stream: true });
    const parts = this.#text.split("\n\n");
    this.#text = parts.pop() ?? "";
    if (this.#text.length > MAX_EVENT_CHARS) throw new Error("an event of the stream has no end");
    return parts.map(parseEvent).filter((event): event is ServerSentEvent => event !== undefined);
  }
}

/** Undefined for a comment, which only shows that the stream is alive. */
function parseEvent(block: string): ServerSentEvent | undefined {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length === 0 ? undefined : { name, data: data.join("\n") };
}
