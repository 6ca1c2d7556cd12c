/**
 * A plain connection in a socket that reads into memory of ours. Node offers that (`onread`) for connections that it
 * opens, not for those it accepts, and makes a new 64 KB buffer for every read otherwise: half of what a small request
 * costs here.
 */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { ReadBuffer } from "./read-buffer.js";

/** What Node's own server makes its sockets of. It has no public name, so that we must do without it where it is not. */
interface HandleHolder {
  _handle?: object | null;
}

/** Whether its connection can move: a plain one that is open, with nothing that was written still under way. */
export function canBeLean(stream: Duplex): stream is Socket {
  if (!(stream instanceof Socket) || stream instanceof TLSSocket) return false;
  if (stream.destroyed || !stream.allowHalfOpen || stream.writableLength > 0) return false;
  const { _handle: connection } = stream as HandleHolder;
  return typeof connection === "object" && connection !== null;
}

/**
 * Moves the connection out of `socket`, which stays behind: when one of the two is closed, so is the other. The new one is
 * paused. `onBytes` gets what it reads, valid until that returns; after false, until the socket is resumed.
 */
export function leanSocket(socket: Socket, onBytes: (bytes: Buffer) => boolean): Socket {
  const buffer = new ReadBuffer();
  const onread: OnReadOpts = {
    buffer: () => buffer.current,
    callback(length) {
      const goOn = onBytes(buffer.filled(length));
      buffer.choose(length, !goOn);
      return goOn;
    },
  };
  const holder = socket as HandleHolder;
  // Reading begins again, so that an end that the old socket has seen is emitted again.
  const options = { handle: holder._handle, pauseOnCreate: true, allowHalfOpen: true, onread };
  holder._handle = null;
  const lean = new Socket(options as SocketConstructorOpts);
  lean.once("close", () => {
    buffer.release();
    socket.destroy();
  });
  socket.setTimeout(0).once("close", () => lean.destroy());
  return lean;
}
