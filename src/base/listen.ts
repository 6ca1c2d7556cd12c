/** Opens a listener, or says in one sentence why it cannot be opened. */
import type { Server } from "node:net";
import type { ListenerLimits } from "./connection.js";
import { type Connections, processConnections } from "./connections.js";
import { DrawbridgeError, messageOf } from "./errors/error.js";

/** Peers come in bursts, when a kube-apiserver starts or a data centre boots; the kernel's default would turn some away. */
const BACKLOG = 4096;

/** A host that is empty or missing stands for all interfaces. */
export type Where = { readonly host?: string; readonly port: number } | { readonly path: string };

/** Resolves once the server accepts connections, which then are among `connections`. `what` names it for people. */
export function listenOn(
  server: Server,
  what: string,
  where: Where,
  limits: ListenerLimits,
  connections: Connections = processConnections,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (reason: Error): void => reject(listenError(what, nameOf(where), reason));
    server.once("error", onError);
    server.listen({ ...placeOf(where), backlog: BACKLOG }, () => {
      server.off("error", onError);
      // Accept errors (no descriptors left, say) are that peer's loss, not the process's.
      server.on("error", () => {});
      connections.watch(server, what, "path" in where, limits);
      resolve();
    });
  });
}

function placeOf(where: Where): Where {
  return "path" in where || where.host !== "" ? where : { port: where.port };
}

function nameOf(where: Where): string {
  if ("path" in where) return where.path;
  const host = where.host || "*";
  return `${host.includes(":") ? `[${host}]` : host}:${where.port}`;
}

/** What the listener's people are told when `address` cannot be used. */
export function listenError(what: string, address: string, reason: unknown): DrawbridgeError {
  const code = (reason as NodeJS.ErrnoException | null)?.code;
  if (code === "EADDRINUSE" || code === "EEXIST") {
    return new DrawbridgeError(
      "DB_LISTEN_IN_USE",
      `The ${what} listener cannot open ${address}: it is already in use.`,
      {
        cause: reason,
      },
    );
  }
  const why =
    code === "EACCES"
      ? "this user may not use it"
      : code === "EADDRNOTAVAIL"
        ? "it is not an address of this host"
        : code === "ENOENT"
          ? "its directory does not exist"
          : messageOf(reason);
  return new DrawbridgeError("DB_LISTEN", `The ${what} listener cannot open ${address}: ${why}.`, { cause: reason });
}
