import type { Socket } from "node:net";

/** Closing while bytes of the peer are unread would reset the connection, and with it our last words. */
const LINGER_MS = 2_000;

/** Says something last, hears the peer out for a moment, and closes. */
export function farewell(socket: Socket, words: string | Uint8Array): void {
  if (socket.destroyed) return;
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(late));
  if (socket.writable) socket.end(words);
  socket.resume();
}
