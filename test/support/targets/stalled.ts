import type { Socket } from "node:net";
import { listen } from "./listener.js";

export interface SlowReader {
  readonly address: string;
  /** Bytes read so far, on all connections. */
  readonly bytesRead: number;
  /** Reads everything from now on, on all connections. */
  release(): void;
  close(): Promise<void>;
}

/** Takes `bytesPerTick` every `tickMs` on each connection until it is released; 0 takes nothing at all. */
export async function startSlowReader({ bytesPerTick = 0, tickMs = 50 } = {}): Promise<SlowReader> {
  const held = new Set<Socket>();
  let bytesRead = 0;
  let released = false;
  const take = (chunk: Buffer) => {
    bytesRead += chunk.length;
  };
  const target = await listen((socket) => {
    if (released) {
      socket.on("data", take);
      return;
    }
    held.add(socket);
    socket.once("close", () => held.delete(socket));
  });
  const timer = setInterval(() => {
    if (bytesPerTick === 0) return;
    for (const socket of held) {
      const chunk: Buffer | null = socket.read(bytesPerTick) ?? socket.read();
      if (chunk) take(chunk);
    }
  }, tickMs);
  return {
    address: target.address,
    get bytesRead() {
      return bytesRead;
    },
    release() {
      released = true;
      for (const socket of held) socket.on("data", take);
      held.clear();
    },
    close() {
      clearInterval(timer);
      return target.close();
    },
  };
}
