import type { OnReadOpts } from "node:net";

/** What one read of an endpoint takes at most. */
const READ_BYTES = 64 * 1024;

/**
 * One buffer for all endpoint sockets: a read is encoded into the link's staging buffer before the next one starts, so
 * nobody ever needs two. Whoever keeps a view of it beyond the call reads another connection's bytes.
 */
const shared = Buffer.allocUnsafeSlow(READ_BYTES);

export function readInto(onBytes: (chunk: Uint8Array) => void): OnReadOpts {
  return {
    buffer: shared,
    callback(length, buffer) {
      onBytes(buffer.subarray(0, length));
      return true;
    },
  };
}
