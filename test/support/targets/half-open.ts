import type { Socket } from "node:net";
import { listen, type Target } from "./listener.js";

/** Collects its input up to the end of it, and only then answers, wholly, and ends. */
export function startAnswerAfterEnd(answer: (request: Buffer) => Buffer): Promise<Target> {
  return listen((socket) => {
    const request: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => request.push(chunk));
    socket.once("end", () => socket.end(answer(Buffer.concat(request))));
  });
}

/** One conversation that a test steers from the endpoint's side. */
export interface Conversation {
  readonly socket: Socket;
  /** Everything received so far. */
  received(): Buffer;
  /** The peer ended its writing side, or the connection is gone. */
  readonly inputEnded: Promise<void>;
  readonly closed: Promise<void>;
}

export interface SteeredTarget {
  readonly address: string;
  /** The next connection that was not handed out yet. */
  next(): Promise<Conversation>;
  close(): Promise<void>;
}

/** Does nothing by itself: the test says what this endpoint writes and when it ends. */
export async function startSteered(): Promise<SteeredTarget> {
  const takers: ((conversation: Conversation) => void)[] = [];
  const untaken: Conversation[] = [];
  const target = await listen((socket) => {
    const conversation = converse(socket);
    const taker = takers.shift();
    if (taker) taker(conversation);
    else untaken.push(conversation);
  });
  return {
    address: target.address,
    close: () => target.close(),
    next: () => {
      const first = untaken.shift();
      return first ? Promise.resolve(first) : new Promise((resolve) => takers.push(resolve));
    },
  };
}

function converse(socket: Socket): Conversation {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const ended = new Promise<void>((resolve) => socket.once("end", resolve));
  return { socket, received: () => Buffer.concat(chunks), inputEnded: Promise.race([ended, closed]), closed };
}
