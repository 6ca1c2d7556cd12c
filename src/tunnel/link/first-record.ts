import type { Socket } from "node:net";

/** Type, version and length of a TLS record. */
const HEAD_BYTES = 5;
const HANDSHAKE = 0x16;
/** More of a first record is not waited for. */
const MOST_BYTES = 8_192;

/**
 * Calls `begin` once the first TLS record of a connection has arrived, or what arrived is not TLS. Until then the connection
 * costs a socket and no TLS session: a thousand clients that never finish their hello, and then leave at once, do not hold
 * up the others.
 */
export function onFirstRecord(socket: Socket, begin: () => void): void {
  let arrived: Buffer = Buffer.alloc(0);
  const look = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    arrived = arrived.length === 0 ? chunk : Buffer.concat([arrived, chunk]);
    if (arrived.length < wanted(arrived)) return;
    socket.off("readable", look).off("end", leave).off("error", leave);
    socket.unshift(arrived);
    begin();
  };
  const leave = (): void => {
    socket.destroy();
  };
  socket.on("readable", look).on("end", leave).on("error", leave);
}

function wanted(arrived: Buffer): number {
  if (arrived.length < HEAD_BYTES) return HEAD_BYTES;
  return arrived[0] === HANDSHAKE ? Math.min(HEAD_BYTES + arrived.readUInt16BE(3), MOST_BYTES) : HEAD_BYTES;
}
