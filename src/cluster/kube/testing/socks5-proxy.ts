/** A SOCKS5 proxy on loopback that resolves some names, and whose answers come byte by byte. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Socks5Proxy {
  readonly port: number;
  close(): Promise<void>;
}

export async function startSocks5Proxy(options: {
  /** `user:password`; undefined: nobody is asked. */
  readonly login: string | undefined;
  /** `name:port` to `address:port`. */
  readonly routes: Readonly<Record<string, string>>;
}): Promise<Socks5Proxy> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    serve(socket, options.login, options.routes).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** With a turn of the event loop, and a moment, between two bytes. */
async function writeBytes(socket: Socket, ...bytes: readonly number[]): Promise<void> {
  socket.setNoDelay(true);
  for (const byte of bytes) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function serve(socket: Socket, login: string | undefined, routes: Readonly<Record<string, string>>) {
  const next = reader(socket);
  const [, methods = 0] = await next(2);
  const method = login === undefined ? 0 : 2;
  if (!(await next(methods)).includes(method)) {
    socket.end(Buffer.of(5, 255));
    return;
  }
  await writeBytes(socket, 5, method);
  if (login !== undefined) {
    const [, nameBytes = 0] = await next(2);
    const name = await next(nameBytes);
    const [passwordBytes = 0] = await next(1);
    const given = `${name}:${await next(passwordBytes)}`;
    await writeBytes(socket, 1, given === login ? 0 : 1);
    if (given !== login) return;
  }
  const [, , , , length = 0] = await next(5);
  const name = await next(length);
  const target = routes[`${name}:${(await next(2)).readUInt16BE()}`];
  if (target === undefined) {
    socket.end(Buffer.of(5, 4, 0, 1, 0, 0, 0, 0, 0, 0));
    return;
  }
  const [host, port] = target.split(":");
  const far = connect(Number(port), host, async () => {
    await writeBytes(socket, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0);
    far.pipe(socket).pipe(far);
  });
  far.on("error", () => socket.destroy());
  socket.once("close", () => far.destroy());
}

function reader(socket: Socket): (count: number) => Promise<Buffer> {
  return async (count) => {
    for (;;) {
      const bytes = socket.read(count) as Buffer | null;
      if (bytes !== null || count === 0) return bytes ?? Buffer.alloc(0);
      await new Promise((resolve, reject) => socket.once("readable", resolve).once("close", reject));
    }
  };
}
