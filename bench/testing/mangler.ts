import { connect, createServer, type Socket } from "node:net";

/** How a broken tunnel may treat the bytes from `at` on, `size` of them. */
export interface Damage {
  readonly kind: "none" | "flip" | "drop" | "double" | "cross";
  readonly at?: number;
  readonly size?: number;
}

export interface Mangler {
  readonly address: string;
  close(): Promise<void>;
}

/** A relay that does harm in one direction: the corruption that a checksum is there to find. */
export async function startMangler(target: string, direction: "down" | "up", damage: Damage): Promise<Mangler> {
  const [host = "", port = ""] = target.split(":");
  const sockets = new Set<Socket>();
  let waiting: { near: Socket; far: Socket } | undefined;
  const link = (near: Socket, far: Socket, back: Socket) => {
    forward(near, far, direction === "up" ? damage : { kind: "none" });
    forward(far, back, direction === "down" ? damage : { kind: "none" });
  };
  const server = createServer((near) => {
    const far = connect({ host, port: Number(port) });
    for (const socket of [near, far]) sockets.add(socket.on("error", () => near.destroy()).setNoDelay(true));
    if (damage.kind !== "cross") return link(near, far, near);
    if (waiting === undefined) {
      waiting = { near, far };
      return;
    }
    link(near, far, waiting.near);
    link(waiting.near, waiting.far, near);
    waiting = undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the mangler has no port");
  return {
    address: `127.0.0.1:${address.port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function forward(from: Socket, to: Socket, { kind, at = 0, size = 1 }: Damage): void {
  let offset = 0;
  const held: Buffer[] = [];
  from.on("data", (chunk: Buffer) => {
    const start = Math.min(chunk.length, Math.max(0, at - offset));
    const end = Math.min(chunk.length, Math.max(0, at + size - offset));
    const before = offset;
    offset += chunk.length;
    const hit = chunk.subarray(start, end);
    if (kind === "flip") for (const i of hit.keys()) hit[i]! ^= 1;
    if (kind === "drop") return send(from, to, Buffer.concat([chunk.subarray(0, start), chunk.subarray(end)]));
    if (kind !== "double") return send(from, to, chunk);
    held.push(Buffer.from(hit));
    const passes = before < at + size && offset >= at + size;
    const again = passes ? held : [];
    send(from, to, Buffer.concat([chunk.subarray(0, end), ...again, chunk.subarray(end)]));
  });
  from.once("end", () => to.end());
  from.once("close", () => to.destroy());
}

function send(from: Socket, to: Socket, bytes: Buffer): void {
  if (to.write(bytes)) return;
  from.pause();
  to.once("drain", () => from.resume());
}
