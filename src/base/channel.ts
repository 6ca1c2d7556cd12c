import { channel as diagnosticsChannel } from "node:diagnostics_channel";

/** The server or agent instance an event is about, so that two of them in one process do not mix. */
export interface Sourced {
  readonly source: object;
}

/**
 * One kind of event over node:diagnostics_channel. Publishers do not know who listens; logs, metrics, the admin API and
 * the live page are subscribers. Meant for events of a connection's life, never for packets.
 */
export class Channel<T extends Sourced> {
  readonly name: string;
  readonly #channel: ReturnType<typeof diagnosticsChannel>;

  constructor(role: "server" | "agent" | "shared", event: string) {
    this.name = `drawbridge:${role}:${event}`;
    this.#channel = diagnosticsChannel(this.name);
  }

  /** Lets a publisher skip building a costly message. */
  get hasSubscribers(): boolean {
    return this.#channel.hasSubscribers;
  }

  publish(message: T): void {
    this.#channel.publish(message);
  }

  /** Calls `listener` for every message, or only for those of one source. The returned function ends the subscription. */
  subscribe(listener: (message: T) => void, source?: object): () => void {
    const onMessage = (message: unknown): void => {
      const event = message as T;
      if (source !== undefined && event.source !== source) return;
      try {
        listener(event);
      } catch (reason) {
        // Node would turn this into an uncaught exception: a mistake in a log line must not end every tunnel.
        process.emitWarning(`a listener of ${this.name} failed: ${String(reason)}`, { code: "DB_OBSERVER" });
      }
    };
    this.#channel.subscribe(onMessage);
    return () => {
      this.#channel.unsubscribe(onMessage);
    };
  }
}

/** Listeners for the events of one source, which end together. */
export class Subscriptions {
  readonly #source: object;
  readonly #endings: (() => void)[] = [];

  constructor(source: object) {
    this.#source = source;
  }

  on<T extends Sourced>(channel: Channel<T>, listener: (event: T) => void): void {
    this.#endings.push(channel.subscribe(listener, this.#source));
  }

  end(): void {
    for (const end of this.#endings.splice(0)) end();
  }
}
