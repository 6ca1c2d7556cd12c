import { type AddressInfo, createServer, type Socket } from "node:net";

/** An endpoint behind the tunnel. */
export interface Target {
  /** `host:port` as a caller dials it. */
  readonly address: string;
  readonly port: number;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Connections open now. */
  readonly open: number;
  close(): Promise<void>;
}

/** Listens on a loopback port, a free one unless told, and hands every connection to `serve`; closing ends all of them. */
export function listen(serve: (socket: Socket) => void, host = "127.0.0.1", wanted = 0): Promise<Target> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    accepted++;
    sockets.add(socket);
    // Tunnels end by reset in some of the stories; what matters is what arrived before.
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    serve(socket);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(wanted, host, () => {
      const { port } = server.address() as AddressInfo;
      resolve({
        address: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
        port,
        get accepted() {
          return accepted;
        },
        get open() {
          return sockets.size;
        },
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            for (const socket of sockets) socket.destroy();
          }),
      });
    });
  });
}
