/** Connections for plain HTTP requests, kept for a while after their answer where that is wanted. */
import { Agent, type ClientRequestArgs } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpHop } from "../way/http-way.js";

/** Shorter than web servers commonly keep theirs, so that few are found closed when they are wanted again. */
const IDLE_MS = 15_000;
const MAX_IDLE = 64;

export interface HopOptions extends ClientRequestArgs {
  readonly hop: HttpHop;
  /** A connection for this hop; the dial ends with whoever asked. */
  readonly dial: () => Promise<Duplex>;
}

type OnConnection = (error: Error | null, stream: Duplex) => void;

export class HopPool extends Agent {
  constructor(keepAlive: boolean) {
    super({ keepAlive, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE });
  }

  override createConnection(options: ClientRequestArgs, done: OnConnection): undefined {
    (options as HopOptions).dial().then(
      (stream) => done(null, stream),
      // Node reads the error first and takes no stream then, whatever the types say.
      (reason: Error) => done(reason, undefined as unknown as Duplex),
    );
  }

  override getName(options?: ClientRequestArgs): string {
    return (options as HopOptions | undefined)?.hop.key ?? "";
  }

  override keepSocketAlive(stream: Duplex): boolean {
    let idle = 0;
    for (const sockets of Object.values(this.freeSockets)) idle += sockets?.length ?? 0;
    // Node's answer is a boolean; its types miss that.
    return idle < MAX_IDLE && (super.keepSocketAlive(stream) as unknown as boolean);
  }
}
