import { readFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Where something listens, and what it takes to get in. */
export type Place =
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "uds"; readonly path: string }
  | {
      readonly kind: "tls";
      readonly port: number;
      readonly ca: string;
      readonly alpn?: readonly string[];
      /** The client's, where one is asked for. */
      readonly cert?: string;
      readonly key?: string;
    };

/** TCP or Unix only, whatever the place speaks above it: for those who never say a word of TLS, or not a whole one. */
export function connectBelow(place: Place): Socket {
  return place.kind === "uds" ? connectTcp(place.path) : connectTcp(place.port, "127.0.0.1");
}

export function connectTo(place: Place): { readonly socket: Socket; readonly ready: "connect" | "secureConnect" } {
  if (place.kind !== "tls") return { socket: connectBelow(place), ready: "connect" };
  const socket = connectTls({
    host: "127.0.0.1",
    port: place.port,
    ca: readFileSync(place.ca),
    ...(place.alpn && { ALPNProtocols: [...place.alpn] }),
    ...(place.cert !== undefined && { cert: readFileSync(place.cert), key: readFileSync(place.key!) }),
  });
  return { socket, ready: "secureConnect" };
}

/** Resolves once connected; rejects when refused or not within the time. */
export function connected(place: Place, withinMs: number): Promise<Socket> {
  const { socket, ready } = connectTo(place);
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => socket.destroy(new Error(`not connected within ${withinMs} ms`)), withinMs);
    socket.once(ready, () => {
      clearTimeout(late);
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve(socket);
    });
    socket.once("error", (reason) => {
      clearTimeout(late);
      reject(reason);
    });
    socket.once("close", () => reject(new Error("closed before it was connected")));
  });
}
